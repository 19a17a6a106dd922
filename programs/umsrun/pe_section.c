/*
 * Does what a linker does: adds a section to an existing image file. The section holds everything that
 * is needed to remove it again.
 *
 *     headers, sections        unchanged, except for one more section header
 *     our section              record, tables, copy of the headers, copy of the certificates
 *     what followed            data that programs append to themselves, symbols
 *
 * The data after the sections moves, because programs look for it at the end of the last section or at
 * the end of the file. Certificates are removed, because the signature is no longer valid.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "import_table.h"
#include "pe_section.h"

#define PAGE         0x1000
#define MIN_ALIGNMENT 0x200             /* in files; loaders round down to it */
#define MAX_SECTIONS 95                 /* loaders accept 96 */
#define MAX_FILE     0x7fffffff
#define STUB         0x40               /* the lowest possible offset of the headers */

static const char not_sound[] = "has damaged headers";
static const char cut_short[] = "is not complete: a section lies behind its end";

/***********************************************************************
 * reading
 */
static BOOL is_power_of_2( DWORD x )
{
    return x && !(x & (x - 1));
}

static DWORD virtual_size( const IMAGE_SECTION_HEADER *section )
{
    return section->Misc.VirtualSize ? section->Misc.VirtualSize : section->SizeOfRawData;
}

/* In the image, sections must follow one another as loaders require. In the file they may be anywhere
 * between the headers and the end. */
static const char *check_sections( struct pe *pe )
{
    const IMAGE_OPTIONAL_HEADER64 *optional = &pe->nt->OptionalHeader;
    const IMAGE_SECTION_HEADER *section = pe->sections;
    ULONG64 next = PE_ALIGN_UP( optional->SizeOfHeaders, optional->SectionAlignment ), raw_end;
    DWORD i;

    for (i = 0; i < pe->section_count; i++, section++)
    {
        if (section->VirtualAddress != next) return not_sound;
        next = PE_ALIGN_UP( next + virtual_size( section ), optional->SectionAlignment );
        if (next > MAX_FILE) return not_sound;
        if (!section->SizeOfRawData) continue;
        raw_end = (ULONG64)section->PointerToRawData + section->SizeOfRawData;
        if (raw_end > pe->size) return cut_short;
        if (section->PointerToRawData < pe->headers_end
            || section->PointerToRawData % MIN_ALIGNMENT)
            return not_sound;
        pe->headers_limit = min( pe->headers_limit, section->PointerToRawData );
        pe->raw_end = max( pe->raw_end, (DWORD)raw_end );
    }
    return next == PE_ALIGN_UP( optional->SizeOfImage, optional->SectionAlignment ) ? NULL
                                                                                 : not_sound;
}

const char *pe_parse( struct pe *pe, const struct pe_bytes *file )
{
    const IMAGE_OPTIONAL_HEADER64 *optional;
    DWORD offset, table;

    memset( pe, 0, sizeof(*pe) );
    pe->data = file->data;
    pe->size = file->size;
    if (pe->size > MAX_FILE) return "is larger than 2 GB";
    offset = ((const IMAGE_DOS_HEADER *)pe->data)->e_lfanew;
    pe->nt = (const IMAGE_NT_HEADERS64 *)(pe->data + offset);
    optional = &pe->nt->OptionalHeader;
    if (optional->SectionAlignment < PAGE || !is_power_of_2( optional->SectionAlignment )
        || optional->FileAlignment < MIN_ALIGNMENT || !is_power_of_2( optional->FileAlignment )
        || optional->FileAlignment > optional->SectionAlignment)
        return "has sections that are packed in a way that leaves no room for another one";

    table = offset + offsetof( IMAGE_NT_HEADERS64, OptionalHeader )
            + pe->nt->FileHeader.SizeOfOptionalHeader;
    pe->section_count = pe->nt->FileHeader.NumberOfSections;
    pe->headers_end = table + pe->section_count * sizeof(*pe->sections);
    pe->headers_limit = pe->raw_end = optional->SizeOfHeaders;
    if (table % sizeof(DWORD) || offset < STUB || !pe->section_count
        || pe->nt->FileHeader.SizeOfOptionalHeader < sizeof(*optional)
        || pe->headers_end > optional->SizeOfHeaders)
        return not_sound;
    if (optional->SizeOfHeaders > pe->size) return cut_short;
    pe->sections = (const IMAGE_SECTION_HEADER *)(pe->data + table);
    return check_sections( pe );
}

/* Copy COUNT bytes at DELTA of a section; bytes that are not in the file are zero. */
static void fetch_section( const struct pe *pe, const IMAGE_SECTION_HEADER *section, DWORD delta,
                           BYTE *to, DWORD count )
{
    DWORD part = 0;

    if (delta < section->SizeOfRawData)
    {
        part = min( count, section->SizeOfRawData - delta );
        memcpy( to, pe->data + section->PointerToRawData + delta, part );
    }
    memset( to + part, 0, count - part );
}

BOOL pe_fetch( const struct pe *pe, DWORD rva, void *to, DWORD count )
{
    const IMAGE_SECTION_HEADER *section = pe->sections;
    DWORD i, size = pe->nt->OptionalHeader.SizeOfHeaders;

    if (rva < size)
    {
        if (count > size - rva) return FALSE;
        memcpy( to, pe->data + rva, count );
        return TRUE;
    }
    for (i = 0; i < pe->section_count; i++, section++)
    {
        size = virtual_size( section );
        if (rva < section->VirtualAddress || rva - section->VirtualAddress >= size) continue;
        rva -= section->VirtualAddress;
        if (count > size - rva) return FALSE;
        fetch_section( pe, section, rva, to, count );
        return TRUE;
    }
    return FALSE;
}

static BOOL fits( DWORD offset, DWORD size, DWORD limit )
{
    return offset <= limit && size <= limit - offset;
}

BOOL pe_has_our_section( const struct pe *pe )
{
    return !memcmp( pe->sections[pe->section_count - 1].Name, ".ums\0\0\0", 8 );
}

const struct pe_record *pe_find_record( const struct pe *pe )
{
    const IMAGE_SECTION_HEADER *section = &pe->sections[pe->section_count - 1];
    const struct pe_record *record = (const void *)(pe->data + section->PointerToRawData);

    if (!pe_has_our_section( pe ) || section->SizeOfRawData < sizeof(*record)
        || section->PointerToRawData % sizeof(ULONG64)
        || record->magic != PE_RECORD_MAGIC || record->version != PE_RECORD_VERSION
        || record->size > section->SizeOfRawData
        || !fits( record->headers, record->headers_size, record->size )
        || !fits( record->certificates, record->certificates_size, record->size )
        || !fits( record->insert_at, record->insert_size, pe->size )
        || record->tables > record->size)
        return NULL;
    return record;
}

/***********************************************************************
 * writing
 */

/* a new file while it is made */
struct writer
{
    const struct pe *pe;
    struct pe_record record;
    DWORD            section_at;        /* in the new file */
    DWORD            section_size;
    DWORD            certificates_size; /* removed from the file at ... */
    DWORD            certificates_at;
};

DWORD pe_new_rva( const struct pe *pe )
{
    const IMAGE_OPTIONAL_HEADER64 *optional = &pe->nt->OptionalHeader;

    return PE_ALIGN_UP( optional->SizeOfImage, optional->SectionAlignment )
           + PE_ALIGN_UP( sizeof(struct pe_record), 16 );
}

/* Certificates follow the sections; their directory entry holds an offset in the file, not an RVA. */
static const char *find_certificates( struct writer *writer )
{
    const struct pe *pe = writer->pe;
    const IMAGE_DATA_DIRECTORY *entry =
        &pe->nt->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_SECURITY];

    writer->certificates_at = pe->size;
    if (!entry->VirtualAddress || !entry->Size) return NULL;
    if (entry->VirtualAddress < pe->raw_end
        || !fits( entry->VirtualAddress, entry->Size, pe->size ))
        return "has a signature in a strange place";
    writer->certificates_at = entry->VirtualAddress;
    writer->certificates_size = entry->Size;
    return NULL;
}

/* The number of bytes after the sections, not counting symbols of mingw's linker: only debuggers use
 * those, and find them by the headers. */
static DWORD overlay_size( const struct writer *writer )
{
    const struct pe *pe = writer->pe;
    const IMAGE_FILE_HEADER *header = &pe->nt->FileHeader;
    DWORD size = pe->size - writer->certificates_size - pe->raw_end, strings;
    ULONG64 symbols = header->NumberOfSymbols * 18ull;

    if (header->PointerToSymbolTable != pe->raw_end || symbols + sizeof(strings) > size)
        return size;
    memcpy( &strings, pe->data + pe->raw_end + symbols, sizeof(strings) );
    return symbols + strings == size ? 0 : size;
}

static void plan_record( struct writer *writer, enum pe_kind kind,
                         const struct pe_request *request, size_t tables_size )
{
    const struct pe *pe = writer->pe;
    struct pe_record *record = &writer->record;

    record->magic = PE_RECORD_MAGIC;
    record->version = PE_RECORD_VERSION;
    record->kind = kind;
    record->flags = request->flags;
    memcpy( record->host, request->host, sizeof(record->host) );
    request->digest( pe->data, pe->size, record->original );
    record->tables = PE_ALIGN_UP( sizeof(*record), 16 );
    record->headers = PE_ALIGN_UP( record->tables + tables_size, 8 );
    record->headers_size = pe->headers_limit;
    record->certificates = PE_ALIGN_UP( record->headers + record->headers_size, 8 );
    record->certificates_size = writer->certificates_size;
    record->certificates_at = writer->certificates_at;
    record->size = record->certificates + record->certificates_size;
    record->overlay_size = overlay_size( writer );
    record->bound = pe->nt->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_BOUND_IMPORT]
                    .VirtualAddress != 0;

    writer->section_at = PE_ALIGN_UP( pe->raw_end, pe->nt->OptionalHeader.FileAlignment );
    writer->section_size = PE_ALIGN_UP( record->size, pe->nt->OptionalHeader.FileAlignment );
    record->insert_at = pe->raw_end;
    record->insert_size = writer->section_at + writer->section_size - pe->raw_end;
}

/* Is there room for one more section header after the others? Bound imports are often there. */
static BOOL has_room( const struct pe *pe )
{
    const IMAGE_DATA_DIRECTORY *bound =
        &pe->nt->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_BOUND_IMPORT];
    DWORD i;

    if (!fits( pe->headers_end, sizeof(*pe->sections), pe->headers_limit )) return FALSE;
    for (i = pe->headers_end; i < pe->headers_end + sizeof(*pe->sections); i++)
        if (pe->data[i] && (i < bound->VirtualAddress || i - bound->VirtualAddress >= bound->Size))
            return FALSE;
    return TRUE;
}

/* If there is no room, move the headers over the DOS program that prints "cannot be run in DOS mode". */
static const char *make_room( const struct pe *pe, BYTE *data )
{
    DWORD offset = (const BYTE *)pe->nt - pe->data;

    if (has_room( pe )) return NULL;
    if (offset - STUB < sizeof(*pe->sections))
        return "has no room for another section in its headers";
    memmove( data + STUB, pe->nt, pe->headers_end - offset );
    memset( data + STUB + pe->headers_end - offset, 0, offset - STUB );
    ((IMAGE_DOS_HEADER *)data)->e_lfanew = STUB;
    return NULL;
}

static void write_headers( const struct writer *writer, BYTE *data, DWORD index,
                           IMAGE_DATA_DIRECTORY entry )
{
    const struct pe *pe = writer->pe;
    IMAGE_NT_HEADERS64 *nt = (IMAGE_NT_HEADERS64 *)(data + ((IMAGE_DOS_HEADER *)data)->e_lfanew);
    IMAGE_OPTIONAL_HEADER64 *optional = &nt->OptionalHeader;
    IMAGE_SECTION_HEADER *section;
    static const IMAGE_DATA_DIRECTORY none;

    section = (IMAGE_SECTION_HEADER *)((BYTE *)optional + nt->FileHeader.SizeOfOptionalHeader)
              + nt->FileHeader.NumberOfSections++;
    memset( section, 0, sizeof(*section) );
    memcpy( section->Name, ".ums", 4 );
    section->Misc.VirtualSize = writer->record.size;
    section->VirtualAddress = PE_ALIGN_UP( optional->SizeOfImage, optional->SectionAlignment );
    section->SizeOfRawData = writer->section_size;
    section->PointerToRawData = writer->section_at;
    /* our import slots are in it, and no IAT directory makes the loader write to read-only pages */
    section->Characteristics = IMAGE_SCN_CNT_INITIALIZED_DATA | IMAGE_SCN_MEM_READ
                               | IMAGE_SCN_MEM_WRITE;

    optional->SizeOfImage = PE_ALIGN_UP( section->VirtualAddress + writer->record.size,
                                         optional->SectionAlignment );
    optional->SizeOfInitializedData += writer->section_size;
    if (nt->FileHeader.PointerToSymbolTable >= pe->raw_end)
        nt->FileHeader.PointerToSymbolTable += writer->record.insert_size;
    optional->DataDirectory[IMAGE_DIRECTORY_ENTRY_BOUND_IMPORT] = none;
    optional->DataDirectory[IMAGE_DIRECTORY_ENTRY_SECURITY] = none;
    optional->DataDirectory[index] = entry;
}

/* The checksum of 16-bit words that loaders check for drivers; only if the file had one. */
static void write_checksum( BYTE *data, size_t size )
{
    IMAGE_NT_HEADERS64 *nt = (IMAGE_NT_HEADERS64 *)(data + ((IMAGE_DOS_HEADER *)data)->e_lfanew);
    ULONG64 sum = 0;
    size_t i;

    if (!nt->OptionalHeader.CheckSum) return;
    nt->OptionalHeader.CheckSum = 0;
    for (i = 0; i < size; i++) sum += (ULONG64)data[i] << (i % 2 * 8);
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    nt->OptionalHeader.CheckSum = (DWORD)sum + (DWORD)size;
}

/* Write everything except the changes of the headers. */
static void write_body( const struct writer *writer, const struct pe_bytes *tables, BYTE *data )
{
    const struct pe *pe = writer->pe;
    const struct pe_record *record = &writer->record;
    BYTE *section = data + writer->section_at, *rest = section + writer->section_size;
    DWORD before = writer->certificates_at - pe->raw_end;
    DWORD behind = writer->certificates_at + writer->certificates_size;

    memcpy( data, pe->data, pe->raw_end );
    memcpy( section, record, sizeof(*record) );
    memcpy( section + record->tables, tables->data, tables->size );
    memcpy( section + record->headers, pe->data, record->headers_size );
    memcpy( section + record->certificates, pe->data + writer->certificates_at,
            writer->certificates_size );
    memcpy( rest, pe->data + pe->raw_end, before );
    memcpy( rest + before, pe->data + behind, pe->size - behind );
}

const char *pe_add_section( const struct pe *pe, enum pe_kind kind,
                            const struct pe_request *request, const struct pe_bytes *tables,
                            DWORD index, IMAGE_DATA_DIRECTORY entry, struct pe_bytes *out )
{
    struct writer writer = { .pe = pe };
    const char *error;
    size_t size;
    BYTE *data;

    if (pe->section_count > MAX_SECTIONS) return "has too many sections";
    if (pe->nt->OptionalHeader.NumberOfRvaAndSizes <= IMAGE_DIRECTORY_ENTRY_BOUND_IMPORT)
        return "has too short a list of data directories";
    if ((error = find_certificates( &writer ))) return error;
    plan_record( &writer, kind, request, tables->size );
    size = pe->size - writer.certificates_size + writer.record.insert_size;
    if (size > MAX_FILE) return "is too large";
    if (!(data = calloc( 1, size ))) return "is too large for the memory that is left";

    write_body( &writer, tables, data );
    if ((error = make_room( pe, data )))
    {
        free( data );
        return error;
    }
    write_headers( &writer, data, index, entry );
    write_checksum( data, size );
    out->data = data;
    out->size = size;
    return NULL;
}
