/*
 * The import table of a program that has to load the shim: our DLLs first, then its own
 * descriptors; UMS names point to our DLLs. It is used for processes (inject.c) and for files
 * (programs/umsrun/pe_image.c). It does not depend on the host, and is tested natively.
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

    /* state of the walk; `block` is NULL while the size is computed */
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

/* Takes the directories from the headers, which inject_check_headers has accepted. If an earlier block is
 * at the import directory, the directories that it has noted are used. */
void import_table_init( struct import_table *table, const IMAGE_NT_HEADERS64 *nt );

/* Bytes that the block needs; 0 if the image's table is damaged or of an unknown kind. */
DWORD import_table_size( struct import_table *table );

/* Fills BLOCK, which has that size, is zeroed except for the paths, and will be at RVA of the image.
 * *IMPORTS gets the new value of the image's import directory. FALSE: as for a size of 0. */
BOOL import_table_write( struct import_table *table, struct inject_block *block, DWORD rva,
                         DWORD size, DWORD flags, IMAGE_DATA_DIRECTORY *imports );

#endif /* KERNEL32_UMS_IMPORT_TABLE_H */
