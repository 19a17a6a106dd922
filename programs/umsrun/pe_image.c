/*
 * Puts the shim into a program's own file, and removes it again. Windows has no counterpart. The tables
 * are those that umsrun writes into a process (import_table.c); here they are in a section of the file.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "import_table.h"
#include "pe_section.h"

static const char does_not_fit[] = "has an import table that is damaged or of an unknown kind";

struct file_table
{
    struct import_table table;
    const struct pe    *pe;
};

static BOOL fetch( struct import_table *table, DWORD rva, void *to, DWORD size )
{
    return pe_fetch( ((struct file_table *)table)->pe, rva, to, size );
}

/***********************************************************************
 * installing
 */
static const char *check_program( const struct pe *pe )
{
    const IMAGE_OPTIONAL_HEADER64 *optional = &pe->nt->OptionalHeader;

    if (pe_find_record( pe )) return "has the shim already; take it out first: umsrun --uninstall";
    if (pe_has_our_section( pe ))
        return "has the shim of another version of umsrun, or a damaged one; take it out with that version";
    if (optional->Subsystem != IMAGE_SUBSYSTEM_WINDOWS_GUI
        && optional->Subsystem != IMAGE_SUBSYSTEM_WINDOWS_CUI)
        return "is a driver or firmware, not a program";
    if (optional->DllCharacteristics & IMAGE_DLLCHARACTERISTICS_FORCE_INTEGRITY)
        return "runs with a valid signature only, and a change would break that; use umsrun "
               "without --install";
    return NULL;
}

static BOOL set_path( struct inject_dll *dll, const char *dir, const char *file )
{
    size_t len = strlen( dir );

    if (len + strlen( file ) >= INJECT_MAX_PATH) return FALSE;
    memcpy( dll->path, dir, len );
    memcpy( dll->path + len, file, strlen( file ) + 1 );
    return TRUE;
}

static const char *make_tables( struct file_table *file, const struct pe_request *request,
                                DWORD rva, struct pe_bytes *tables,
                                IMAGE_DATA_DIRECTORY *imports )
{
    struct inject_block *block;

    import_table_init( &file->table, file->pe->nt );
    if (!(tables->size = import_table_size( &file->table ))) return does_not_fit;
    if (!(tables->data = calloc( 1, tables->size ))) return "needs more memory than there is";
    block = (struct inject_block *)tables->data;
    if (!set_path( &block->dlls[0], request->dir, "ntdll_ums.dll" )
        || !set_path( &block->dlls[1], request->dir, "kernel32_ums.dll" ))
        return "cannot be told where the DLLs are: that path is too long";
    return import_table_write( &file->table, block, rva, tables->size, INJECT_REQUIRED, imports )
           ? NULL : does_not_fit;
}

static void set_report( const struct pe_record *record, struct pe_report *report )
{
    struct inject_dll dll;
    DWORD offset = record->tables + offsetof( struct inject_block, dlls[1] );
    char *slash;

    report->kind = record->kind;
    report->flags = record->flags;
    memcpy( report->host, record->host, sizeof(report->host) - 1 );
    memcpy( report->original, record->original, sizeof(report->original) );
    report->signature_size = record->certificates_size;
    report->overlay_size = record->overlay_size;
    report->section_size = record->insert_size;
    report->bound = record->bound != 0;
    if (report->kind != PE_PROGRAM || record->size < offset
        || record->size - offset < sizeof(dll))
        return;
    memcpy( &dll, (const BYTE *)record + offset, sizeof(dll) );
    dll.path[sizeof(dll.path) - 1] = 0;
    if (!(slash = strrchr( dll.path, '\\' ))) return;
    slash[1] = 0;
    memcpy( report->dir, dll.path, strlen( dll.path ) + 1 );
}

void pe_report_new( const struct pe_bytes *out, struct pe_report *report )
{
    struct pe pe;

    memset( report, 0, sizeof(*report) );
    if (!pe_parse( &pe, out )) set_report( pe_find_record( &pe ), report );
}

const char *pe_install( const struct pe_bytes *file, const struct pe_request *request,
                        struct pe_bytes *out, struct pe_report *report )
{
    struct pe pe;
    struct file_table table = { .table.fetch = fetch, .pe = &pe };
    struct pe_bytes tables = { 0 };
    IMAGE_DATA_DIRECTORY imports;
    const char *error;

    if ((error = inject_check_headers( file->data, file->size ))) return error;
    if ((error = pe_parse( &pe, file ))) return error;
    if ((error = check_program( &pe ))) return error;
    if (!(error = make_tables( &table, request, pe_new_rva( &pe ), &tables, &imports )))
        error = pe_add_section( &pe, PE_PROGRAM, request, &tables, IMAGE_DIRECTORY_ENTRY_IMPORT,
                                imports, out );
    free( tables.data );
    if (!error) pe_report_new( out, report );
    return error;
}

/***********************************************************************
 * removing
 */
static const struct pe_record *find_record( struct pe *pe, const struct pe_bytes *file )
{
    if (inject_check_image( file->data, file->size ) || pe_parse( pe, file )) return NULL;
    return pe_find_record( pe );
}

/* Copy FROM without our bytes, with the original headers and certificates. */
static BOOL rebuild( const struct pe_record *record, const struct pe_bytes *from,
                     struct pe_bytes *to )
{
    const BYTE *section = (const BYTE *)record;
    size_t rest = from->size - record->insert_size, at = record->certificates_at;
    size_t insert_end = (size_t)record->insert_at + record->insert_size, before;

    to->size = rest + record->certificates_size;
    if (at > rest || at < record->insert_at || record->headers_size > record->insert_at)
        return FALSE;
    if (!(to->data = malloc( to->size ))) return FALSE;

    before = at - record->insert_at;
    memcpy( to->data, from->data, record->insert_at );
    memcpy( to->data + record->insert_at, from->data + insert_end, before );
    memcpy( to->data + at, section + record->certificates, record->certificates_size );
    memcpy( to->data + at + record->certificates_size, from->data + insert_end + before,
            from->size - insert_end - before );
    memcpy( to->data, section + record->headers, record->headers_size );
    return TRUE;
}

const char *pe_restore( const struct pe_bytes *file, pe_digest_fn digest, struct pe_bytes *out )
{
    const struct pe_record *record;
    BYTE found[PE_DIGEST_SIZE];
    struct pe_bytes original = { 0 };
    struct pe pe;

    if (!(record = find_record( &pe, file ))) return "does not have the shim in it";
    if (rebuild( record, file, &original ))
    {
        digest( original.data, original.size, found );
        if (!memcmp( found, record->original, sizeof(found) ))
        {
            *out = original;
            return NULL;
        }
        free( original.data );
    }
    return "was changed after the shim was put into it, so the original cannot be restored from it";
}

void pe_look( const struct pe_bytes *file, pe_digest_fn digest, struct pe_report *report )
{
    const struct pe_record *record;
    struct pe_bytes original = { 0 };
    struct pe pe;

    memset( report, 0, sizeof(*report) );
    if (!(record = find_record( &pe, file ))) return;
    set_report( record, report );
    if (digest) report->changed = pe_restore( file, digest, &original ) != NULL;
    free( original.data );
}

/* Files are written from the start on. What begins with the headers of our file has a section for which it is too
 * short, or our section. What begins with those of ORIGINAL should be ORIGINAL: another version of a program has
 * another date in its headers. */
BOOL pe_is_unfinished( const struct pe_bytes *file, const struct pe_bytes *original )
{
    struct pe pe, of_original;
    DWORD size;

    if (inject_check_image( file->data, file->size ) || pe_parse( &pe, file ) || pe_has_our_section( &pe ))
        return TRUE;
    if (inject_check_image( original->data, original->size ) || pe_parse( &of_original, original ))
        return FALSE;
    size = of_original.nt->OptionalHeader.SizeOfHeaders;
    return file->size >= size && !memcmp( file->data, original->data, size )
           && (file->size != original->size || memcmp( file->data, original->data, file->size ));
}
