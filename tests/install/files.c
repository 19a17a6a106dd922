/*
 * What umsrun --install and --install-prefix make of files, without any Windows: small images of all
 * kinds go in, what comes out is looked at as a loader does, and must lead back byte for byte.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "import_table.h"
#include "pe_section.h"
#include "make_pe.h"

static const struct pe_request request = { .dir = "", .flags = PE_COPIED, .host = "8.0",
                                           .digest = make_digest };

/* the file with the shim; fails if that is refused */
static struct pe_bytes install( const struct pe_bytes *file, struct pe_report *report )
{
    struct pe_bytes out = { 0 };
    const char *error = pe_install( file, &request, &out, report );

    if (error) fail_msg( "refused: it %s", error );
    return out;
}

static void expect_refused( struct pe_bytes file, const char *words )
{
    struct pe_bytes out = { 0 };
    struct pe_report report;
    const char *error = pe_install( &file, &request, &out, &report );

    if (!error) fail_msg( "not refused, expected: %s", words );
    if (!strstr( error, words )) fail_msg( "refused: it %s; expected: %s", error, words );
    assert_null( out.data );
    free( file.data );
}

static void expect_restored( const struct pe_bytes *installed, const struct pe_bytes *file )
{
    struct pe_bytes out = { 0 };
    const char *error = pe_restore( installed, make_digest, &out );

    if (error) fail_msg( "not restored: it %s", error );
    assert_int_equal( out.size, file->size );
    assert_memory_equal( out.data, file->data, file->size );
    free( out.data );
}

static void read_image( const struct pe *pe, DWORD rva, void *to, DWORD size )
{
    if (!pe_fetch( pe, rva, to, size )) fail_msg( "nothing at RVA %#x", rva );
}

/***********************************************************************
 * programs
 */
struct table
{
    struct import_table table;
    const struct pe    *pe;
};


/* One descriptor: its DLL, its first name (NULL: ordinal 1), and the number of its names. */
static void expect_import( const struct pe *pe, DWORD index, const char *dll, const char *first,
                           int count )
{
    DWORD table = pe->nt->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_IMPORT].VirtualAddress;
    IMAGE_IMPORT_DESCRIPTOR descriptor;
    ULONG64 thunk, slot;
    char name[64];
    int i;

    read_image( pe, table + index * sizeof(descriptor), &descriptor, sizeof(descriptor) );
    read_image( pe, descriptor.Name, name, strlen( dll ) + 1 );
    assert_string_equal( name, dll );
    read_image( pe, descriptor.OriginalFirstThunk, &thunk, sizeof(thunk) );
    read_image( pe, descriptor.FirstThunk, &slot, sizeof(slot) );
    assert_int_equal( slot, thunk );            /* the slot that the program calls by */
    if (first)
    {
        read_image( pe, (DWORD)thunk + 2, name, strlen( first ) + 1 );
        assert_string_equal( name, first );
    }
    else assert_true( thunk == (IMAGE_ORDINAL_FLAG64 | 1) );
    for (i = 0; thunk; i++)
        read_image( pe, descriptor.OriginalFirstThunk + (i + 1) * sizeof(thunk), &thunk,
                    sizeof(thunk) );
    assert_int_equal( i, count );
}

static BOOL fetch( struct import_table *table, DWORD rva, void *to, DWORD size )
{
    return pe_fetch( ((struct table *)table)->pe, rva, to, size );
}

/* what the launcher does with such a program */
static void expect_own_block_passed_over( const struct pe *pe, IMAGE_DATA_DIRECTORY original )
{
    struct table table = { .table.fetch = fetch, .pe = pe };

    import_table_init( &table.table, pe->nt );
    assert_int_equal( table.table.imports.VirtualAddress, original.VirtualAddress );
    assert_int_equal( table.table.imports.Size, original.Size );
}

static void imports( void **state )
{
    struct pe_bytes file = make_pe( 0 ), out;
    IMAGE_IMPORT_DESCRIPTOR last;
    struct inject_block block;
    struct pe_report report;
    struct pe pe;
    DWORD table;

    (void)state;
    out = install( &file, &report );
    assert_null( pe_parse( &pe, &out ) );
    table = pe.nt->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_IMPORT].VirtualAddress;
    expect_import( &pe, 0, "ntdll_ums.dll", NULL, 1 );
    expect_import( &pe, 1, "kernel32_ums.dll", NULL, 1 );
    expect_import( &pe, 2, MAKE_NAME, "CreateFileW", 1 );
    expect_import( &pe, 3, "kernel32_ums.dll", "ExecuteUmsThread", 2 );
    expect_import( &pe, 4, MAKE_NAME, "Sleep", 1 );
    expect_import( &pe, 5, "ntdll.dll", "NtClose", 1 );
    expect_import( &pe, 6, "ntdll_ums.dll", "RtlExecuteUmsThread", 1 );
    expect_import( &pe, 7, "USER32.dll", "MessageBoxW", 1 );
    read_image( &pe, table + 8 * sizeof(last), &last, sizeof(last) );
    assert_int_equal( last.Name, 0 );

    /* where inject_find_block looks: right in front of the table, in the same page */
    assert_true( table % 0x1000 >= sizeof(block) );
    read_image( &pe, table - sizeof(block), &block, sizeof(block) );
    assert_int_equal( block.magic, INJECT_MAGIC );
    assert_int_equal( block.imports.VirtualAddress,
                      make_nt( &file )->OptionalHeader.DataDirectory[1].VirtualAddress );
    expect_own_block_passed_over( &pe, block.imports );
    expect_restored( &out, &file );
    free( file.data );
    free( out.data );
}

/* every kind of file, alone and with the others: sound headers, all bytes there, and back again */
static void kinds( void **state )
{
    struct pe_bytes file, out;
    struct pe_report report;
    unsigned int flags;
    struct pe pe;

    (void)state;
    for (flags = 0; flags < 0x100; flags++)
    {
        if (flags & MAKE_NO_STUB) continue;
        if ((flags & MAKE_NO_ROOM) && (flags & MAKE_BOUND)) continue;
        file = make_pe( flags );
        out = install( &file, &report );
        assert_null( pe_parse( &pe, &out ) );
        assert_int_equal( pe.section_count, 3 );
        /* import slots lie in it */
        assert_int_equal( pe.sections[2].Characteristics, 0xc0000040 );
        assert_int_equal( report.kind, PE_PROGRAM );
        assert_int_equal( report.flags, PE_COPIED );
        assert_int_equal( report.bound, !!(flags & MAKE_BOUND) );
        /* its time stamps are of the DLLs that it imported from before */
        assert_int_equal( pe.nt->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_BOUND_IMPORT].VirtualAddress, 0 );
        assert_int_equal( pe.nt->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_BOUND_IMPORT].Size, 0 );
        assert_int_equal( report.signature_size, flags & MAKE_SIGNATURE ? 200 : 0 );
        expect_restored( &out, &file );
        free( file.data );
        free( out.data );
    }
}

/* What follows the sections is still at the end, and right behind the last section. */
static void overlay( void **state )
{
    struct pe_bytes file = make_pe( MAKE_OVERLAY | MAKE_SIGNATURE ), out;
    struct pe_report report;
    struct pe pe;

    (void)state;
    out = install( &file, &report );
    assert_null( pe_parse( &pe, &out ) );
    assert_int_equal( report.overlay_size, 100 );
    assert_int_equal( out.size, pe.raw_end + 100 );
    assert_memory_equal( out.data + pe.raw_end, file.data + 0xa00, 100 );
    assert_int_equal( out.size, file.size - 200 + report.section_size );
    assert_int_equal( pe.nt->OptionalHeader.DataDirectory[4].VirtualAddress, 0 );
    free( file.data );
    free( out.data );
}

static void symbols( void **state )
{
    struct pe_bytes file = make_pe( MAKE_SYMBOLS ), out;
    struct pe_report report;

    (void)state;
    out = install( &file, &report );
    assert_int_equal( report.overlay_size, 0 );
    assert_memory_equal( out.data + make_nt( &out )->FileHeader.PointerToSymbolTable,
                         file.data + 0xa00, 22 );
    free( file.data );
    free( out.data );
}

/* The sum as imagehlp makes it: all 16-bit words, the carry added, and the size. */
static void checksum( void **state )
{
    struct pe_bytes file = make_pe( MAKE_CHECKSUM ), out;
    struct pe_report report;
    DWORD want, sum = 0;
    size_t i;

    (void)state;
    out = install( &file, &report );
    want = make_nt( &out )->OptionalHeader.CheckSum;
    make_nt( &out )->OptionalHeader.CheckSum = 0;
    for (i = 0; i < out.size; i += 2)
    {
        sum += out.data[i] + (out.data[i + 1] << 8);
        sum = (sum & 0xffff) + (sum >> 16);
    }
    assert_int_equal( want, sum + out.size );
    free( file.data );
    free( out.data );
    file = make_pe( 0 );
    out = install( &file, &report );
    assert_int_equal( make_nt( &out )->OptionalHeader.CheckSum, 0 );
    free( file.data );
    free( out.data );
}

static void no_room( void **state )
{
    struct pe_bytes file = make_pe( MAKE_NO_ROOM ), out;
    struct pe_report report;

    (void)state;
    out = install( &file, &report );
    assert_int_equal( ((IMAGE_DOS_HEADER *)out.data)->e_lfanew, 0x40 );
    free( file.data );
    free( out.data );
    expect_refused( make_pe( MAKE_NO_STUB ), "no room" );
}

/* the file is made with FLAGS, then one thing is changed */
#define REFUSED( flags, change, words ) do { \
        struct pe_bytes file = make_pe( flags ); \
        IMAGE_NT_HEADERS64 *nt = make_nt( &file ); \
        IMAGE_SECTION_HEADER *section = make_sections( &file ); \
        (void)nt; (void)section; \
        change; \
        expect_refused( file, words ); \
    } while (0)

static void refusals( void **state )
{
    (void)state;
    REFUSED( 0, nt->FileHeader.Machine = IMAGE_FILE_MACHINE_I386, "32-bit" );
    REFUSED( 0, nt->FileHeader.Machine = IMAGE_FILE_MACHINE_ARM64, "Arm64" );
    REFUSED( 0, nt->OptionalHeader.DataDirectory[14].VirtualAddress = 0x2000, ".NET" );
    REFUSED( MAKE_DLL, , "is a DLL" );
    REFUSED( 0, nt->OptionalHeader.Subsystem = 1, "driver" );
    REFUSED( 0, nt->OptionalHeader.DllCharacteristics = 0x80, "signature" );
    REFUSED( 0, nt->OptionalHeader.SectionAlignment = 0x20, "packed" );
    REFUSED( 0, nt->OptionalHeader.SizeOfImage = 0x9000, "damaged headers" );
    REFUSED( 0, nt->FileHeader.NumberOfSections = 0, "damaged headers" );
    REFUSED( 0, nt->FileHeader.NumberOfSections = 0xffff, "damaged headers" );
    REFUSED( 0, section[1].VirtualAddress = 0x5000, "damaged headers" );
    REFUSED( 0, (section[1].Misc.VirtualSize = 0x90000000,
                 nt->OptionalHeader.SizeOfImage = 0x90002000), "damaged headers" );
    REFUSED( 0, section[1].SizeOfRawData = 0x10000, "not complete" );
    REFUSED( 0, section[1].PointerToRawData = 0x7ffffe00, "not complete" );
    REFUSED( 0, file.size -= 1, "not complete" );
    REFUSED( 0, file.size = 0x300, "not complete" );
    REFUSED( 0, file.size = 0x90, "not a Windows program" );
    REFUSED( 0, nt->OptionalHeader.DataDirectory[1].VirtualAddress = 0x2fff, "import table" );
    REFUSED( 0, nt->OptionalHeader.DataDirectory[1].VirtualAddress = 0xfffff000, "import table" );
    REFUSED( MAKE_SIGNATURE, nt->OptionalHeader.DataDirectory[4].VirtualAddress = 0x10, "strange" );
    REFUSED( MAKE_SIGNATURE, nt->OptionalHeader.DataDirectory[4].Size = 0xfffffff0, "strange" );
}

static void twice( void **state )
{
    struct pe_bytes file = make_pe( 0 ), out;
    struct pe_report report;

    (void)state;
    out = install( &file, &report );
    free( file.data );
    expect_refused( out, "already" );
}

/* Whatever is changed afterwards is noticed; what is outside the file is not believed. */
static void changed( void **state )
{
    struct pe_bytes file = make_pe( MAKE_OVERLAY ), out, original = { 0 };
    struct pe_report report;
    size_t i;

    (void)state;
    out = install( &file, &report );
    for (i = 0; i < out.size; i++)
    {
        out.data[i] ^= 0x55;
        if (pe_restore( &out, make_digest, &original )) goto next;
        /* the tables, the padding, headers that are kept elsewhere: of no account */
        assert_memory_equal( original.data, file.data, file.size );
        free( original.data );
    next:
        out.data[i] ^= 0x55;
    }
    out.data[0x400] ^= 1;
    pe_look( &out, make_digest, &report );
    assert_int_equal( report.kind, PE_PROGRAM );
    assert_true( report.changed );
    free( file.data );
    free( out.data );
}

/* HEAD bytes of FIRST, the rest of SECOND: a write that was interrupted */
static BOOL is_unfinished( const struct pe_bytes *first, size_t head, const struct pe_bytes *second,
                           const struct pe_bytes *original )
{
    struct pe_bytes file = { malloc( max( head, second->size ) ), max( head, second->size ) };
    BOOL ret;

    memcpy( file.data, second->data, second->size );
    memcpy( file.data, first->data, head );
    ret = pe_is_unfinished( &file, original );
    free( file.data );
    return ret;
}

static void unfinished( void **state )
{
    struct pe_bytes file = make_pe( MAKE_OVERLAY ), other = make_pe( MAKE_OVERLAY ), out;
    struct pe_bytes none = { (BYTE *)"", 0 };
    struct pe_report report;
    size_t head;

    (void)state;
    out = install( &file, &report );
    for (head = 0x200; head < out.size; head += 0x100)
        assert_true( is_unfinished( &out, head, &file, &file ) );
    for (head = 0x200; head < file.size; head += 0x100)
        assert_true( is_unfinished( &file, head, &out, &file ) );
    assert_true( is_unfinished( &out, out.size, &none, &file ) );
    assert_true( is_unfinished( &file, 0x300, &none, &file ) );
    assert_false( is_unfinished( &file, file.size, &none, &file ) );
    ((IMAGE_NT_HEADERS64 *)(other.data + ((IMAGE_DOS_HEADER *)other.data)->e_lfanew))->FileHeader.TimeDateStamp ^= 1;
    assert_false( is_unfinished( &other, other.size, &none, &file ) );
    other.data[other.size - 1] ^= 1;
    assert_false( is_unfinished( &other, other.size, &none, &file ) );
    free( file.data );
    free( other.data );
    free( out.data );
}

/* The record of a version to come is not one of ours, and no second shim is put on top. */
static void another_version( void **state )
{
    struct pe_bytes file = make_pe( 0 ), out;
    struct pe_report report;
    struct pe pe;

    (void)state;
    out = install( &file, &report );
    free( file.data );
    assert_null( pe_parse( &pe, &out ) );
    ((struct pe_record *)pe_find_record( &pe ))->version++;
    pe_look( &out, make_digest, &report );
    assert_int_equal( report.kind, PE_PLAIN );
    expect_refused( out, "another version" );
}

/***********************************************************************
 * Wine's kernel32
 */
static void expect_export( const struct pe *pe, DWORD index, const char *name, DWORD *function )
{
    IMAGE_DATA_DIRECTORY entry = pe->nt->OptionalHeader.DataDirectory[0];
    IMAGE_EXPORT_DIRECTORY directory;
    char found[64];
    WORD ordinal;
    DWORD rva;

    read_image( pe, entry.VirtualAddress, &directory, sizeof(directory) );
    read_image( pe, directory.AddressOfNames + index * 4, &rva, 4 );
    read_image( pe, rva, found, strlen( name ) + 1 );
    assert_string_equal( found, name );
    read_image( pe, directory.AddressOfNameOrdinals + index * 2, &ordinal, 2 );
    read_image( pe, directory.AddressOfFunctions + ordinal * 4, function, 4 );
}

/* forwarders count as such only within the directory */
static void expect_forwarder( const struct pe *pe, DWORD index, const char *name,
                              const char *where )
{
    IMAGE_DATA_DIRECTORY entry = pe->nt->OptionalHeader.DataDirectory[0];
    char text[64];
    DWORD rva;

    expect_export( pe, index, name, &rva );
    assert_true( rva >= entry.VirtualAddress && rva < entry.VirtualAddress + entry.Size );
    read_image( pe, rva, text, strlen( where ) + 1 );
    assert_string_equal( text, where );
}

static void forward( void **state )
{
    struct pe_bytes file = make_pe( MAKE_DLL ), out = { 0 };
    struct pe_report report;
    static const char *const names[] =
        { "CreateUmsCompletionList", "CreateUmsThreadContext", "DeleteUmsCompletionList",
          "DeleteUmsThreadContext", "DequeueUmsCompletionListItems", "EnterUmsSchedulingMode",
          "ExecuteUmsThread", "GetCurrentUmsThread", "GetNextUmsListItem",
          "GetUmsCompletionListEvent", "GetUmsSystemThreadInformation" };
    struct pe pe;
    char text[64];
    DWORD rva, i;

    (void)state;
    assert_null( pe_forward( &file, &request, &out, &report ) );
    assert_int_equal( report.kind, PE_KERNEL32 );
    assert_string_equal( report.host, "8.0" );
    assert_int_equal( out.data[0x40], 0 );
    assert_null( pe_parse( &pe, &out ) );
    for (i = 0; i < ARRAYSIZE(names); i++)              /* sorted, with what it did not have */
    {
        strcpy( text, "KERNEL32_UMS." );
        strcat( text, names[i] );
        expect_forwarder( &pe, i, names[i], text );
    }
    expect_forwarder( &pe, 11, "HeapAlloc", "NTDLL.RtlAllocateHeap" );
    expect_forwarder( &pe, 12, "QueryUmsThreadInformation",
                      "KERNEL32_UMS.QueryUmsThreadInformation" );
    expect_forwarder( &pe, 15, "UmsThreadYield", "KERNEL32_UMS.UmsThreadYield" );
    expect_export( &pe, 14, "Sleep", &rva );
    assert_int_equal( rva, MAKE_TEXT_RVA + 3 );
    expect_restored( &out, &file );
    free( file.data );
    free( out.data );
}

static void forward_refused( void **state )
{
    struct pe_bytes file = make_pe( MAKE_DLL ), out = { 0 };
    IMAGE_EXPORT_DIRECTORY *directory;
    struct pe_report report;

    (void)state;
    file.data[0x40] = 'X';
    assert_non_null( pe_forward( &file, &request, &out, &report ) );
    file.data[0x40] = 'W';
    /* more functions than there are, in the headers */
    directory = (IMAGE_EXPORT_DIRECTORY *)(file.data + 0x600 - MAKE_DATA_RVA
                + make_nt( &file )->OptionalHeader.DataDirectory[0].VirtualAddress);
    directory->AddressOfFunctions = 0x200;
    directory->NumberOfFunctions = 0x8000;
    assert_non_null( pe_forward( &file, &request, &out, &report ) );
    make_nt( &file )->OptionalHeader.DataDirectory[0].VirtualAddress = 0;
    assert_non_null( pe_forward( &file, &request, &out, &report ) );
    free( file.data );
}

int main( void )
{
    static const struct CMUnitTest tests[] =
    {
        cmocka_unit_test( imports ),
        cmocka_unit_test( kinds ),
        cmocka_unit_test( overlay ),
        cmocka_unit_test( symbols ),
        cmocka_unit_test( checksum ),
        cmocka_unit_test( no_room ),
        cmocka_unit_test( refusals ),
        cmocka_unit_test( twice ),
        cmocka_unit_test( changed ),
        cmocka_unit_test( unfinished ),
        cmocka_unit_test( another_version ),
        cmocka_unit_test( forward ),
        cmocka_unit_test( forward_refused ),
    };

    return cmocka_run_group_tests( tests, NULL, NULL );
}
