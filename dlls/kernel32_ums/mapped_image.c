/*
 * Reads modules that are mapped in this process.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <string.h>

#include "mapped_image.h"

#define READABLE ( PAGE_READONLY | PAGE_READWRITE | PAGE_WRITECOPY | PAGE_EXECUTE_READ | PAGE_EXECUTE_READWRITE | \
                   PAGE_EXECUTE_WRITECOPY )

static BOOL is_in( const struct image_region *region, const BYTE *at )
{
    return at >= region->begin && at < region->end;
}

/* the region of this byte; NULL if it cannot be read */
static const struct image_region *region_of( struct mapped_image *image, const BYTE *at )
{
    MEMORY_BASIC_INFORMATION info;
    struct image_region *region;
    unsigned int i;

    for (i = 0; i < IMAGE_REGIONS; i++) if (is_in( &image->regions[i], at )) return &image->regions[i];
    if (!VirtualQuery( at, &info, sizeof(info) ) || info.State != MEM_COMMIT) return NULL;
    if (!(info.Protect & READABLE) || (info.Protect & PAGE_GUARD)) return NULL;
    region = &image->regions[image->next];
    image->next = (image->next + 1) % IMAGE_REGIONS;
    region->begin = info.BaseAddress;
    region->end = region->begin + info.RegionSize;
    return region;
}

BOOL image_can_read( struct mapped_image *image, const void *at, size_t size )
{
    const BYTE *begin = at, *end = begin + size;
    const struct image_region *region;

    while (begin < end)
    {
        if (!(region = region_of( image, begin ))) return FALSE;
        begin = region->end;
    }
    return TRUE;
}

void *image_at( struct mapped_image *image, DWORD rva, size_t size )
{
    return image_can_read( image, image->base + rva, size ) ? image->base + rva : NULL;
}

const char *image_string( struct mapped_image *image, DWORD rva )
{
    const char *string = (const char *)image->base + rva;
    DWORD i;

    for (i = 0; i < MAX_PATH; i++)
    {
        if (!image_at( image, rva + i, 1 )) return NULL;
        if (!string[i]) return string;
    }
    return NULL;
}

/* The list of directories may be shorter than its type: what follows it then is something else. */
BOOL image_open( struct mapped_image *image, void *base )
{
    const IMAGE_DOS_HEADER *dos = base;
    const IMAGE_NT_HEADERS64 *nt;

    memset( image, 0, sizeof(*image) );
    image->base = base;
    if (!image_can_read( image, dos, sizeof(*dos) ) || dos->e_magic != IMAGE_DOS_SIGNATURE || dos->e_lfanew < 0)
        return FALSE;
    nt = (const IMAGE_NT_HEADERS64 *)(image->base + dos->e_lfanew);
    if (!image_can_read( image, nt, FIELD_OFFSET( IMAGE_NT_HEADERS64, OptionalHeader.DataDirectory ) ) ||
        nt->Signature != IMAGE_NT_SIGNATURE || nt->OptionalHeader.Magic != IMAGE_NT_OPTIONAL_HDR64_MAGIC)
        return FALSE;
    if (nt->OptionalHeader.NumberOfRvaAndSizes <= IMAGE_DIRECTORY_ENTRY_IMPORT) return TRUE;
    if (!image_can_read( image, nt->OptionalHeader.DataDirectory, 2 * sizeof(IMAGE_DATA_DIRECTORY) )) return FALSE;
    image->imports = nt->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_IMPORT];
    return TRUE;
}
