/*
 * The beginning of the section ".ums", which umsrun --install and --install-prefix add to a file.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_PRIVATE_INSTALL_RECORD_H
#define UMS_PRIVATE_INSTALL_RECORD_H

#include "private/pe_format.h"

#define PE_RECORD_MAGIC   0x31534e49534d55ull   /* "UMSINS1" */
#define PE_RECORD_VERSION 1
#define PE_DIGEST_SIZE 32
#define PE_HOST_SIZE   32

#define PE_COPIED      0x1  /* umsrun has copied the DLLs to the program's folder */
#define PE_OWN_SETTING 0x2  /* the prefix had the setting *kernel32=builtin before */

/* what the file is, for --status */
enum pe_kind { PE_PLAIN, PE_PROGRAM, PE_KERNEL32 };

/* The beginning of our section. The tables for the loader follow, then the original headers and
 * certificates of the file. All offsets are from the start of the section, except those "in the file". */
struct pe_record
{
    ULONG64 magic;
    DWORD   version;
    DWORD   kind;
    DWORD   flags;
    DWORD   size;                       /* of everything without padding at the end */
    DWORD   headers;                    /* offset of a copy of the file's first bytes */
    DWORD   headers_size;
    DWORD   certificates;               /* offset of a copy of the certificates */
    DWORD   certificates_size;
    DWORD   certificates_at;            /* in the original file */
    DWORD   insert_at;                  /* in the file: our bytes, with the padding before them */
    DWORD   insert_size;
    DWORD   tables;                     /* offset */
    BYTE    original[PE_DIGEST_SIZE];
    char    host[PE_HOST_SIZE];
    DWORD   overlay_size;
    DWORD   bound;
};

#endif /* UMS_PRIVATE_INSTALL_RECORD_H */
