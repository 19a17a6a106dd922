/*
 * What a program may have in its file and must still have when the shim is in it too: TLS callbacks,
 * constructors, thread_local, C++ exceptions, resources, data behind its last section, relocation.
 * Says "active" or "without UMS", and on which engine; status 0: all was there. 20: no overlay.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <windows.h>
#include <ums.h>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>

#include "../inject/test.h"

static volatile LONG tls_calls;
static int constructed;
static thread_local int per_thread = 7;

static void NTAPI tls_callback( void *, DWORD reason, void * )
{
    if (reason == DLL_PROCESS_ATTACH && !constructed) InterlockedIncrement( &tls_calls );
}

/* the linker's list of TLS callbacks */
extern "C" __attribute__((section( ".CRT$XLY" ), used))
const PIMAGE_TLS_CALLBACK features_tls_callback = tls_callback;

struct early
{
    early() { constructed = tls_calls ? 1 : -1; }
};
static early early;

static void check_cpp()
{
    int caught = 0, seen = 0;

    ok( tls_calls == 1, "%ld TLS callbacks", tls_calls );
    ok( constructed == 1, "constructors %d, expected 1: behind the TLS callbacks", constructed );
    try { throw std::runtime_error( "x" ); }
    catch (const std::exception &e) { caught = e.what()[0]; }
    ok( caught == 'x', "exception: %d", caught );
    per_thread = 8;
    HANDLE thread = CreateThread( NULL, 0, []( void *out ) -> DWORD
                                  { *(int *)out = per_thread; return 0; }, &seen, 0, NULL );
    WaitForSingleObject( thread, INFINITE );
    CloseHandle( thread );
    ok( seen == 7, "thread_local of another thread: %d", seen );
}

static void check_resource()
{
    HRSRC found = FindResourceA( NULL, "FEATURES", (const char *)RT_RCDATA );
    const char *text = found ? (const char *)LockResource( LoadResource( NULL, found ) ) : NULL;

    ok( text && !memcmp( text, "a resource", 10 ), "resource: %.10s", text ? text : "none" );
}

/* as self-extracting programs look for what was appended to them */
static DWORD overlay_offset( const std::string &file )
{
    const IMAGE_NT_HEADERS64 *nt = (const IMAGE_NT_HEADERS64 *)
        (file.data() + ((const IMAGE_DOS_HEADER *)file.data())->e_lfanew);
    const IMAGE_SECTION_HEADER *section = IMAGE_FIRST_SECTION( nt );
    DWORD end = 0, symbols = nt->FileHeader.PointerToSymbolTable, size;

    for (int i = 0; i < nt->FileHeader.NumberOfSections; i++, section++)
        if (section->PointerToRawData + section->SizeOfRawData > end)
            end = section->PointerToRawData + section->SizeOfRawData;
    if (symbols == 0) return end;
    symbols += nt->FileHeader.NumberOfSymbols * 18;
    memcpy( &size, file.data() + symbols, sizeof(size) );
    return symbols + size;
}

static void check_overlay()
{
    char path[MAX_PATH];

    GetModuleFileNameA( NULL, path, sizeof(path) );
    std::ifstream stream( path, std::ios::binary );
    std::string file( (std::istreambuf_iterator<char>( stream )),
                      std::istreambuf_iterator<char>() );
    DWORD at = overlay_offset( file );

    ok( file.substr( at, 12 ) == "overlay-data", "nothing behind the sections, at %#lx", at );
}

static void say_active()
{
    PUMS_COMPLETION_LIST list = NULL;
    char active[128] = "";

    if (CreateUmsCompletionList( &list ))
    {
        ok( DeleteUmsCompletionList( list ), "list not deleted: %lu", GetLastError() );
        GetEnvironmentVariableA( "UMS_ACTIVE", active, sizeof(active) );
        printf( "active: %s\n", active );
    }
    else printf( "without UMS: error %lu\n", GetLastError() );
}

int main( int argc, char ** )
{
    check_cpp();
    check_resource();
    if (argc < 2) check_overlay();
    say_active();
    return test_end();
}
