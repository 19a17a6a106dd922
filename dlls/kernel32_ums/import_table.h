/*
 * The import table of a program that has to load the shim: our DLLs first, then its own
 * descriptors; UMS names point to our DLLs. Host-free: it is built for processes (inject.c) and for
 * files (programs/umsrun/pe_image.c), and tested natively.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef KERNEL32_UMS_IMPORT_TABLE_H
#define KERNEL32_UMS_IMPORT_TABLE_H

#include "private/inject_block.h"

struct import_table
{
    /* Copies SIZE bytes of the image at RVA. FALSE: there are none. */
    BOOL (*fetch)( struct import_table *table, DWORD rva, void *to, DWORD size );
    IMAGE_DATA_DIRECTORY      imports;      /* of the image, as it was linked */
    IMAGE_DATA_DIRECTORY      bound;

    /* the walk's own; `block` is NULL while the room is counted */
    struct inject_block      *block;
    DWORD                     rva;          /* of the block */
    IMAGE_IMPORT_DESCRIPTOR  *descriptors;
    DWORD                     descriptor_count;
    ULONG64                  *thunks;
    DWORD                     thunk_count;
    DWORD                     thunks_rva;
    DWORD                     descriptor_room;
    DWORD                     thunk_room;
};

/* Whether these are headers of a 64-bit image for x86-64. NULL, or what they are instead. */
const char *inject_check_image( const void *headers, size_t size );

/* The same, and whether the shim can serve it: programs only. */
const char *inject_check_headers( const void *headers, size_t size );

/* Takes the directories out of the headers, which inject_check_headers has passed; what an earlier
 * block at the import directory has noted is what counts. */
void import_table_init( struct import_table *table, const IMAGE_NT_HEADERS64 *nt );

/* Bytes that the block needs; 0 if the image's table is damaged or of an unknown kind. */
DWORD import_table_size( struct import_table *table );

/* Fills BLOCK, which is zeroed but for the paths, has that size and will lie at RVA of the image.
 * *IMPORTS is what the image's directory is to become. FALSE as above. */
BOOL import_table_write( struct import_table *table, struct inject_block *block, DWORD rva,
                         DWORD size, DWORD flags, IMAGE_DATA_DIRECTORY *imports );

#endif /* KERNEL32_UMS_IMPORT_TABLE_H */
