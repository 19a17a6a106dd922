/*
 * patched KIND [NAME]: other software has patched NtDelayExecution, or the system call NAME, before the shim starts, with
 * a jump of that kind (near, far, register), or with something that nobody knows (odd). With a jump, both see the calls:
 * the other software each of them, the shim's scheduler gets its upcalls. Prints what is active. 3: the shim refuses to
 * work.
 * none: what is exported are no stubs at all, as in Wine 5.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <winternl.h>
#include <string.h>

#include "../inject/test.h"
#include "client.h"

static NTSTATUS (WINAPI *original)( BOOLEAN alertable, const LARGE_INTEGER *timeout );
static struct client client;
static LONG seen;

/* ---- the other software ---- */

static NTSTATUS WINAPI other( BOOLEAN alertable, const LARGE_INTEGER *timeout )
{
    if ((LONG)GetCurrentThreadId() == client.worker_thread) InterlockedIncrement( &seen );
    return original( alertable, timeout );
}

static void far_jump( BYTE *code, const void *target )
{
    static const BYTE jump[6] = { 0xff, 0x25 };

    memcpy( code, jump, 6 );
    memcpy( code + 6, &target, 8 );
}

/* Within a jump's reach of ntdll, behind it. */
static BYTE *page_near( BYTE *module, SIZE_T size )
{
    BYTE *p, *page = NULL;

    for (p = module; !page && p < module + 0x40000000; p += 0x10000)
        page = VirtualAlloc( p, size, MEM_RESERVE | MEM_COMMIT, PAGE_EXECUTE_READWRITE );
    return page;
}

static BOOL patch( const char *kind, const char *name )
{
    HMODULE ntdll = GetModuleHandleA( "ntdll.dll" );
    BYTE *stub = (BYTE *)GetProcAddress( ntdll, name ), *page = page_near( (BYTE *)ntdll, 0x1000 );
    const void *target = other;
    LONG distance;
    DWORD old;

    if (!stub || !page || !VirtualProtect( stub, 32, PAGE_EXECUTE_READWRITE, &old )) return FALSE;
    original = (void *)page;
    memcpy( page, stub, 32 );
    far_jump( page + 64, other );
    if (!strcmp( kind, "near" ))
    {
        far_jump( page + 8, stub + 8 );         /* two instructions, and back behind them */
        distance = (LONG)(page + 64 - (stub + 5));
        stub[0] = 0xe9;
        memcpy( stub + 1, &distance, 4 );
    }
    else if (!strcmp( kind, "far" )) far_jump( stub, other );
    else if (!strcmp( kind, "register" ))
    {
        stub[0] = 0x48, stub[1] = 0xb8, stub[10] = 0xff, stub[11] = 0xe0;
        memcpy( stub + 2, &target, 8 );
    }
    else stub[0] = 0x90, stub[1] = 0x49, stub[2] = 0x89, stub[3] = 0xca;        /* nop, and on crookedly */
    return TRUE;
}

#define MAX_NAMES 1024
#define ENTRY     16

/* Each Nt function that is exported becomes a function which only leads to the stub. */
static BOOL hide_stubs( void )
{
    BYTE *ntdll = (BYTE *)GetModuleHandleA( "ntdll.dll" ), *page = page_near( ntdll, MAX_NAMES * ENTRY ), *at = page;
    const IMAGE_NT_HEADERS64 *nt = (void *)(ntdll + ((IMAGE_DOS_HEADER *)ntdll)->e_lfanew);
    const IMAGE_EXPORT_DIRECTORY *exports = (void *)(ntdll + nt->OptionalHeader.DataDirectory[0].VirtualAddress);
    const DWORD *names = (void *)(ntdll + exports->AddressOfNames);
    DWORD *functions = (void *)(ntdll + exports->AddressOfFunctions), i, old;
    const WORD *ordinals = (void *)(ntdll + exports->AddressOfNameOrdinals);

    if (!page || !VirtualProtect( functions, exports->NumberOfFunctions * sizeof(*functions), PAGE_READWRITE, &old ))
        return FALSE;
    for (i = 0; i < exports->NumberOfNames && at < page + MAX_NAMES * ENTRY; i++)
    {
        if (memcmp( ntdll + names[i], "Nt", 2 )) continue;
        *at = 0x90;                             /* nop: a jump would be other software's */
        far_jump( at + 1, ntdll + functions[ordinals[i]] );
        functions[ordinals[i]] = (DWORD)(at - ntdll);
        at += ENTRY;
    }
    return TRUE;
}

int main( int argc, char **argv )
{
    const char *name = argc > 2 ? argv[2] : "NtDelayExecution";
    int sleeps = strcmp( name, "NtDelayExecution" ) ? 0 : CLIENT_SLEEPS;    /* that the other software sees */
    HMODULE dll;
    client_run_t run;
    int status;

    if (argc < 2) return 1;
    ok( strcmp( argv[1], "none" ) ? patch( argv[1], name ) : hide_stubs(), "cannot patch, error %lu", GetLastError() );
    dll = LoadLibraryA( "win11_client.dll" );   /* and with it the shim, which starts */
    ok( dll != NULL, "no client, error %lu", GetLastError() );
    run = (client_run_t)(void *)GetProcAddress( dll, "client_run" );
    if ((status = run( &client )) == CLIENT_REFUSED) return status;
    ok( !status, "the client failed: %d", status );
    ok( seen == sleeps, "the other software has seen %ld calls of %d", seen, sleeps );
    ok( client.blocked == CLIENT_SLEEPS + 1, "%ld upcalls, expected %d", client.blocked, CLIENT_SLEEPS + 1 );
    return test_end();
}
