/*
 * Stands for a linker, with as little as loaders ask for.
 *
 *     0x000 headers   0x400 .text   0x600 .data: imports, exports   0xa00 symbols, overlay, signature
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <stdlib.h>
#include <string.h>

#include "make_pe.h"

#define TEXT_AT  0x400
#define DATA_AT  0x600
#define DATA_END 0xa00
#define RVA( offset ) (MAKE_DATA_RVA + (offset) - DATA_AT)

static const char *const kernel32_names[] = { "CreateFileW", "ExecuteUmsThread", "UmsThreadYield",
                                              "Sleep" };
static const char *const exports[] = { "CreateUmsCompletionList", "ExecuteUmsThread", "HeapAlloc",
                                       "Sleep", "UmsThreadYield" };

struct maker
{
    BYTE    *data;
    DWORD    used;          /* next free offset in .data */
    unsigned flags;
};

void make_digest( const BYTE *data, size_t size, BYTE digest[PE_DIGEST_SIZE] )
{
    ULONG64 hash = 1469598103934665603ull;
    size_t i;

    for (i = 0; i < size; i++) hash = (hash ^ data[i]) * 1099511628211ull;
    memset( digest, 0, PE_DIGEST_SIZE );
    memcpy( digest, &hash, sizeof(hash) );
}

IMAGE_NT_HEADERS64 *make_nt( const struct pe_bytes *file )
{
    return (IMAGE_NT_HEADERS64 *)(file->data + ((IMAGE_DOS_HEADER *)file->data)->e_lfanew);
}

IMAGE_SECTION_HEADER *make_sections( const struct pe_bytes *file )
{
    IMAGE_NT_HEADERS64 *nt = make_nt( file );

    return (IMAGE_SECTION_HEADER *)((BYTE *)&nt->OptionalHeader
                                    + nt->FileHeader.SizeOfOptionalHeader);
}

static DWORD put( struct maker *maker, const void *data, DWORD size )
{
    DWORD at = (maker->used + 7) & ~7;

    memcpy( maker->data + at, data, size );
    maker->used = at + size;
    return RVA( at );
}

static DWORD put_string( struct maker *maker, const char *string )
{
    return put( maker, string, strlen( string ) + 1 );
}

static IMAGE_IMPORT_DESCRIPTOR import_from( struct maker *maker, const char *dll,
                                            const char *const *names, size_t count )
{
    IMAGE_IMPORT_DESCRIPTOR descriptor = { 0 };
    ULONG64 thunks[8] = { 0 };
    char name[64] = { 0 };
    size_t i;

    for (i = 0; i < count; i++)
    {
        strcpy( name + 2, names[i] );
        thunks[i] = put( maker, name, strlen( names[i] ) + 3 );
    }
    thunks[count] = 0;
    descriptor.OriginalFirstThunk = put( maker, thunks, (count + 1) * sizeof(thunks[0]) );
    descriptor.FirstThunk = put( maker, thunks, (count + 1) * sizeof(thunks[0]) );
    descriptor.Name = put_string( maker, dll );
    return descriptor;
}

static void make_imports( struct maker *maker, IMAGE_DATA_DIRECTORY *entry )
{
    static const char *const ntdll_names[] = { "NtClose", "RtlExecuteUmsThread" };
    static const char *const user32_names[] = { "MessageBoxW" };
    IMAGE_IMPORT_DESCRIPTOR table[4];

    table[0] = import_from( maker, MAKE_NAME, kernel32_names, 4 );
    table[1] = import_from( maker, "ntdll.dll", ntdll_names, 2 );
    table[2] = import_from( maker, "USER32.dll", user32_names, 1 );
    memset( &table[3], 0, sizeof(table[3]) );
    entry->VirtualAddress = put( maker, table, sizeof(table) );
    entry->Size = sizeof(table);
}

/* HeapAlloc is a forwarder, the others are functions of .text */
static void make_exports( struct maker *maker, IMAGE_DATA_DIRECTORY *entry )
{
    IMAGE_EXPORT_DIRECTORY directory = { 0 };
    DWORD functions[5], names[5], start, i;
    WORD ordinals[5];

    start = put( maker, &directory, sizeof(directory) );
    for (i = 0; i < 5; i++)
    {
        names[i] = put_string( maker, exports[i] );
        functions[i] = i == 2 ? put_string( maker, "NTDLL.RtlAllocateHeap" ) : MAKE_TEXT_RVA + i;
        ordinals[i] = i;
    }
    directory.Base = 1;
    directory.NumberOfFunctions = directory.NumberOfNames = 5;
    directory.Name = put_string( maker, MAKE_NAME );
    directory.AddressOfFunctions = put( maker, functions, sizeof(functions) );
    directory.AddressOfNames = put( maker, names, sizeof(names) );
    directory.AddressOfNameOrdinals = put( maker, ordinals, sizeof(ordinals) );
    memcpy( maker->data + start - MAKE_DATA_RVA + DATA_AT, &directory, sizeof(directory) );
    entry->VirtualAddress = start;
    entry->Size = RVA( maker->used ) - start;
}

static void set_section( IMAGE_SECTION_HEADER *section, const char *name, DWORD rva, DWORD at,
                         DWORD end )
{
    memcpy( section->Name, name, strlen( name ) );
    section->Misc.VirtualSize = end - at;
    section->VirtualAddress = rva;
    section->SizeOfRawData = end - at;
    section->PointerToRawData = at;
    section->Characteristics = IMAGE_SCN_MEM_READ;
}

/* where the headers begin: with NO_ROOM they end where .text begins */
static DWORD headers_at( unsigned int flags )
{
    DWORD size = sizeof(IMAGE_NT_HEADERS64) + 2 * sizeof(IMAGE_SECTION_HEADER);

    if (flags & MAKE_NO_STUB) return 0x40;
    return flags & MAKE_NO_ROOM ? TEXT_AT - size - 8 : 0x80;
}

static IMAGE_NT_HEADERS64 *make_headers( struct maker *maker )
{
    IMAGE_DOS_HEADER *dos = (IMAGE_DOS_HEADER *)maker->data;
    IMAGE_NT_HEADERS64 *nt;
    IMAGE_SECTION_HEADER *sections;
    DWORD i, end = DATA_END - (maker->flags & MAKE_UNALIGNED ? 0x123 : 0);

    dos->e_magic = IMAGE_DOS_SIGNATURE;
    dos->e_lfanew = headers_at( maker->flags );
    memset( maker->data + 0x40, '$', dos->e_lfanew - 0x40 );
    if (maker->flags & MAKE_DLL) memcpy( maker->data + 0x40, "Wine builtin DLL", 17 );
    nt = (IMAGE_NT_HEADERS64 *)(maker->data + dos->e_lfanew);
    nt->Signature = IMAGE_NT_SIGNATURE;
    nt->FileHeader.Machine = IMAGE_FILE_MACHINE_AMD64;
    nt->FileHeader.NumberOfSections = 2;
    nt->FileHeader.SizeOfOptionalHeader = sizeof(nt->OptionalHeader);
    nt->FileHeader.Characteristics = 0x22 | (maker->flags & MAKE_DLL ? IMAGE_FILE_DLL : 0);
    nt->OptionalHeader.Magic = IMAGE_NT_OPTIONAL_HDR64_MAGIC;
    nt->OptionalHeader.SectionAlignment = 0x1000;
    nt->OptionalHeader.FileAlignment = 0x200;
    nt->OptionalHeader.SizeOfImage = 0x3000;
    nt->OptionalHeader.SizeOfHeaders = TEXT_AT;
    nt->OptionalHeader.Subsystem = IMAGE_SUBSYSTEM_WINDOWS_CUI;
    nt->OptionalHeader.NumberOfRvaAndSizes = IMAGE_NUMBEROF_DIRECTORY_ENTRIES;
    if (maker->flags & MAKE_CHECKSUM) nt->OptionalHeader.CheckSum = 0x12345;
    sections = (IMAGE_SECTION_HEADER *)(nt + 1);
    set_section( &sections[0], ".text", MAKE_TEXT_RVA, TEXT_AT, DATA_AT );
    set_section( &sections[1], ".data", MAKE_DATA_RVA, DATA_AT, end );
    /* with NO_STUB there would be room: something else has taken it */
    if (maker->flags & MAKE_NO_STUB)
        for (i = (BYTE *)(sections + 2) - maker->data; i < TEXT_AT; i++) maker->data[i] = '$';
    return nt;
}

static void make_bound( struct maker *maker, IMAGE_NT_HEADERS64 *nt )
{
    DWORD at = (BYTE *)(nt + 1) - maker->data + 2 * sizeof(IMAGE_SECTION_HEADER);
    IMAGE_DATA_DIRECTORY *entry =
        &nt->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_BOUND_IMPORT];

    memset( maker->data + at, 'b', 64 );
    entry->VirtualAddress = at;
    entry->Size = 64;
}

/* one symbol, and strings of four bytes: their length */
static size_t make_symbols( struct maker *maker, IMAGE_NT_HEADERS64 *nt, size_t size )
{
    static const DWORD strings = 4;

    nt->FileHeader.PointerToSymbolTable = size;
    nt->FileHeader.NumberOfSymbols = 1;
    memset( maker->data + size, 's', 18 );
    memcpy( maker->data + size + 18, &strings, sizeof(strings) );
    return size + 22;
}

struct pe_bytes make_pe( unsigned int flags )
{
    struct maker maker = { .data = calloc( 1, 0x2000 ), .used = DATA_AT, .flags = flags };
    struct pe_bytes file = { maker.data, DATA_END };
    IMAGE_NT_HEADERS64 *nt = make_headers( &maker );
    IMAGE_DATA_DIRECTORY *entries = nt->OptionalHeader.DataDirectory;

    memset( maker.data + TEXT_AT, 0xc3, DATA_AT - TEXT_AT );
    make_imports( &maker, &entries[IMAGE_DIRECTORY_ENTRY_IMPORT] );
    if (flags & MAKE_DLL) make_exports( &maker, &entries[IMAGE_DIRECTORY_ENTRY_EXPORT] );
    if (flags & MAKE_BOUND) make_bound( &maker, nt );
    if (flags & MAKE_UNALIGNED) file.size -= 0x123;
    if (flags & MAKE_SYMBOLS) file.size = make_symbols( &maker, nt, file.size );
    if (flags & MAKE_OVERLAY)
    {
        memset( maker.data + file.size, 'o', 100 );
        file.size += 100;
    }
    if (flags & MAKE_SIGNATURE)
    {
        entries[IMAGE_DIRECTORY_ENTRY_SECURITY].VirtualAddress = file.size;
        entries[IMAGE_DIRECTORY_ENTRY_SECURITY].Size = 200;
        memset( maker.data + file.size, 'c', 200 );
        file.size += 200;
    }
    return file;
}
