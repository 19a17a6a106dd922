/*
 * factory_foreign: the process whose factory it is answers a waiter of another process with more
 * packets than that one has room for, or not at all; and the page behind the handle names another
 * process of the same id, or another factory in the same slot. The waiter must be refused, and nothing be
 * copied.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The factory is a true one, and so is the answer, up to one number: what the page
 * names as the code for strangers is code of ours. A process without the shim writes that there; with
 * it the handle is none of a section.
 */
#include <ums.h>
#include <stdlib.h>
#include <string.h>
#include "workerfactory.h"
#include "private/exports.h"
#include "inject/test.h"

#define LIMIT 20000                     /* ms */
#define ROOM 1                          /* packet: the wait of Windows 7 has no more */
#define PAGE 0x1000
#define GUARD 0x5a

#define X( ret, name, args ) static ret (WINAPI *p##name) args;
UMS_NTDLL_FACTORY_EXPORTS( X )
#undef X

/* The main thread sets them while there is no stranger: it waits for each of them. So there is one thread at a
   time in lying_entry, and it sees what was set before. */
static DWORD (WINAPI *true_entry)( void *request );
static DWORD lie;
static BOOL silent;                     /* as if the process had ended before the call */
static volatile LONG lies;

static void load_shim( void )
{
    HMODULE module;

    LoadLibraryA( "kernel32_ums.dll" );
    module = GetModuleHandleA( "ntdll_ums.dll" );
#define X( ret, name, args ) p##name = (void *)GetProcAddress( module, #name );
    UMS_NTDLL_FACTORY_EXPORTS( X )
#undef X
}

/* ---- other processes; their argument is what they are, and numbers ---- */

enum { GOT_IT, REFUSED, OVERRUN, OTHER_PACKET, OTHER_STATUS };

static int be_stranger( HANDLE factory )
{
    static struct
    {
        FILE_IO_COMPLETION_INFORMATION packets[ROOM];
        BYTE guard[PAGE];
    } got;
    ULONG count = ROOM, i;
    NTSTATUS status;

    load_shim();
    memset( got.guard, GUARD, sizeof(got.guard) );
    status = pNtWaitForWorkViaWorkerFactory( factory, got.packets, ROOM, &count, NULL );
    for (i = 0; i < sizeof(got.guard); i++) if (got.guard[i] != GUARD) return OVERRUN;
    if (status) return (DWORD)status == STATUS_INVALID_HANDLE ? REFUSED : OTHER_STATUS;
    return count == ROOM && got.packets[0].KeyContext == (void *)5 ? GOT_IT : OTHER_PACKET;
}

/* Writes next over the one word of the page that is one of [begin, end). */
static int be_forger( HANDLE factory, HANDLE owner, ULONG_PTR begin, ULONG_PTR end, ULONG_PTR next,
                      void *remember )
{
    ULONG_PTR *page = MapViewOfFile( factory, FILE_MAP_READ | FILE_MAP_WRITE, 0, 0, PAGE );
    SIZE_T i, n = 0, found = 0;

    if (!page) return 10;
    for (i = 0; i < PAGE / sizeof(*page); i++)
        if (page[i] >= begin && page[i] < end) found = i, n++;
    if (n != 1) return 12;
    if (!WriteProcessMemory( owner, remember, &page[found], sizeof(*page), NULL )) return 11;
    page[found] = next;
    return 0;
}

static int be_other( char **argv )
{
    ULONG_PTR n[6] = { 0 };
    int i;

    for (i = 0; i < 6 && argv[2 + i]; i++) n[i] = strtoull( argv[2 + i], NULL, 16 );
    if (argv[1][0] == 's') return be_stranger( (HANDLE)n[0] );
    return be_forger( (HANDLE)n[0], (HANDLE)n[1], n[2], n[3], n[4], (void *)n[5] );
}

static DWORD run_other( const char *arguments )
{
    STARTUPINFOA startup = { .cb = sizeof(startup) };
    PROCESS_INFORMATION process;
    char exe[MAX_PATH], command[2 * MAX_PATH];
    DWORD code = 99;

    GetModuleFileNameA( NULL, exe, sizeof(exe) );
    snprintf( command, sizeof(command), "\"%s\" %s", exe, arguments );
    if (!CreateProcessA( NULL, command, NULL, NULL, TRUE, 0, NULL, NULL, &startup, &process ))
        return 98;
    WaitForSingleObject( process.hProcess, INFINITE );      /* it waits for LIMIT at most */
    GetExitCodeProcess( process.hProcess, &code );
    CloseHandle( process.hProcess );
    CloseHandle( process.hThread );
    return code;
}

/* ---- the owner ---- */

/* A request has the room, how many packets there are, and whose thread waits. */
static DWORD WINAPI lying_entry( void *request )
{
    DWORD ret, *words = request;
    int i;

    if (silent) return 0;
    ret = true_entry( request );
    for (i = 0; i < 64; i++)
        if (words[i] == ROOM && words[i + 1] == 1 && words[i + 2] > 1)
        {
            if (lie) words[i + 1] = lie;
            lies++;
            break;
        }
    return ret;
}

/* Returns what was there. */
static void *forge( HANDLE factory, const void *begin, const void *end, const void *next )
{
    HANDLE self = NULL;
    char arguments[MAX_PATH];
    void *was = NULL;
    DWORD code;

    DuplicateHandle( GetCurrentProcess(), GetCurrentProcess(), GetCurrentProcess(), &self, 0, TRUE,
                     DUPLICATE_SAME_ACCESS );
    snprintf( arguments, sizeof(arguments), "forger %p %p %p %p %p %p", factory, self, begin, end, next, &was );
    code = run_other( arguments );
    ok( !code && was, "the factory's page is not as it was: exit code %lu", code );
    CloseHandle( self );
    return was;
}

static void lead_strangers_to_us( HANDLE factory )
{
    BYTE *module = (BYTE *)GetModuleHandleA( "ntdll_ums.dll" );
    const IMAGE_NT_HEADERS *nt = (void *)(module + ((IMAGE_DOS_HEADER *)module)->e_lfanew);

    true_entry = forge( factory, module, module + nt->OptionalHeader.SizeOfImage, lying_entry );
}

static DWORD ask( HANDLE port, HANDLE factory )
{
    char arguments[32];

    snprintf( arguments, sizeof(arguments), "stranger %p", factory );
    PostQueuedCompletionStatus( port, 0, 5, NULL );
    return run_other( arguments );
}

/* The page says that the process began later, or that the factory is a later one: then the process with that id is
   another one, or the slot has another factory. Its packet stays for the next stranger. */
static void ask_another( HANDLE port, HANDLE factory, const char *what, const char *value )
{
    DWORD code;

    forge( factory, value, value + 1, value + 1 );
    code = ask( port, factory );
    ok( code == REFUSED, "another %s: exit code %#lx", what, code );
    forge( factory, value + 1, value + 2, value );
}

/* The thread ends without a word. */
static void ask_in_vain( HANDLE port, HANDLE factory )
{
    DWORD code;

    silent = TRUE;
    code = ask( port, factory );
    ok( code == REFUSED, "no answer: exit code %#lx", code );
    silent = FALSE;
}

static const char *time_of_birth( void )
{
    FILETIME birth = { 0 }, end, kernel, user;

    GetProcessTimes( GetCurrentProcess(), &birth, &end, &kernel, &user );
    return (const char *)((ULONG_PTR)birth.dwHighDateTime << 32 | birth.dwLowDateTime);
}

static void NTAPI no_worker( void *arg )
{
    (void)arg;
}

int main( int argc, char **argv )
{
    HANDLE port, factory, inherited = NULL;
    DWORD code;

    if (argc > 2) return be_other( argv );
    load_shim();
    port = CreateIoCompletionPort( INVALID_HANDLE_VALUE, NULL, 0, 1 );
    ok( !pNtCreateWorkerFactory( &factory, WORKER_FACTORY_ALL_ACCESS, NULL, port,
                                 GetCurrentProcess(), (void *)no_worker, NULL, 0, 0, 0 ),
        "no factory" );
    ok( DuplicateHandle( GetCurrentProcess(), factory, GetCurrentProcess(), &inherited, 0, TRUE,
                         DUPLICATE_SAME_ACCESS ), "no handle to inherit" );
    ask_another( port, inherited, "process", time_of_birth() );
    ask_another( port, inherited, "factory", (const char *)1 );          /* it is the first of its process */
    lead_strangers_to_us( inherited );
    if (!test_failures) ask_in_vain( port, inherited );
    if (!test_failures)
    {
        code = ask( port, inherited );
        ok( code == GOT_IT && lies == 1, "a true answer: %ld of 1, exit code %#lx", lies, code );
    }
    for (lie = ROOM + 1; lie && !test_failures; lie <<= 6)
    {
        code = ask( port, inherited );
        ok( code == REFUSED, "%lu packets where there is room for %u: exit code %#lx", lie, ROOM,
            code );
    }
    CloseHandle( inherited );
    CloseHandle( factory );
    CloseHandle( port );
    return test_end();
}
