/*
 * Makes a copy of Wine's kernel32.dll whose export table forwards the UMS names to kernel32_ums.dll. All
 * other names, all code and all ordinals are unchanged. Windows has no counterpart.
 *
 *     directory | functions | names | ordinals | strings      in the section's tables
 *
 * Loaders take an RVA in the directory's range for a forwarder, so the strings of existing forwarders
 * move into it.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <stdlib.h>
#include <string.h>

#include "private/exports.h"
#include "import_table.h"
#include "pe_section.h"

#define MAX_EXPORTS 0xffff              /* ordinals are 16-bit */
#define MAX_STRING  512
#define MARK_AT     0x40                /* "Wine builtin DLL" */
#define MARK_SIZE   32

#define NAME( type, name, args ) #name,
static const char *const ums_names[] = { UMS_KERNEL32_EXPORTS( NAME ) };
#undef NAME

static const char no_memory[] = "needs more memory than there is";
static const char does_not_fit[] = "has an export table that is damaged or of an unknown kind";

struct exports
{
    const struct pe        *pe;
    IMAGE_DATA_DIRECTORY    old;
    DWORD                   rva;        /* of the new directory */
    BYTE                   *data;
    DWORD                   room;
    DWORD                   used;
    IMAGE_EXPORT_DIRECTORY *directory;
    DWORD                  *functions;
    DWORD                  *names;
    WORD                   *ordinals;
};

static DWORD rva_of( const struct exports *exports, const void *ptr )
{
    return exports->rva + (DWORD)((const BYTE *)ptr - exports->data);
}

/* Read a string of the file, at most MAX_STRING characters. */
static BOOL fetch_string( const struct pe *pe, DWORD rva, char *to )
{
    DWORD i;

    for (i = 0; i < MAX_STRING; i++)
    {
        if (!pe_fetch( pe, rva + i, &to[i], 1 )) return FALSE;
        if (!to[i]) return TRUE;
    }
    return FALSE;
}

/* 0: no room; plan() makes sure that there is */
static DWORD add_string( struct exports *exports, const char *string )
{
    DWORD size = strlen( string ) + 1, ret = exports->rva + exports->used;

    if (size > exports->room - exports->used) return 0;
    memcpy( exports->data + exports->used, string, size );
    exports->used += size;
    return ret;
}

/* Fill the new table's arrays with the contents of the old ones. */
static const char *copy_old( struct exports *exports )
{
    const struct pe *pe = exports->pe;
    IMAGE_EXPORT_DIRECTORY old;
    DWORD count = ARRAYSIZE(ums_names);

    exports->old = pe->nt->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_EXPORT];
    if (!exports->old.VirtualAddress
        || !pe_fetch( pe, exports->old.VirtualAddress, &old, sizeof(old) )
        || old.NumberOfFunctions > MAX_EXPORTS - count || old.NumberOfNames > MAX_EXPORTS - count)
        return does_not_fit;

    exports->used = sizeof(old) + (old.NumberOfFunctions + count) * sizeof(DWORD)
                    + (old.NumberOfNames + count) * (sizeof(DWORD) + sizeof(WORD));
    /* the moved forwarders cannot be longer than the directory from which they come */
    if (exports->old.Size > 0x1000000) return does_not_fit;
    exports->room = exports->used + exports->old.Size + 2 * count * 64;
    if (!(exports->data = calloc( 1, exports->room ))) return no_memory;

    exports->directory = (IMAGE_EXPORT_DIRECTORY *)exports->data;
    exports->functions = (DWORD *)(exports->directory + 1);
    exports->names = exports->functions + old.NumberOfFunctions + count;
    exports->ordinals = (WORD *)(exports->names + old.NumberOfNames + count);
    *exports->directory = old;
    exports->directory->AddressOfFunctions = rva_of( exports, exports->functions );
    exports->directory->AddressOfNames = rva_of( exports, exports->names );
    exports->directory->AddressOfNameOrdinals = rva_of( exports, exports->ordinals );
    if (!pe_fetch( pe, old.AddressOfFunctions, exports->functions,
                   old.NumberOfFunctions * sizeof(DWORD) )
        || !pe_fetch( pe, old.AddressOfNames, exports->names, old.NumberOfNames * sizeof(DWORD) )
        || !pe_fetch( pe, old.AddressOfNameOrdinals, exports->ordinals,
                      old.NumberOfNames * sizeof(WORD) ))
        return does_not_fit;
    return NULL;
}

static BOOL move_forwarders( struct exports *exports )
{
    char string[MAX_STRING];
    DWORD i;

    for (i = 0; i < exports->directory->NumberOfFunctions; i++)
    {
        if (exports->functions[i] < exports->old.VirtualAddress
            || exports->functions[i] - exports->old.VirtualAddress >= exports->old.Size)
            continue;
        if (!fetch_string( exports->pe, exports->functions[i], string )) return FALSE;
        if (!(exports->functions[i] = add_string( exports, string ))) return FALSE;
    }
    return TRUE;
}

/* Read a name of the file, or one that we have added. */
static BOOL name_string( const struct exports *exports, DWORD rva, char *to )
{
    const char *string = (const char *)exports->data + (rva - exports->rva);
    DWORD limit;

    if (rva < exports->rva) return fetch_string( exports->pe, rva, to );
    if (rva - exports->rva >= exports->used) return FALSE;
    limit = min( exports->used - (rva - exports->rva), MAX_STRING );
    if (!memchr( string, 0, limit )) return FALSE;
    strcpy( to, string );
    return TRUE;
}

/* Names are sorted, because loaders search them by bisection. -1: the table cannot be read. */
static int find_name( const struct exports *exports, const char *name, DWORD *place )
{
    DWORD low = 0, high = exports->directory->NumberOfNames, mid;
    char string[MAX_STRING];
    int diff;

    while (low < high)
    {
        mid = low + (high - low) / 2;
        if (!name_string( exports, exports->names[mid], string )) return -1;
        if (!(diff = strcmp( string, name )))
        {
            *place = mid;
            return 1;
        }
        if (diff < 0) low = mid + 1;
        else high = mid;
    }
    *place = low;
    return 0;
}

static BOOL insert_name( struct exports *exports, DWORD place, const char *name )
{
    IMAGE_EXPORT_DIRECTORY *directory = exports->directory;
    DWORD *names = exports->names + place, behind = directory->NumberOfNames - place;
    WORD *ordinals = exports->ordinals + place;

    memmove( names + 1, names, behind * sizeof(*names) );
    memmove( ordinals + 1, ordinals, behind * sizeof(*ordinals) );
    *ordinals = (WORD)directory->NumberOfFunctions++;
    directory->NumberOfNames++;
    return (*names = add_string( exports, name )) != 0;
}

static BOOL forward_name( struct exports *exports, const char *name )
{
    static const char dll[] = "KERNEL32_UMS.";
    char forwarder[64];
    DWORD place;
    int found = find_name( exports, name, &place );

    if (found < 0 || (!found && !insert_name( exports, place, name ))) return FALSE;
    if (exports->ordinals[place] >= exports->directory->NumberOfFunctions) return FALSE;
    memcpy( forwarder, dll, sizeof(dll) );
    strcpy( forwarder + sizeof(dll) - 1, name );
    place = exports->ordinals[place];
    return (exports->functions[place] = add_string( exports, forwarder )) != 0;
}

static const char *build( struct exports *exports )
{
    const char *error = copy_old( exports );
    size_t i;

    if (error) return error;
    if (!move_forwarders( exports )) return does_not_fit;
    for (i = 0; i < ARRAYSIZE(ums_names); i++)
        if (!forward_name( exports, ums_names[i] )) return does_not_fit;
    return NULL;
}

/* Wine's mark is between the DOS header and the others. If those had to move, they have overwritten it. */
static void clear_mark( struct pe_bytes *file )
{
    DWORD end = ((const IMAGE_DOS_HEADER *)file->data)->e_lfanew;

    memset( file->data + MARK_AT, 0, min( end - MARK_AT, MARK_SIZE ) );
}

/* Wine loads a DLL that has its mark from its own folder instead. */
static const char *check( const struct pe_bytes *file, struct pe *pe )
{
    const char *error = inject_check_image( file->data, file->size );

    if (error || (error = pe_parse( pe, file ))) return error;
    if (pe_find_record( pe )) return "has its names of UMS forwarded already";
    if (memcmp( file->data + MARK_AT, "Wine builtin DLL", 16 ))
        return "is not a kernel32.dll of Wine";
    return NULL;
}

const char *pe_forward( const struct pe_bytes *file, const struct pe_request *request,
                        struct pe_bytes *out, struct pe_report *report )
{
    struct pe pe;
    struct exports exports = { .pe = &pe };
    struct pe_bytes tables;
    IMAGE_DATA_DIRECTORY entry;
    const char *error = check( file, &pe );

    if (error) return error;
    exports.rva = pe_new_rva( &pe );
    if (!(error = build( &exports )))
    {
        entry.VirtualAddress = exports.rva;
        entry.Size = exports.used;
        tables.data = exports.data;
        tables.size = exports.used;
        error = pe_add_section( &pe, PE_KERNEL32, request, &tables, IMAGE_DIRECTORY_ENTRY_EXPORT,
                                entry, out );
    }
    free( exports.data );
    if (error) return error;
    clear_mark( out );
    pe_report_new( out, report );
    return NULL;
}
