/*
 * Builds a new import table for an image, with our DLLs in front. UMS names that the program
 * imports from ntdll or kernel32 get descriptors of their own, which name our DLLs and use the
 * program's import slots. It reads through a callback, and validates everything that it reads.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <stddef.h>
#include <string.h>

#include "private/exports.h"
#include "import_table.h"

#define MAX_DESCRIPTORS 4096            /* a longer table is taken for garbage */
#define MAX_THUNKS      65536           /* of all descriptors together */
#define ALIGN_UP( x, n ) (((x) + (n) - 1) & ~((ULONG64)(n) - 1))

/* the DLL from which a name is imported */
enum owner { OWNER_HOST, OWNER_NTDLL, OWNER_KERNEL32, OWNER_NONE };

static const char not_windows[] = "is not a Windows program";

const char *inject_check_image( const void *headers, size_t size )
{
    const IMAGE_DOS_HEADER *dos = headers;
    const IMAGE_NT_HEADERS64 *nt;
    DWORD offset;

    if (size >= 4 && !memcmp( headers, "\177ELF", 4 ))
        return "is a Linux program, not a Windows program";
    if (size < sizeof(*dos) || dos->e_magic != IMAGE_DOS_SIGNATURE)
        return not_windows;
    offset = dos->e_lfanew;
    if (offset % sizeof(DWORD)) return not_windows;
    if (offset >= size || size - offset < sizeof(*nt)) return not_windows;
    nt = (const IMAGE_NT_HEADERS64 *)((const BYTE *)headers + offset);
    if (nt->Signature != IMAGE_NT_SIGNATURE) return not_windows;

    switch (nt->FileHeader.Machine)
    {
    case IMAGE_FILE_MACHINE_AMD64: break;
    case IMAGE_FILE_MACHINE_I386:  return "is a 32-bit program; UMS is for 64-bit ones only";
    case IMAGE_FILE_MACHINE_ARM64: return "is an Arm64 program; UMS is for x86-64 ones only";
    default:                       return "is a program for another processor than x86-64";
    }
    if (nt->OptionalHeader.Magic != IMAGE_NT_OPTIONAL_HDR64_MAGIC)
        return not_windows;
    if (nt->OptionalHeader.NumberOfRvaAndSizes <= IMAGE_DIRECTORY_ENTRY_IMPORT)
        return "has too short a list of data directories";
    return NULL;
}

/* The list may end before it. */
static IMAGE_DATA_DIRECTORY directory( const IMAGE_NT_HEADERS64 *nt, unsigned int index )
{
    static const IMAGE_DATA_DIRECTORY none;

    return index < nt->OptionalHeader.NumberOfRvaAndSizes ? nt->OptionalHeader.DataDirectory[index] : none;
}

const char *inject_check_headers( const void *headers, size_t size )
{
    const char *error = inject_check_image( headers, size );
    const IMAGE_NT_HEADERS64 *nt;

    if (error) return error;
    nt = (const IMAGE_NT_HEADERS64 *)((const BYTE *)headers
                                      + ((const IMAGE_DOS_HEADER *)headers)->e_lfanew);
    if (nt->FileHeader.Characteristics & IMAGE_FILE_DLL) return "is a DLL, not a program";
    if (directory( nt, IMAGE_DIRECTORY_ENTRY_COM_DESCRIPTOR ).VirtualAddress)
        return "is a .NET program, which imports nothing by table";
    return NULL;
}

/***********************************************************************
 * which names are ours
 */

/* a string cut to `size` - 1 characters */
static BOOL fetch_string( struct import_table *table, DWORD rva, char *to, DWORD size )
{
    DWORD i;

    for (i = 0; i < size - 1; i++)
    {
        if (!table->fetch( table, rva + i, &to[i], 1 )) return FALSE;
        if (!to[i]) return TRUE;
    }
    to[i] = 0;
    return TRUE;
}

/* the first `max` characters, ASCII letters folded */
static BOOL same_name( const char *a, const char *b, size_t max )
{
    char x, y;

    for (; max; a++, b++, max--)
    {
        x = *a >= 'A' && *a <= 'Z' ? *a + 32 : *a;
        y = *b >= 'A' && *b <= 'Z' ? *b + 32 : *b;
        if (x != y) return FALSE;
        if (!x) return TRUE;
    }
    return TRUE;
}

static enum owner dll_owner( const char *dll )
{
    static const char api_set[] = "api-ms-win-core-ums-";

    if (same_name( dll, "ntdll.dll", 10 ) || same_name( dll, "ntdll", 6 )) return OWNER_NTDLL;
    if (same_name( dll, "kernel32.dll", 13 ) || same_name( dll, "kernel32", 9 ))
        return OWNER_KERNEL32;
    return same_name( dll, api_set, sizeof(api_set) - 1 ) ? OWNER_KERNEL32 : OWNER_HOST;
}

static BOOL is_ums_name( const char *name, enum owner owner )
{
#define NAME( type, name, args ) #name,
    static const char *const kernel32_names[] = { UMS_KERNEL32_EXPORTS( NAME ) };
    static const char *const ntdll_names[] = { UMS_NTDLL_EXPORTS( NAME )
                                               UMS_NTDLL_FACTORY_EXPORTS( NAME ) };
#undef NAME
    const char *const *names = owner == OWNER_NTDLL ? ntdll_names : kernel32_names;
    size_t i, count = owner == OWNER_NTDLL ? ARRAYSIZE(ntdll_names) : ARRAYSIZE(kernel32_names);

    for (i = 0; i < count; i++)
        if (!strcmp( name, names[i] )) return TRUE;
    return FALSE;
}

/* The owner of the name that THUNK imports from DLL; OWNER_NONE if it cannot be read. */
static enum owner thunk_owner( struct import_table *table, ULONG64 thunk, enum owner dll )
{
    char name[48];

    if (dll == OWNER_HOST || IMAGE_SNAP_BY_ORDINAL64( thunk )) return OWNER_HOST;
    if (!fetch_string( table, (DWORD)thunk + sizeof(WORD), name, sizeof(name) )) return OWNER_NONE;
    return is_ums_name( name, dll ) ? dll : OWNER_HOST;
}

/***********************************************************************
 * the new import table
 */
static void add_descriptor( struct import_table *table, const IMAGE_IMPORT_DESCRIPTOR *descriptor )
{
    DWORD i = table->descriptor_count++;

    if (table->block && i < table->descriptor_room) table->descriptors[i] = *descriptor;
}

static void add_thunk( struct import_table *table, ULONG64 thunk )
{
    DWORD i = table->thunk_count++;

    if (table->block && i < table->thunk_room) table->thunks[i] = thunk;
}

/* Adjacent thunks with one owner, FIRST .. FIRST + COUNT - 1 of FROM, get a descriptor of their
   own. */
static void add_run( struct import_table *table, const IMAGE_IMPORT_DESCRIPTOR *from, DWORD first,
                     DWORD count, enum owner owner )
{
    IMAGE_IMPORT_DESCRIPTOR descriptor = *from;

    add_thunk( table, 0 );
    descriptor.TimeDateStamp = 0;
    descriptor.ForwarderChain = 0;
    descriptor.FirstThunk += first * sizeof(ULONG64);
    descriptor.OriginalFirstThunk = table->thunks_rva
                                    + (table->thunk_count - 1 - count) * sizeof(ULONG64);
    if (owner == OWNER_NTDLL)
        descriptor.Name = table->rva + offsetof( struct inject_block, dlls[0].path );
    if (owner == OWNER_KERNEL32)
        descriptor.Name = table->rva + offsetof( struct inject_block, dlls[1].path );
    add_descriptor( table, &descriptor );
}

static BOOL add_split( struct import_table *table, const IMAGE_IMPORT_DESCRIPTOR *from,
                       enum owner dll )
{
    DWORD list = from->OriginalFirstThunk ? from->OriginalFirstThunk : from->FirstThunk;
    enum owner owner, last = OWNER_NONE;
    DWORD i, first = 0;
    ULONG64 thunk;

    for (i = 0; table->thunk_count < MAX_THUNKS; i++)
    {
        if (!table->fetch( table, list + i * sizeof(thunk), &thunk, sizeof(thunk) )) return FALSE;
        owner = thunk ? thunk_owner( table, thunk, dll ) : OWNER_NONE;
        if (i && owner != last)
        {
            add_run( table, from, first, i - first, last );
            first = i;
        }
        if (!thunk) return TRUE;
        if (owner == OWNER_NONE) return FALSE;
        add_thunk( table, thunk );
        last = owner;
    }
    return FALSE;
}

/* A host refuses to load a program whose imports it does not have (Windows), or binds them to a
 * trap (Wine). So UMS names are imported from the shim from the start. */
static BOOL add_program_imports( struct import_table *table )
{
    IMAGE_IMPORT_DESCRIPTOR descriptor;
    enum owner dll;
    char name[32];
    DWORD i;

    if (!table->imports.VirtualAddress) return TRUE;
    for (i = 0; i < MAX_DESCRIPTORS; i++)
    {
        if (!table->fetch( table, table->imports.VirtualAddress + i * sizeof(descriptor),
                           &descriptor, sizeof(descriptor) ))
            return FALSE;
        if (!descriptor.Name || !descriptor.FirstThunk) return TRUE;
        if (!fetch_string( table, descriptor.Name, name, sizeof(name) )) return FALSE;

        if ((dll = dll_owner( name )) != OWNER_HOST)
        {
            if (!add_split( table, &descriptor, dll )) return FALSE;
        }
        else
        {
            if (descriptor.OriginalFirstThunk) descriptor.TimeDateStamp = 0;
            add_descriptor( table, &descriptor );
        }
    }
    return FALSE;
}

static void add_our_imports( struct import_table *table )
{
    static const IMAGE_IMPORT_DESCRIPTOR zero;
    IMAGE_IMPORT_DESCRIPTOR descriptor = zero;
    DWORD i, rva;

    for (i = 0; i < ARRAYSIZE(table->block->dlls); i++)
    {
        rva = table->rva + offsetof( struct inject_block, dlls[i] );
        if (table->block)
        {
            table->block->dlls[i].names[0] = IMAGE_ORDINAL_FLAG64 | 1;
            table->block->dlls[i].slots[0] = IMAGE_ORDINAL_FLAG64 | 1;
        }
        descriptor.OriginalFirstThunk = rva + offsetof( struct inject_dll, names );
        descriptor.FirstThunk = rva + offsetof( struct inject_dll, slots );
        descriptor.Name = rva + offsetof( struct inject_dll, path );
        add_descriptor( table, &descriptor );
    }
}

static BOOL walk_imports( struct import_table *table )
{
    static const IMAGE_IMPORT_DESCRIPTOR zero;

    table->descriptor_count = 0;
    table->thunk_count = 0;
    add_our_imports( table );
    if (!add_program_imports( table )) return FALSE;
    add_descriptor( table, &zero );
    return TRUE;
}

/***********************************************************************
 * the block
 */

/* A program has the shim in its file (umsrun --install), and umsrun or a program with the shim
 * starts it. Then its own block is skipped, and the starter's shim is used. */
void import_table_init( struct import_table *table, const IMAGE_NT_HEADERS64 *nt )
{
    struct inject_block block;

    table->imports = nt->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_IMPORT];
    table->bound = directory( nt, IMAGE_DIRECTORY_ENTRY_BOUND_IMPORT );
    if (table->imports.VirtualAddress <= sizeof(block)
        || !table->fetch( table, table->imports.VirtualAddress - sizeof(block), &block,
                          sizeof(block) )
        || block.magic != INJECT_MAGIC || block.version != INJECT_VERSION)
        return;
    table->imports = block.imports;
    table->bound = block.bound;
}

static DWORD thunks_offset( const struct import_table *table )
{
    return ALIGN_UP( sizeof(*table->block)
                     + table->descriptor_count * sizeof(IMAGE_IMPORT_DESCRIPTOR), sizeof(ULONG64) );
}

DWORD import_table_size( struct import_table *table )
{
    table->block = NULL;
    if (!walk_imports( table )) return 0;
    table->descriptor_room = table->descriptor_count;
    table->thunk_room = table->thunk_count;
    return thunks_offset( table ) + table->thunk_count * sizeof(ULONG64);
}

/* The second walk may find more than the first: a process's memory may change. */
BOOL import_table_write( struct import_table *table, struct inject_block *block, DWORD rva,
                         DWORD size, DWORD flags, IMAGE_DATA_DIRECTORY *imports )
{
    DWORD offset = thunks_offset( table );

    table->block = block;
    table->rva = rva;
    table->descriptors = (IMAGE_IMPORT_DESCRIPTOR *)(block + 1);
    table->thunks = (ULONG64 *)((BYTE *)block + offset);
    table->thunks_rva = rva + offset;

    block->magic = INJECT_MAGIC;
    block->version = INJECT_VERSION;
    block->flags = flags;
    block->size = size;
    block->imports = table->imports;
    block->bound = table->bound;
    imports->VirtualAddress = rva + sizeof(*block);
    imports->Size = table->descriptor_count * sizeof(IMAGE_IMPORT_DESCRIPTOR);
    return walk_imports( table ) && table->descriptor_count == table->descriptor_room
           && table->thunk_count == table->thunk_room;
}
