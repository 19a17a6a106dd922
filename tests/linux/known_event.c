/*
 * Events that only this process knows, as arguments of calls behind which somebody else may set them or wait for
 * them: each has to be the host's when the call is made. Another process, this program with the process' id and
 * the handles as its arguments, takes copies, and says which of the host's objects are signalled. So each entry of
 * the table of calls is looked at, also those behind which no program could see a difference.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The calls fail, most of them: they get nothing but the handle. What counts is what was done before.
 * The Unix call is Wine's gethostname, behind whose arguments the handle lies. Nothing that every Wine has
 * takes an event itself (the audio drivers do).
 */

#include <winsock2.h>
#include <windows.h>
#include <ums.h>
#include <stdlib.h>
#include "../inject/test.h"

#define LIMIT 20000                             /* ms */
#define UNIX_FUNCTIONS 1000                     /* MemoryWineUnixFuncs */
#define GETHOSTNAME 3                           /* of ws2_32 [seen: Wine 8.0, 10.0] */

typedef LONG (WINAPI *unix_call)( ULONGLONG library, unsigned int code, void *args );

/* ---- the other process ---- */

#define DID_NOT_LOOK 0x80000000u                /* or a bit for each object that is signalled */

static unsigned int look_from_outside( int count, char **args )
{
    HANDLE process = OpenProcess( PROCESS_DUP_HANDLE, FALSE, atoi( args[0] ) ), copy;
    unsigned int signalled = 0;
    int i;

    for (i = 1; i < count; i++)
    {
        if (!process || !DuplicateHandle( process, (HANDLE)(LONG_PTR)atoi( args[i] ), GetCurrentProcess(), &copy, 0,
                                          FALSE, DUPLICATE_SAME_ACCESS )) return DID_NOT_LOOK;
        if (!WaitForSingleObject( copy, 0 )) signalled |= 1u << (i - 1);
        CloseHandle( copy );
    }
    return signalled;
}

static DWORD ask_another_process( HANDLE *handles, int count )
{
    STARTUPINFOA startup = { .cb = sizeof(startup) };
    PROCESS_INFORMATION info;
    char line[MAX_PATH + 64 + 31 * 12], own[MAX_PATH];
    DWORD code = DID_NOT_LOOK;
    int i, length;

    GetModuleFileNameA( NULL, own, sizeof(own) );
    length = snprintf( line, sizeof(line), "\"%s\" %lu", own, GetCurrentProcessId() );
    for (i = 0; i < count; i++)
        length += snprintf( line + length, sizeof(line) - length, " %lu", (DWORD)(ULONG_PTR)handles[i] );
    if (!CreateProcessA( NULL, line, NULL, NULL, FALSE, 0, NULL, NULL, &startup, &info )) return DID_NOT_LOOK;
    WaitForSingleObject( info.hProcess, INFINITE );
    GetExitCodeProcess( info.hProcess, &code );
    CloseHandle( info.hThread );
    CloseHandle( info.hProcess );
    return code;
}

static void make_unix_call( HANDLE event )
{
    HMODULE ntdll = GetModuleHandleA( "ntdll.dll" );
    LONG (WINAPI *query)( HANDLE, const void *, int, void *, SIZE_T, SIZE_T * ) =
        (void *)GetProcAddress( ntdll, "NtQueryVirtualMemory" );
    unix_call *dispatcher = (void *)GetProcAddress( ntdll, "__wine_unix_call_dispatcher" );
    struct { char *name; ULONGLONG size; HANDLE event; ULONGLONG more[32]; } args = { 0 };
    ULONGLONG library = 0;
    char name[256] = "";

    ok( !query( GetCurrentProcess(), LoadLibraryA( "ws2_32.dll" ), UNIX_FUNCTIONS, &library,
                sizeof(library), NULL ), "ws2_32 has no Unix side" );
    args.name = name;
    args.size = sizeof(name);
    args.event = event;
    ok( dispatcher && !(*dispatcher)( library, GETHOSTNAME, &args ) && name[0], "no name" );
}

/* ids of processes and sizes are numbers like these handles, and any number that is one makes its event the host's:
   that is safe, and happened in 3 of 300 runs. Another event takes the place of such a one, so that each call begins
   with an event that the host does not know. An event that is made known by every try is no chance. */
#define TRIES 4

static HANDLE signalled_event( void )
{
    HANDLE event = CreateEventA( NULL, TRUE, FALSE, NULL );

    ok( SetEvent( event ), "not set, error %lu", GetLastError() );
    return event;
}

static void make_events( HANDLE *events, int count )
{
    DWORD known = 0;
    int i, tries;

    for (i = 0; i < count; i++) events[i] = signalled_event();
    for (tries = 0; tries < TRIES; tries++)
    {
        if (!(known = ask_another_process( events, count )) || (known & DID_NOT_LOOK)) break;
        printf( "# known before their calls: %#lx\n", known );
        for (i = 0; i < count; i++) if (known >> i & 1) events[i] = signalled_event();      /* the old one stays */
    }
    ok( !known, "not all are local, or nobody could look: %#lx", known );
}

/* ---- the calls ---- */

typedef LONG (WINAPI *nt_call)( ULONG_PTR, ULONG_PTR, ULONG_PTR, ULONG_PTR, ULONG_PTR, ULONG_PTR, ULONG_PTR,
                                ULONG_PTR, ULONG_PTR, ULONG_PTR, ULONG_PTR );

/* Where the handle is: an argument, or memory that the argument points at. */
enum place { ITSELF, MEMORY, ODD_MEMORY, REQUEST, BUFFER, ODD_BUFFER, END_OF_BUFFER };

static const struct { const char *name; unsigned int argument; enum place place; } calls[] =
{
    { "NtQueryObject", 0, ITSELF },
    { "NtSetInformationObject", 0, ITSELF },
    { "NtMakePermanentObject", 0, ITSELF },
    { "NtMakeTemporaryObject", 0, ITSELF },
    { "NtSetEventBoostPriority", 0, ITSELF },
    { "NtQuerySecurityObject", 0, ITSELF },
    { "NtSetSecurityObject", 0, ITSELF },
    { "NtDuplicateObject", 1, ITSELF },
    { "NtReadFile", 1, ITSELF },
    { "NtReadFileScatter", 1, ITSELF },
    { "NtWriteFile", 1, ITSELF },
    { "NtWriteFileGather", 1, ITSELF },
    { "NtLockFile", 1, ITSELF },
    { "NtQueryDirectoryFile", 1, ITSELF },
    { "NtNotifyChangeDirectoryFile", 1, ITSELF },
    { "NtNotifyChangeKey", 1, ITSELF },
    { "NtCompareObjects", 0, ITSELF },
    { "NtCompareObjects", 1, ITSELF },
    { "NtDeviceIoControlFile", 1, ITSELF },
    { "NtDeviceIoControlFile", 6, BUFFER },
    { "NtDeviceIoControlFile", 6, ODD_BUFFER },
    { "NtFsControlFile", 1, ITSELF },
    { "NtFsControlFile", 6, END_OF_BUFFER },
    { "NtNotifyChangeMultipleKeys", 3, ITSELF },        /* not in the table: any of four, or memory behind them */
    { "NtQueryInformationToken", 2, MEMORY },
    { "NtQueryInformationToken", 2, ODD_MEMORY },
    { "wine_server_call", 0, REQUEST },
};

#define CALLS (sizeof(calls) / sizeof(calls[0]))
#define EVENTS (CALLS + 1)                      /* and one for the Unix call; an exit code has 31 bits for them */

/* A request that the wineserver does not know, and the handle in its first half of 8 bytes. */
#define NO_REQUEST 0x7ffffff0

static char *memory_of( enum place place, HANDLE event )
{
    static _Alignas(16) char memory[1024];
    const ULONG handle = (ULONG)(ULONG_PTR)event;
    char *pages;
    DWORD before;

    memset( memory, 0, sizeof(memory) );
    switch (place)
    {
    case MEMORY:     memcpy( memory + 16, &event, sizeof(event) ); return memory;
    case ODD_MEMORY: memcpy( memory + 17, &event, sizeof(event) ); return memory + 1;
    case BUFFER:     memcpy( memory + 8, &handle, sizeof(handle) ); return memory;
    case ODD_BUFFER: memcpy( memory + 11, &handle, sizeof(handle) ); return memory + 3;
    case REQUEST:
        *(ULONG *)memory = NO_REQUEST;
        memcpy( memory + 12, &handle, sizeof(handle) );
        return memory;
    case END_OF_BUFFER:                         /* 12 bytes, and behind them nothing is there */
        pages = VirtualAlloc( NULL, 2 * 4096, MEM_COMMIT, PAGE_READWRITE );
        VirtualProtect( pages + 4096, 4096, PAGE_NOACCESS, &before );
        memcpy( pages + 4096 - 4, &handle, sizeof(handle) );
        return pages + 4096 - 12;
    default:         return NULL;
    }
}

static nt_call functions[CALLS];                /* NULL: this Wine does not have the call */

/* Before a hook changes their code. In Wine 10.0 wine_server_call is a Unix call, of whose arguments only whole values
   are looked at: no DLL of a program makes it there, but user32 of Wine 8.0 does. */
static void find_calls( void )
{
    const unsigned char *code;
    unsigned int i;

    for (i = 0; i < CALLS; i++)
    {
        code = (const void *)GetProcAddress( GetModuleHandleA( "ntdll.dll" ), calls[i].name );
        if (code && code[3] == 0xb8 /* mov eax: a system call */) functions[i] = (nt_call)(void *)code;
    }
}

static void make_call( unsigned int i, HANDLE event )
{
    ULONG_PTR args[11] = { 0 };

    args[calls[i].argument] = calls[i].place == ITSELF ? (ULONG_PTR)event
                                                       : (ULONG_PTR)memory_of( calls[i].place, event );
    if (calls[i].argument == 6) args[7] = 12;   /* its size */
    functions[i]( args[0], args[1], args[2], args[3], args[4], args[5], args[6], args[7], args[8], args[9], args[10] );
}

int main( int argc, char **argv )
{
    BOOL (WINAPI *create_list)( PUMS_COMPLETION_LIST * );
    PUMS_COMPLETION_LIST list;
    HANDLE events[EVENTS];
    DWORD answer;
    HMODULE shim;
    unsigned int i, made = 0;

    if (argc > 2) return (int)look_from_outside( argc - 1, argv + 1 );
    find_calls();
    shim = LoadLibraryA( "kernel32_ums.dll" );
    create_list = (void *)GetProcAddress( shim, "CreateUmsCompletionList" );
    ok( create_list && create_list( &list ), "no list, error %lu", GetLastError() );
    make_events( events, EVENTS );
    for (i = 0; i < CALLS; i++)
    {
        if (!functions[i]) continue;
        make_call( i, events[i] );
        made++;
    }
    printf( "%u of %u calls\n", made, (unsigned int)CALLS );
    ok( made + 3 >= CALLS, "only %u of %u calls are found in this Wine", made, (unsigned int)CALLS );
    make_unix_call( events[CALLS] );
    answer = ask_another_process( events, EVENTS );
    ok( !(answer & DID_NOT_LOOK), "the other process failed" );
    for (i = 0; i < EVENTS; i++)
    {
        ok( (i < CALLS && !functions[i]) || (answer >> i & 1), "%s, argument %u, place %u: the host would not see the signal",
            i < CALLS ? calls[i].name : "the Unix call", i < CALLS ? calls[i].argument : 0,
            i < CALLS ? calls[i].place : 0 );
        ok( !WaitForSingleObject( events[i], 0 ), "%u has lost its signal", i );
    }
    fflush( stdout );
    return test_end();
}
