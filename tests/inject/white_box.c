/*
 * The redirection's parts by themselves: the new export table over a made-up module, the
 * transaction with a word that cannot be written, a process whose import table does not fit:
 * nothing is changed then; and whether the environment is trusted.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <windows.h>
#include <string.h>

#include "private/inject.h"
#include "export_table.h"
#include "patch.h"
#include "host/rights.h"
#include "test.h"

#define PAGE 0x1000

/* A module of one page. Exports, by ordinal from 5 on: Alpha, a gap, Charlie (forwarded), Echo. */
struct fake_module
{
    IMAGE_DOS_HEADER       dos;
    IMAGE_NT_HEADERS64     nt;
    IMAGE_EXPORT_DIRECTORY directory;
    DWORD                  functions[4];
    DWORD                  names[3];
    WORD                   ordinals[3];
    char                   strings[64];         /* the directory's range ends here */
    BYTE                   code[64];
};

static DWORD add_text( struct fake_module *module, DWORD *used, const char *text )
{
    DWORD at = *used;

    strcpy( module->strings + at, text );
    *used += strlen( text ) + 1;
    return offsetof( struct fake_module, strings ) + at;
}

static void make_module( struct fake_module *module )
{
    IMAGE_DATA_DIRECTORY *entry = module->nt.OptionalHeader.DataDirectory;
    IMAGE_EXPORT_DIRECTORY *directory = &module->directory;
    DWORD used = 0;

    module->dos.e_lfanew = offsetof( struct fake_module, nt );
    entry->VirtualAddress = offsetof( struct fake_module, directory );
    entry->Size = offsetof( struct fake_module, code ) - entry->VirtualAddress;
    directory->Name = add_text( module, &used, "fake.dll" );
    directory->Base = 5;
    directory->NumberOfFunctions = 4;
    directory->NumberOfNames = 3;
    directory->AddressOfFunctions = offsetof( struct fake_module, functions );
    directory->AddressOfNames = offsetof( struct fake_module, names );
    directory->AddressOfNameOrdinals = offsetof( struct fake_module, ordinals );
    module->names[0] = add_text( module, &used, "Alpha" );
    module->names[1] = add_text( module, &used, "Charlie" );
    module->names[2] = add_text( module, &used, "Echo" );
    module->ordinals[1] = 2;
    module->ordinals[2] = 3;
    module->functions[0] = offsetof( struct fake_module, code );
    module->functions[2] = add_text( module, &used, "OTHER.Charlie" );
    module->functions[3] = offsetof( struct fake_module, code ) + 16;
}

static const char *table_name( const BYTE *base, const IMAGE_EXPORT_DIRECTORY *table, DWORD i )
{
    return (const char *)base + ((const DWORD *)(base + table->AddressOfNames))[i];
}

static void check_table( const BYTE *base, IMAGE_DATA_DIRECTORY entry )
{
    static const char *const names[] = { "Aardvark", "Alpha", "Bravo", "Charlie", "Echo", "Zulu" };
    static const WORD ordinals[] = { 6, 0, 5, 2, 3, 4 };   /* new ones as they come */
    const IMAGE_EXPORT_DIRECTORY *table = (const void *)(base + entry.VirtualAddress);
    const WORD *got = (const WORD *)(base + table->AddressOfNameOrdinals);
    const DWORD *functions = (const DWORD *)(base + table->AddressOfFunctions);
    DWORD i;

    ok( table->Base == 5, "base %lu", table->Base );
    ok( table->NumberOfFunctions == 7, "%lu functions", table->NumberOfFunctions );
    ok( table->NumberOfNames == 6, "%lu names", table->NumberOfNames );
    for (i = 0; i < 6; i++)
    {
        ok( !strcmp( table_name( base, table, i ), names[i] ), "%lu: %s, expected %s", i,
            table_name( base, table, i ), names[i] );
        ok( got[i] == ordinals[i], "%s: ordinal %u, expected %u", names[i], got[i], ordinals[i] );
    }
    ok( functions[0] == offsetof( struct fake_module, code ), "Alpha has moved" );
    ok( !functions[1], "the gap is filled" );
    ok( functions[2] - entry.VirtualAddress < entry.Size,
        "the forwarder is outside the directory" );
    ok( !strcmp( (const char *)base + functions[2], "OTHER.Charlie" ), "the forwarder is %s",
        base + functions[2] );
}

static void test_export_table(void)
{
    BYTE *base = VirtualAlloc( NULL, 16 * PAGE, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE );
    struct fake_module *module = (struct fake_module *)base, *copy;
    struct export_name names[] = { { "Zulu", base + 0x900 }, { "Echo", NULL },
                                   { "Bravo", base + 0x910 }, { "Aardvark", base + 0x920 } };
    IMAGE_DATA_DIRECTORY entry;
    size_t size, code_size;
    BYTE *mem = base + 2 * PAGE, *island, *far_away;

    make_module( module );
    copy = HeapAlloc( GetProcessHeap(), 0, PAGE );
    memcpy( copy, module, PAGE );
    far_away = base - 0x10000;                      /* below: out of an RVA's reach */
    names[1].target = far_away;

    size = export_table_size( base, names, ARRAYSIZE(names) );
    ok( size && size < 14 * PAGE, "size %u", (unsigned int)size );
    memset( mem + size, 0xcc, 16 );
    entry = export_table_build( base, mem, names, ARRAYSIZE(names), &code_size );
    ok( entry.Size != 0, "not built" );
    ok( !memcmp( copy, module, PAGE ), "the module was changed" );
    ok( mem[size] == 0xcc, "written behind the end" );
    ok( base + entry.VirtualAddress + entry.Size <= mem + size, "the directory is too long" );
    ok( code_size == PAGE && entry.VirtualAddress == 3 * PAGE, "islands are in the directory" );
    check_table( base, entry );

    ok( export_find( base, "Echo" ) == base + module->functions[3], "the old table is gone" );
    ok( export_table_find( base, entry, "Bravo" ) == base + 0x910, "Bravo is wrong" );
    ok( !export_table_find( base, entry, "Delta" ), "Delta was found" );
    island = export_table_find( base, entry, "Echo" );
    ok( island == mem && !memcmp( island, "\xff\x25\0\0\0\0", 6 )
        && !memcmp( island + 6, &far_away, 8 ),
        "Echo has no island" );

    module->directory.NumberOfFunctions = 0xffff;
    ok( !export_table_size( base, names, ARRAYSIZE(names) ), "too many ordinals were accepted" );
    HeapFree( GetProcessHeap(), 0, copy );
    VirtualFree( base, 0, MEM_RELEASE );
}

/* five words in two read-only pages; the FAIL-th, if there is one, lies where nothing can be
 * written */
static void check_patch( int fail )
{
    BYTE *base = VirtualAlloc( NULL, 3 * PAGE, MEM_RESERVE, PAGE_NOACCESS );
    struct patch patch = { 0 };
    ULONG64 *words[5];
    DWORD i, old;
    BOOL ret;

    VirtualAlloc( base, 2 * PAGE, MEM_COMMIT, PAGE_READWRITE );
    for (i = 0; i < ARRAYSIZE(words); i++)
    {
        words[i] = (ULONG64 *)(base + i * (PAGE / 2 - 100));
        *words[i] = i;
        ok( patch_add( &patch, (int)i == fail ? base + 2 * PAGE : (BYTE *)words[i], 100 + i ),
            "no room" );
    }
    VirtualProtect( base, 2 * PAGE, PAGE_READONLY, &old );

    ret = patch_apply( &patch );
    ok( ret == (fail < 0), "fail %d: %d", fail, ret );
    for (i = 0; i < ARRAYSIZE(words); i++)
        ok( *words[i] == (ret ? 100 + i : i), "fail %d: word %lu is %lu", fail, i,
            (DWORD)*words[i] );
    if (ret) patch_undo( &patch );
    for (i = 0; i < ARRAYSIZE(words); i++)
        ok( *words[i] == i, "undone: word %lu is %lu", i, (DWORD)*words[i] );
    ok( VirtualProtect( base, 2 * PAGE, PAGE_READONLY, &old ) && old == PAGE_READONLY,
        "left with protection %lx", old );

    patch_free( &patch );
    VirtualFree( base, 0, MEM_RELEASE );
}

static void test_patch(void)
{
    struct patch patch = { 0 };
    ULONG64 word = 0;
    int i;

    for (i = -1; i < 5; i++) check_patch( i );
    for (i = 0; i < 2000; i++) ok( patch_add( &patch, &word, i ), "no room for word %d", i );
    ok( patch_apply( &patch ) && word == 1999, "word %lu", (DWORD)word );
    patch_undo( &patch );
    ok( !word, "undone: word %lu", (DWORD)word );
    patch_free( &patch );
}

/* patch.c's VirtualProtect comes here: other threads may run in a page of code at any time, so it
 * must never be anything that is not executable. (Wine may let them run there all the same.) */
static BYTE *code_page;
static DWORD taken_away;

static BOOL WINAPI watched_protect( void *at, SIZE_T size, DWORD protect, DWORD *old )
{
    static BOOL (WINAPI *real)( void *, SIZE_T, DWORD, DWORD * );

    if (!real) real = (void *)GetProcAddress( GetModuleHandleW( L"kernel32.dll" ), "VirtualProtect" );
    if (code_page && (BYTE *)at - code_page < PAGE && !(protect & 0xf0)) taken_away = protect;
    return real( at, size, protect, old );
}

/* what the linker would take from the import library */
BOOL (WINAPI *__imp_VirtualProtect)( void *, SIZE_T, DWORD, DWORD * ) = watched_protect;

static void check_code_page( DWORD protect )
{
    struct patch patch = { 0 };
    DWORD old;

    code_page = VirtualAlloc( NULL, PAGE, MEM_RESERVE | MEM_COMMIT, protect );
    taken_away = 0;
    ok( patch_add( &patch, code_page + 64, 1 ), "no room" );
    ok( patch_apply( &patch ) && code_page[64] == 1, "%lx: not written", protect );
    patch_undo( &patch );
    ok( !taken_away, "%lx: a page of code had protection %lx", protect, taken_away );
    ok( VirtualProtect( code_page, PAGE, PAGE_EXECUTE_READ, &old ) && old == protect,
        "%lx: left with protection %lx", protect, old );
    patch_free( &patch );
    VirtualFree( code_page, 0, MEM_RELEASE );
    code_page = NULL;
}

/* A thread runs in the page meanwhile. A fetch from a page that is not executable would be an access
 * violation there; it is counted, and tried again. */
static volatile LONG stop_running, runs, faults;

static LONG WINAPI count_fault( EXCEPTION_POINTERS *e )
{
    if ((BYTE *)e->ExceptionRecord->ExceptionAddress - code_page >= PAGE) return EXCEPTION_CONTINUE_SEARCH;
    faults++;
    return EXCEPTION_CONTINUE_EXECUTION;
}

static DWORD WINAPI run_in_page( void *unused )
{
    int (*next)( int );

    memcpy( &next, &code_page, sizeof(next) );
    while (!stop_running) runs = next( runs );
    return (DWORD)(ULONG_PTR)unused;
}

static void check_running_page( void )
{
    static const BYTE code[] = { 0x8d, 0x41, 0x01, 0xc3 };     /* lea 1(%rcx),%eax; ret */
    void *handler = AddVectoredExceptionHandler( 1, count_fault );
    struct patch patch = { 0 };
    HANDLE thread;
    DWORD old;
    int i;

    code_page = VirtualAlloc( NULL, PAGE, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE );
    memcpy( code_page, code, sizeof(code) );
    ok( VirtualProtect( code_page, PAGE, PAGE_EXECUTE_READ, &old ), "error %lu", GetLastError() );
    thread = CreateThread( NULL, 0, run_in_page, NULL, 0, NULL );
    while (!runs) SwitchToThread();
    ok( patch_add( &patch, code_page + 64, 1 ), "no room" );
    for (i = 0; i < 2000 && !faults; i++)
    {
        ok( patch_apply( &patch ), "not written" );
        patch_undo( &patch );
    }
    stop_running = 1;
    WaitForSingleObject( thread, INFINITE );
    ok( !faults, "%ld faults of a thread in the page, after %d writes", faults, i );
    CloseHandle( thread );
    patch_free( &patch );
    RemoveVectoredExceptionHandler( handler );
    VirtualFree( code_page, 0, MEM_RELEASE );
    code_page = NULL;
}

/* pages that the process has above its image, within an RVA's reach */
static SIZE_T committed_above( HANDLE process, BYTE *base )
{
    MEMORY_BASIC_INFORMATION info;
    BYTE *at = base;
    SIZE_T ret = 0;

    while (at < base + 0x10000000 && VirtualQueryEx( process, at, &info, sizeof(info) ))
    {
        if (info.State == MEM_COMMIT) ret += info.RegionSize;
        at = (BYTE *)info.BaseAddress + info.RegionSize;
    }
    return ret;
}

/* this program once more, with the RVA of its import table replaced; it never runs */
static void check_damaged( DWORD imports, const char *want )
{
    BYTE *base = (BYTE *)GetModuleHandleW( NULL );  /* not relocated: the child's too */
    DWORD *entry = (DWORD *)(export_directory_entry( base ) + IMAGE_DIRECTORY_ENTRY_IMPORT), old;
    STARTUPINFOW startup = { .cb = sizeof(startup) };
    WCHAR program[MAX_PATH];
    PROCESS_INFORMATION info;
    BYTE before[PAGE], after[PAGE];
    const char *error;
    SIZE_T memory;

    GetModuleFileNameW( NULL, program, MAX_PATH );
    ok( CreateProcessW( program, NULL, NULL, NULL, FALSE, CREATE_SUSPENDED, NULL, NULL, &startup,
                        &info ),
        "no process: error %lu", GetLastError() );
    ok( VirtualProtectEx( info.hProcess, entry, 8, PAGE_READWRITE, &old ), "error %lu",
        GetLastError() );
    ok( WriteProcessMemory( info.hProcess, entry, &imports, sizeof(imports), NULL ), "error %lu",
        GetLastError() );
    VirtualProtectEx( info.hProcess, entry, 8, old, &old );
    ok( ReadProcessMemory( info.hProcess, base, before, PAGE, NULL ), "error %lu", GetLastError() );
    memory = committed_above( info.hProcess, base );

    error = inject_process( info.hProcess, L"C:\\nowhere\\", 0 );
    ok( !error == !want && (!error || strstr( error, want )), "import table at %lx: %s", imports,
        error );
    ok( ReadProcessMemory( info.hProcess, base, after, PAGE, NULL ), "error %lu", GetLastError() );
    ok( !memcmp( before, after, PAGE ) == !!want, "import table at %lx: headers are%s changed",
        imports, want ? "" : " not" );
    ok( (memory == committed_above( info.hProcess, base )) == !!want, "import table at %lx: memory",
        imports );
    TerminateProcess( info.hProcess, 0 );
    WaitForSingleObject( info.hProcess, INFINITE );
    CloseHandle( info.hThread );
    CloseHandle( info.hProcess );
}

static void test_inject(void)
{
    const IMAGE_DATA_DIRECTORY *entries = export_directory_entry( GetModuleHandleW( NULL ) );
    DWORD imports = entries[IMAGE_DIRECTORY_ENTRY_IMPORT].VirtualAddress, i;
    WCHAR dir[MAX_PATH];

    check_damaged( imports, NULL );
    check_damaged( 0, NULL );               /* a program that imports nothing is not damaged */
    check_damaged( 0x7fffffff, "damaged" );
    check_damaged( imports + 1, "damaged" );
    for (i = 0; i < ARRAYSIZE(dir) - 1; i++) dir[i] = 'x';
    dir[i] = 0;
    ok( inject_process( GetCurrentProcess(), dir, 0 ) != NULL,
        "a path of %lu characters was accepted", i );
    ok( inject_find_block( GetModuleHandleW( NULL ) ) == NULL, "this program has a block" );
}

/* Right behind the image a parent may want to put something of its own. */
static void test_alloc_above( void )
{
    BYTE *base = (BYTE *)GetModuleHandleW( NULL ), *block = inject_alloc_above( GetCurrentProcess(), base, PAGE, PAGE );

    ok( block && block - base > 0x1000000 && block - base < 0xffff0000, "the block is at %p, the image at %p", block, base );
    VirtualFree( block, 0, MEM_RELEASE );
}

/* Headers of a program with so many directories; what follows them is something else. */
static const char *check_directories( DWORD count )
{
    struct { IMAGE_DOS_HEADER dos; IMAGE_NT_HEADERS64 nt; } headers;

    memset( &headers, 0, sizeof(headers) );
    headers.dos.e_magic = IMAGE_DOS_SIGNATURE;
    headers.dos.e_lfanew = offsetof( typeof(headers), nt );
    headers.nt.Signature = IMAGE_NT_SIGNATURE;
    headers.nt.FileHeader.Machine = IMAGE_FILE_MACHINE_AMD64;
    headers.nt.OptionalHeader.Magic = IMAGE_NT_OPTIONAL_HDR64_MAGIC;
    headers.nt.OptionalHeader.NumberOfRvaAndSizes = count;
    memset( &headers.nt.OptionalHeader.DataDirectory[count], 0xcc,
            sizeof(headers.nt.OptionalHeader.DataDirectory) - count * sizeof(IMAGE_DATA_DIRECTORY) );
    return inject_check_headers( &headers, sizeof(headers) );
}

static void test_directories( void )
{
    ok( !check_directories( 13 ), "13 directories: %s", check_directories( 13 ) );
    ok( !check_directories( 2 ), "2 directories: %s", check_directories( 2 ) );
    ok( check_directories( 1 ) != NULL, "1 directory was accepted" );
}

/* Only who is known to have no more rights than its user may follow a path of that user's. */
static void test_rights(void)
{
    static const ULONG64 own[] = { 6, PAGE, AUXV_SECURE, 0, 25, 1, AUXV_END, 0 };
    static const ULONG64 more[] = { 6, PAGE, AUXV_SECURE, 1, AUXV_END, 0 };
    static const ULONG64 silent[] = { 6, PAGE, AUXV_END, 0, AUXV_SECURE, 0 };

    ok( rights_by_auxv( own, ARRAYSIZE(own) ) == RIGHTS_OWN, "own rights" );
    ok( rights_by_auxv( more, ARRAYSIZE(more) ) == RIGHTS_MORE, "set-user-id" );
    ok( rights_by_auxv( silent, ARRAYSIZE(silent) ) == RIGHTS_UNKNOWN, "not told" );
    ok( rights_by_auxv( own, 3 ) == RIGHTS_UNKNOWN, "cut in the middle" );
    ok( rights_by_auxv( NULL, 0 ) == RIGHTS_UNKNOWN, "empty" );
    ok( rights_by_elevation( TokenElevationTypeDefault ) == RIGHTS_OWN, "default token" );
    ok( rights_by_elevation( TokenElevationTypeLimited ) == RIGHTS_OWN, "limited token" );
    ok( rights_by_elevation( TokenElevationTypeFull ) == RIGHTS_MORE, "elevated token" );
    ok( rights_by_elevation( 0 ) == RIGHTS_UNKNOWN, "token not told" );
}

int main(void)
{
    test_export_table();
    test_rights();
    test_patch();
    check_code_page( PAGE_EXECUTE_READ );
    check_code_page( PAGE_EXECUTE_READWRITE );
    check_running_page();
    test_inject();
    test_alloc_above();
    test_directories();
    return test_end();
}
