/*
 * What the section ".ums" begins with, which umsrun --install and --install-prefix add to a file.
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

#define PE_COPIED 0x1       /* the DLLs beside the program were put there by us */

/* what the file is, for --status */
enum pe_kind { PE_PLAIN, PE_PROGRAM, PE_KERNEL32 };

/* How our section begins. Behind it come the tables for the loader, then what the file had: its
 * headers, its certificates. All offsets are from the start of the section, unless it says file. */
struct pe_record
{
    ULONG64 magic;
    DWORD   version;
    DWORD   kind;
    DWORD   flags;
    DWORD   size;                       /* of everything that means something */
    DWORD   headers;                    /* offset of a copy of the file's first bytes */
    DWORD   headers_size;
    DWORD   certificates;               /* offset of a copy of the certificates */
    DWORD   certificates_size;
    DWORD   certificates_at;            /* in the file as it was */
    DWORD   insert_at;                  /* in the file: our bytes, padding in front included */
    DWORD   insert_size;
    DWORD   tables;                     /* offset */
    BYTE    original[PE_DIGEST_SIZE];
    char    host[PE_HOST_SIZE];
    DWORD   overlay_size;
    DWORD   bound;
};

#endif /* UMS_PRIVATE_INSTALL_RECORD_H */
