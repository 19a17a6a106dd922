/*
 * A module that is mapped in this process, whose headers and tables the program may have overwritten or protected, as
 * programs that are packed do. Nothing is read that cannot be read.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef KERNEL32_UMS_MAPPED_IMAGE_H
#define KERNEL32_UMS_MAPPED_IMAGE_H

#include <windows.h>

#define IMAGE_REGIONS 4

struct image_region { const BYTE *begin, *end; };       /* memory that can be read */

/* used by one thread */
struct mapped_image
{
    BYTE                *base;
    IMAGE_DATA_DIRECTORY imports;                       /* zeros if it has no such directory */
    struct image_region  regions[IMAGE_REGIONS];        /* the last ones that were asked for */
    unsigned int         next;                          /* which of them is replaced next */
};

/* FALSE: these are no headers of a 64-bit image, or they cannot be read. */
BOOL image_open( struct mapped_image *image, void *base );

/* Can these bytes be read? Not if that would trip a guard page. The program may change it at any time. */
BOOL image_can_read( struct mapped_image *image, const void *at, size_t size );

/* Those at RVA; NULL if they cannot be read. They may lie above the image: whoever adds an import to a process that it has
 * created puts the table there. */
void *image_at( struct mapped_image *image, DWORD rva, size_t size );

/* The same for a string; NULL also if it is longer than MAX_PATH. */
const char *image_string( struct mapped_image *image, DWORD rva );

#endif /* KERNEL32_UMS_MAPPED_IMAGE_H */
