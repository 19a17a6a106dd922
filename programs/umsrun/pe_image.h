/*
 * A program's file, or a DLL's, that gets a section of ours and can be had back byte for byte.
 * Host-free, for files of unknown origin: whatever they hold, nothing outside them is read.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMSRUN_PE_IMAGE_H
#define UMSRUN_PE_IMAGE_H

#include "private/install_record.h"

struct pe_bytes
{
    BYTE  *data;            /* of malloc; aligned to 8 */
    size_t size;
};

/* SHA-256, or what else serves the caller */
typedef void (*pe_digest_fn)( const BYTE *data, size_t size, BYTE digest[PE_DIGEST_SIZE] );

/* what is written into the section beside the tables */
struct pe_request
{
    const char  *dir;       /* of the DLLs, with a final backslash; "": beside the program */
    DWORD        flags;     /* PE_COPIED ... */
    char         host[PE_HOST_SIZE];    /* the Wine that it is made for */
    pe_digest_fn digest;
};

/* what was found in a file with our section, or done to it */
struct pe_report
{
    enum pe_kind kind;
    DWORD        flags;
    char         host[PE_HOST_SIZE];
    char         dir[256];
    BYTE         original[PE_DIGEST_SIZE];      /* digest of the file as it was */
    DWORD        signature_size;                /* bytes of certificates that were taken out */
    DWORD        overlay_size;                  /* bytes behind the last section, moved by ... */
    DWORD        section_size;                  /* ... this many */
    BOOL         bound;                         /* bound imports were taken out */
    BOOL         changed;                       /* since: the original is not to be had back */
};

/* Each returns NULL, or what is wrong, as the rest of a sentence that begins with the file's name;
 * *OUT is then unchanged. The caller frees what it gets. */

/* What FILE is. PE_PLAIN: anything without our section, *REPORT is zeroed then. DIGEST: NULL if it
 * does not matter whether it was changed. */
void pe_look( const struct pe_bytes *file, pe_digest_fn digest, struct pe_report *report );

/* A program, with our two DLLs as its first imports. */
const char *pe_install( const struct pe_bytes *file, const struct pe_request *request,
                        struct pe_bytes *out, struct pe_report *report );

/* Wine's kernel32.dll, with its names of UMS forwarded to kernel32_ums.dll. */
const char *pe_forward( const struct pe_bytes *file, const struct pe_request *request,
                        struct pe_bytes *out, struct pe_report *report );

/* The file that pe_install or pe_forward was given. */
const char *pe_restore( const struct pe_bytes *file, pe_digest_fn digest, struct pe_bytes *out );

#endif /* UMSRUN_PE_IMAGE_H */
