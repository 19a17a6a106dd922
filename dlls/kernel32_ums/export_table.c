/*
 * Builds a new export table from that of a mapped module, with some names redirected or added. It
 * changes no table that is in use; attach.c installs the new one. No system call.
 *
 *     mem -> islands        jmp [rip]; target     for functions out of reach of a 32-bit RVA
 *            (page end)
 *            IMAGE_EXPORT_DIRECTORY  \
 *            functions                |
 *            names                    |  the directory's range: loaders take an RVA in it for a
 *            ordinals                 |  forwarder, so the old ones move in, and islands stay out
 *            strings                 /
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <string.h>

#include "export_table.h"

#define PAGE        0x1000
#define MAX_EXPORTS 0xffff              /* ordinals are 16-bit */
#define ALIGN_UP( x, n ) (((x) + (n) - 1) & ~((size_t)(n) - 1))

struct island
{
    BYTE   code[6];                     /* ff 25 00000000: jmp *0(%rip) */
    BYTE   target[8];
    BYTE   unused[2];
};

/* the new table while it is made */
struct table
{
    const BYTE             *base;
    IMAGE_DATA_DIRECTORY    old;        /* range of the old directory */
    struct island          *islands;
    size_t                  island_count;
    IMAGE_EXPORT_DIRECTORY *directory;
    DWORD                  *functions;
    DWORD                  *names;
    WORD                   *ordinals;
    char                   *strings;    /* the next free byte */
};

static DWORD rva_of( const struct table *table, const void *ptr )
{
    return (DWORD)((const BYTE *)ptr - table->base);
}

IMAGE_DATA_DIRECTORY *export_directory_entry( const void *base )
{
    const IMAGE_DOS_HEADER *dos = base;
    IMAGE_NT_HEADERS64 *nt = (IMAGE_NT_HEADERS64 *)((BYTE *)base + dos->e_lfanew);

    return &nt->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_EXPORT];
}

const IMAGE_EXPORT_DIRECTORY *export_directory( const void *base, IMAGE_DATA_DIRECTORY *entry )
{
    *entry = *export_directory_entry( base );
    if (!entry->VirtualAddress || !entry->Size) return NULL;
    return (const IMAGE_EXPORT_DIRECTORY *)((const BYTE *)base + entry->VirtualAddress);
}

static BOOL is_forwarder( const IMAGE_DATA_DIRECTORY *range, DWORD rva )
{
    return rva >= range->VirtualAddress && rva - range->VirtualAddress < range->Size;
}

/* The index of NAME in the sorted table, or the index at which it belongs. */
static BOOL find_name( const BYTE *base, const DWORD *names, DWORD count, const char *name,
                       DWORD *place )
{
    DWORD low = 0, high = count, mid;
    int diff;

    while (low < high)
    {
        mid = low + (high - low) / 2;
        diff = strcmp( (const char *)base + names[mid], name );
        if (!diff)
        {
            *place = mid;
            return TRUE;
        }
        if (diff < 0) low = mid + 1;
        else high = mid;
    }
    *place = low;
    return FALSE;
}

/* RVA of NAME, or 0 */
static DWORD find_function( const void *base, IMAGE_DATA_DIRECTORY range, const char *name )
{
    const BYTE *image = base;
    const IMAGE_EXPORT_DIRECTORY *directory = (const void *)(image + range.VirtualAddress);
    const DWORD *names = (const DWORD *)(image + directory->AddressOfNames);
    DWORD place;
    WORD ordinal;

    if (!find_name( image, names, directory->NumberOfNames, name, &place )) return 0;
    ordinal = ((const WORD *)(image + directory->AddressOfNameOrdinals))[place];
    if (ordinal >= directory->NumberOfFunctions) return 0;
    return ((const DWORD *)(image + directory->AddressOfFunctions))[ordinal];
}

void *export_table_find( const void *base, IMAGE_DATA_DIRECTORY range, const char *name )
{
    DWORD rva = find_function( base, range, name );

    return !rva || is_forwarder( &range, rva ) ? NULL : (BYTE *)base + rva;
}

const char *export_forwarder( const void *base, const char *name )
{
    IMAGE_DATA_DIRECTORY range;
    DWORD rva;

    if (!export_directory( base, &range )) return NULL;
    rva = find_function( base, range, name );
    return rva && is_forwarder( &range, rva ) ? (const char *)base + rva : NULL;
}

void *export_find( const void *base, const char *name )
{
    IMAGE_DATA_DIRECTORY range;

    return export_directory( base, &range ) ? export_table_find( base, range, name ) : NULL;
}

size_t export_list( const void *base, struct export_name *names, size_t max )
{
    IMAGE_DATA_DIRECTORY range;
    const IMAGE_EXPORT_DIRECTORY *directory = export_directory( base, &range );
    const BYTE *image = base;
    const DWORD *strings;
    DWORD i;

    if (!directory || directory->NumberOfNames > max) return 0;
    strings = (const DWORD *)(image + directory->AddressOfNames);
    for (i = 0; i < directory->NumberOfNames; i++)
    {
        names[i].name = (const char *)image + strings[i];
        names[i].target = export_find( base, names[i].name );
        if (!names[i].target) return 0;
    }
    return directory->NumberOfNames;
}

size_t export_table_size( const void *base, const struct export_name *names, size_t count )
{
    IMAGE_DATA_DIRECTORY range;
    const IMAGE_EXPORT_DIRECTORY *directory = export_directory( base, &range );
    size_t i, size;
    const DWORD *functions;

    if (!directory) return 0;
    if (directory->NumberOfFunctions + count > MAX_EXPORTS) return 0;
    if (directory->NumberOfNames > MAX_EXPORTS) return 0;

    size = ALIGN_UP( count * sizeof(struct island), PAGE ) + sizeof(*directory);
    size += (directory->NumberOfFunctions + count) * sizeof(DWORD);
    size += (directory->NumberOfNames + count) * (sizeof(DWORD) + sizeof(WORD));
    for (i = 0; i < count; i++) size += strlen( names[i].name ) + 1;
    functions = (const DWORD *)((const BYTE *)base + directory->AddressOfFunctions);
    for (i = 0; i < directory->NumberOfFunctions; i++)
        if (is_forwarder( &range, functions[i] ))
            size += strlen( (const char *)base + functions[i] ) + 1;
    return size;
}

/* string of the new directory's range */
static DWORD add_string( struct table *table, const char *string )
{
    size_t size = strlen( string ) + 1;
    char *ret = table->strings;

    memcpy( ret, string, size );
    table->strings += size;
    return rva_of( table, ret );
}

static void copy_old( struct table *table, const IMAGE_EXPORT_DIRECTORY *old )
{
    DWORD i;

    *table->directory = *old;
    table->directory->AddressOfFunctions = rva_of( table, table->functions );
    table->directory->AddressOfNames = rva_of( table, table->names );
    table->directory->AddressOfNameOrdinals = rva_of( table, table->ordinals );

    memcpy( table->functions, table->base + old->AddressOfFunctions,
            old->NumberOfFunctions * sizeof(DWORD) );
    memcpy( table->names, table->base + old->AddressOfNames, old->NumberOfNames * sizeof(DWORD) );
    memcpy( table->ordinals, table->base + old->AddressOfNameOrdinals,
            old->NumberOfNames * sizeof(WORD) );
    for (i = 0; i < old->NumberOfFunctions; i++)
        if (is_forwarder( &table->old, table->functions[i] ))
            table->functions[i] = add_string( table,
                                              (const char *)table->base + table->functions[i] );
}

/* An RVA that leads to TARGET: that of TARGET if it is within reach, else that of an island. */
static DWORD reach( struct table *table, const void *target )
{
    static const BYTE jump[] = { 0xff, 0x25, 0, 0, 0, 0 };
    const BYTE *address = target;
    struct island *island;

    if (address > table->base && address - table->base <= 0xffffffff)
        return rva_of( table, target );
    island = &table->islands[table->island_count++];
    memcpy( island->code, jump, sizeof(jump) );
    memcpy( island->target, &target, sizeof(target) );
    return rva_of( table, island );
}

static void insert_name( struct table *table, DWORD place, const char *name )
{
    DWORD *names = table->names + place;
    WORD *ordinals = table->ordinals + place;
    DWORD behind = table->directory->NumberOfNames - place;

    memmove( names + 1, names, behind * sizeof(*names) );
    memmove( ordinals + 1, ordinals, behind * sizeof(*ordinals) );
    *names = add_string( table, name );
    *ordinals = (WORD)table->directory->NumberOfFunctions;
    table->directory->NumberOfNames++;
    table->directory->NumberOfFunctions++;
}

IMAGE_DATA_DIRECTORY export_table_build( const void *base, void *mem,
                                         const struct export_name *names, size_t count,
                                             size_t *code_size )
{
    IMAGE_DATA_DIRECTORY ret = { 0, 0 };
    const IMAGE_EXPORT_DIRECTORY *old;
    struct table table = { .base = base };
    DWORD place;
    size_t i;

    if (!(old = export_directory( base, &table.old ))) return ret;
    *code_size = ALIGN_UP( count * sizeof(struct island), PAGE );
    table.islands = mem;
    table.directory = (IMAGE_EXPORT_DIRECTORY *)((BYTE *)mem + *code_size);
    table.functions = (DWORD *)(table.directory + 1);
    table.names = table.functions + old->NumberOfFunctions + count;
    table.ordinals = (WORD *)(table.names + old->NumberOfNames + count);
    table.strings = (char *)(table.ordinals + old->NumberOfNames + count);
    copy_old( &table, old );

    for (i = 0; i < count; i++)
    {
        if (!find_name( base, table.names, table.directory->NumberOfNames, names[i].name, &place ))
            insert_name( &table, place, names[i].name );
        if (table.ordinals[place] >= table.directory->NumberOfFunctions) return ret;
        table.functions[table.ordinals[place]] = reach( &table, names[i].target );
    }
    ret.VirtualAddress = rva_of( &table, table.directory );
    ret.Size = rva_of( &table, table.strings ) - ret.VirtualAddress;
    return ret;
}
