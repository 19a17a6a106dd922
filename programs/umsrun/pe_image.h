/*
 * Adds a section of ours to a program's or DLL's file, and restores the original byte for byte. It does
 * not depend on the host. Files may be of unknown origin: nothing outside them is read, whatever their
 * contents.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMSRUN_PE_IMAGE_H
#define UMSRUN_PE_IMAGE_H

#include "private/install_record.h"

struct pe_bytes
{
    BYTE  *data;            /* from malloc; aligned to 8 */
    size_t size;
};

/* SHA-256, or another digest of the caller's choice */
typedef void (*pe_digest_fn)( const BYTE *data, size_t size, BYTE digest[PE_DIGEST_SIZE] );

/* what is written into the section beside the tables */
struct pe_request
{
    const char  *dir;       /* folder of the DLLs, with a final backslash; "": the program's folder */
    DWORD        flags;     /* PE_COPIED ... */
    char         host[PE_HOST_SIZE];    /* the version of Wine that it is made for */
    pe_digest_fn digest;
};

/* what was found in a file with our section, or done to it */
struct pe_report
{
    enum pe_kind kind;
    DWORD        flags;
    char         host[PE_HOST_SIZE];
    char         dir[256];
    BYTE         original[PE_DIGEST_SIZE];      /* digest of the original file */
    DWORD        signature_size;                /* bytes of certificates that were removed */
    DWORD        overlay_size;                  /* bytes behind the last section, moved by ... */
    DWORD        section_size;                  /* ... this many */
    BOOL         bound;                         /* bound imports were removed */
    BOOL         changed;                       /* the file has changed since; it cannot be restored */
};

/* Each returns NULL, or an error: the rest of a sentence that begins with the file's name; *OUT is then
 * unchanged. The caller frees OUT->data. */

/* Find out what FILE is. PE_PLAIN: a file without our section; *REPORT is then zeroed. DIGEST: NULL if
 * REPORT->changed is not needed. */
void pe_look( const struct pe_bytes *file, pe_digest_fn digest, struct pe_report *report );

/* Make a program whose first imports are our two DLLs. */
const char *pe_install( const struct pe_bytes *file, const struct pe_request *request,
                        struct pe_bytes *out, struct pe_report *report );

/* Make a kernel32.dll of Wine's whose UMS names are forwarded to kernel32_ums.dll. */
const char *pe_forward( const struct pe_bytes *file, const struct pe_request *request,
                        struct pe_bytes *out, struct pe_report *report );

/* Restore the file that was given to pe_install or pe_forward. */
const char *pe_restore( const struct pe_bytes *file, pe_digest_fn digest, struct pe_bytes *out );

/* Is FILE, from which ORIGINAL cannot be restored, nevertheless made from ORIGINAL: by an interrupted write, or
 * changed afterwards? FALSE: it is ORIGINAL, or a program of its own. */
BOOL pe_is_unfinished( const struct pe_bytes *file, const struct pe_bytes *original );

#endif /* UMSRUN_PE_IMAGE_H */
