/*
 * How the shim gets into a process that was just created: by the process's own import table.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_PRIVATE_INJECT_H
#define UMS_PRIVATE_INJECT_H

#include <windows.h>
#include "private/inject_block.h"

/* Checks an image's headers. Returns NULL if the shim can serve the image, else what it is instead. */
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
