/*
 * What makes a program load the shim: an import table with our DLLs in front. umsrun and parents
 * write it above the image of a process; umsrun --install into a section of the file.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_PRIVATE_INJECT_BLOCK_H
#define UMS_PRIVATE_INJECT_BLOCK_H

#include "private/pe_format.h"

#define INJECT_MAGIC    0x49534d55  /* "UMSI" */
#define INJECT_VERSION  1

#define INJECT_REQUIRED 0x1         /* the process is of no use without the shim: ends, status 2 */

/* the loader of Wine 8.0 takes "path + .dll + 0" of 256 characters at most */
#define INJECT_MAX_PATH 250

/* one DLL that the process shall load, and the one function it imports for that */
struct inject_dll
{
    ULONG64 names[2];               /* OriginalFirstThunk */
    ULONG64 slots[2];               /* FirstThunk */
    struct
    {
        WORD hint;
        char name[30];
    } import;
    char    path[INJECT_MAX_PATH + 6];
};

/* This, the new import descriptors, their thunk lists. The import directory of the image then
 * points right behind this struct, in the same page: who looks for the struct may look there. */
struct inject_block
{
    DWORD                magic;
    DWORD                version;
    DWORD                flags;
    DWORD                size;      /* of everything */
    IMAGE_DATA_DIRECTORY imports;   /* what the image had, put back by attach.c */
    IMAGE_DATA_DIRECTORY bound;
    struct inject_dll    dlls[2];   /* ntdll_ums, kernel32_ums */
};

C_ASSERT( sizeof(struct inject_block) % sizeof(ULONG64) == 0 );

#endif /* UMS_PRIVATE_INJECT_BLOCK_H */
