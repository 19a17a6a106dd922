/*
 * How the shim gets into a process that was just created: by the process's own import table.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_PRIVATE_INJECT_H
#define UMS_PRIVATE_INJECT_H

#include <windows.h>

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

/* What umsrun or a parent writes above the program's image: this, the new import descriptors, their
 * thunk lists. The import directory of the image then points right behind this struct. */
struct inject_block
{
    DWORD                magic;
    DWORD                version;
    DWORD                flags;
    DWORD                size;      /* of everything */
    IMAGE_DATA_DIRECTORY imports;   /* what the image had, put back by attach.c */
    IMAGE_DATA_DIRECTORY bound;
    struct inject_dll    dlls[2];
};

/* What to do with an image's headers. Returns NULL if the shim can serve it, else what it is
 * instead. */
const char *inject_check_headers( const void *headers, SIZE_T size );

/* Makes PROCESS, which has not run yet, load the shim from DIR (with a final backslash). Returns
 * NULL, or what does not fit; the process is unchanged then. Any thread; takes no lock of ours,
 * allocates pages only. */
const char *inject_process( HANDLE process, const WCHAR *dir, DWORD flags );

/* Zeroed pages above the image at BASE and within 4 GB from it, because an RVA has 32 bits;
 * read-write. */
void *inject_alloc_above( HANDLE process, BYTE *base, DWORD image_size, SIZE_T size );

/* The block in the image at BASE of this very process, or NULL. */
struct inject_block *inject_find_block( void *base );

#endif /* UMS_PRIVATE_INJECT_H */
