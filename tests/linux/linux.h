/*
 * System calls to the Linux kernel, from a Windows program. They are made as the DLLs make theirs,
 * from libc's own code: Wine 11 takes a `syscall` instruction in Windows memory for an NT call. What
 * uses it links linux_call.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef TESTS_LINUX_LINUX_H
#define TESTS_LINUX_LINUX_H

#include <stdint.h>

#define LINUX_READ       0
#define LINUX_WRITE      1
#define LINUX_OPEN       2
#define LINUX_CLOSE      3
#define LINUX_IOCTL      16
#define LINUX_PIPE       22
#define LINUX_GETTID     186
#define LINUX_FUTEX      202
#define LINUX_GETDENTS64 217
#define LINUX_EXIT_GROUP 231
#define LINUX_USERFAULTFD 323

#define LINUX_O_WRONLY   1
#define LINUX_O_RDWR     2
#define LINUX_O_NONBLOCK 04000

/* <linux/userfaultfd.h> */
#define UFFD_API         0xaa
#define UFFD_USER_MODE_ONLY 1           /* anybody may */
#define UFFD_MISSING     1
#define UFFDIO_API       0xc018aa3f
#define UFFDIO_REGISTER  0xc020aa00
#define UFFDIO_ZEROPAGE  0xc020aa04

struct uffd_api
{
    uint64_t api, features, ioctls;
};

struct uffd_register
{
    uint64_t start, length, mode, ioctls;
};

struct uffd_zeropage
{
    uint64_t start, length, mode;
    int64_t result;
};

/* What it returns: negative is an error, -38 (ENOSYS) that no way to make Linux calls was found. Any
   thread may call it: two that look for that way at once find the same. */
int64_t linux_call( uint64_t nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d );

#endif /* TESTS_LINUX_LINUX_H */
