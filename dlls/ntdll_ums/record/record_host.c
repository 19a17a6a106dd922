/*
 * UMS_TRACE: the files of the record, and its beginning and end.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The file is opened at the start, so a bad path is reported then. At the end of the process no lock
 * of the loader or of a heap can be trusted, and only writing is left to do. The rings are in a second,
 * mapped file beside it, FILE.ring. Its pages survive if the process is killed; umstrace can then make
 * the trace from them. FILE.ring is deleted when the first file has been written.
 *
 * The end is the call that ends the process, which the hook sees. After ExitProcess the other threads
 * have ended. After TerminateProcess we end them ourselves: their last events may be incomplete while
 * we read (record.h says why that does no harm), but no thread is left to write to the rings when they
 * are unmapped. Without unmapping, their file could not be deleted.
 */

#include <windows.h>
#include <winternl.h>
#include <string.h>
#include "record.h"
#include "record_host.h"
#include "host/exports.h"
#include "host/ke_win32.h"
#include "private/trace.h"

#define LONG_PATH          (SETTING_TEXT + 8)
#define CALIBRATION        50000                /* 5 ms */
#define DISPOSITION_CLASS  13                   /* FILE_INFORMATION_CLASS [sdk] */
#define NT_STUB            0xb8d18b4c           /* mov r10,rcx; mov eax,nr */
#define MANY_EVENTS        100000               /* to write more takes so long that it is logged */
#define TELL_EVERY         100000000            /* 10 s */

NTSTATUS NTAPI NtWriteFile( HANDLE, HANDLE, void *, void *, IO_STATUS_BLOCK *, const void *, ULONG,
                            LARGE_INTEGER *, ULONG * );
NTSTATUS NTAPI NtUnmapViewOfSection( HANDLE, void * );
NTSTATUS NTAPI NtTerminateProcess( HANDLE, NTSTATUS );

int __cdecl _snprintf( char *, size_t, const char *, ... );

static HANDLE file, ring_file;
static uint64_t largest_file;                   /* to write more than this ends the process by a signal, or fails */
static LONG finished;

/* ---- the files ---- */

static HANDLE create( const char *path )
{
    static WCHAR name[LONG_PATH];

    if (!MultiByteToWideChar( CP_UTF8, 0, path, -1, name, LONG_PATH )) name[0] = 0;
    return CreateFileW( name, GENERIC_READ | GENERIC_WRITE | DELETE,
                        FILE_SHARE_READ | FILE_SHARE_DELETE, NULL, CREATE_ALWAYS,
                        FILE_ATTRIBUTE_NORMAL, NULL );
}

/* ---- memory ---- */

/* Allocate the whole file on disk before it is mapped. Otherwise, if the disk is full, touching a page
   would end the program, possibly in a switch. */
static int fill( HANDLE ring, size_t size )
{
    static const char zeros[0x10000];
    DWORD done;
    size_t at;

    for (at = 0; at < size; at += done)
        if (!WriteFile( ring, zeros, (DWORD)min( sizeof(zeros), size - at ), &done, NULL ) || !done)
            return 0;
    return 1;
}

static void *map( HANDLE ring, size_t size )
{
    HANDLE section;
    void *memory;

    if (ring == INVALID_HANDLE_VALUE) return NULL;
    if (size > largest_file) SetLastError( ERROR_FILE_TOO_LARGE );
    if (size > largest_file || !fill( ring, size )) return NULL;
    section = CreateFileMappingA( ring, NULL, PAGE_READWRITE, 0, (DWORD)size, NULL );
    if (!section) return NULL;
    memory = MapViewOfFile( section, FILE_MAP_WRITE, 0, 0, size );
    CloseHandle( section );
    return memory;
}

static void delete_file( HANDLE *which )
{
    BOOLEAN gone = TRUE;
    IO_STATUS_BLOCK io;

    NtSetInformationFile( *which, &io, &gone, sizeof(gone), DISPOSITION_CLASS );
    NtClose( *which );
    *which = INVALID_HANDLE_VALUE;
}

static void *make_memory( const char *path, size_t size )
{
    static char name[LONG_PATH];
    void *memory;

    lstrcpyA( name, path );
    lstrcatA( name, ".ring" );
    ring_file = create( name );
    if ((memory = map( ring_file, size ))) return memory;
    ums_warn( "UMS_TRACE: %s cannot be created (error %lu); if the process is killed, its trace is lost",
              name, GetLastError() );
    if (ring_file != INVALID_HANDLE_VALUE) delete_file( &ring_file );
    return VirtualAlloc( NULL, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE );
}

/* ---- what the host knows ---- */

/* Read both clocks as close together as a few tries allow, to compute the stamps per second. */
static uint64_t read_both( LARGE_INTEGER *counter )
{
    uint64_t before, after, best = UINT64_MAX, stamp = 0;
    LARGE_INTEGER now;
    int tries;

    for (tries = 0; tries < 10; tries++)
    {
        before = ums_stamp();
        QueryPerformanceCounter( &now );
        after = ums_stamp();
        if (after - before >= best) continue;
        best = after - before;
        stamp = before + best / 2;
        *counter = now;
    }
    return stamp;
}

static uint64_t calibrate( void )
{
    LARGE_INTEGER frequency, begin = { .QuadPart = 0 }, end = begin;
    int64_t until = ke_clock() + CALIBRATION;
    uint64_t from, to;

    QueryPerformanceFrequency( &frequency );
    from = read_both( &begin );
    while (ke_clock() < until) ;
    to = read_both( &end );
    return (uint64_t)((double)(to - from) * (double)frequency.QuadPart /
                      (double)(end.QuadPart - begin.QuadPart));
}

static void add_name( uint32_t number, const char *name )
{
    struct ums_record *record = ums_record;
    int len;

    if (RECORD_NAMES - record->names < 80) return;
    len = _snprintf( record->name + record->names, 79, "%u %s\n", number, name );
    if (len > 0) record->names += len;
}

/* Read the system-call numbers of a module from its stubs, before the hook changes them. */
static void note_names( HMODULE module )
{
    struct ums_exports exports;
    const DWORD *code;
    const char *name;
    DWORD i;

    if (!module) return;
    ums_exports_of( module, &exports );
    for (i = 0; i < exports.directory->NumberOfNames; i++)
    {
        code = (const DWORD *)ums_exported_call( &exports, i, &name );
        if (code && code[0] == NT_STUB) add_name( code[1], name );
    }
}

static void note_program( void )
{
    static WCHAR path[LONG_PATH];
    WCHAR *base = path, *p;
    DWORD len = GetModuleFileNameW( NULL, path, LONG_PATH - 1 );

    path[len] = 0;
    for (p = path; *p; p++) if (*p == '\\') base = p + 1;
    WideCharToMultiByte( CP_UTF8, 0, base, -1, ums_record->program, sizeof(ums_record->program) - 1,
                         NULL, NULL );
    ums_record->pid = GetCurrentProcessId();
}

/* ---- begin and end ---- */

static uint32_t wanted_shift( void )
{
    uint32_t events = ums_setting( SETTING_TRACE_EVENTS ), shift = RECORD_MIN_SHIFT;

    while (1u << shift < events && shift < RECORD_MAX_SHIFT) shift++;
    return shift;
}

void ums_record_begin( void )
{
    const char *path = ums_trace_path;
    uint32_t shift = wanted_shift();
    void *memory;

    if (!path[0]) return;
    largest_file = ke_largest_file();
    file = create( path );
    if (file == INVALID_HANDLE_VALUE)
    {
        ums_err( "UMS_TRACE: %s cannot be written (error %lu)%s", path, GetLastError(),
                 GetLastError() == ERROR_SHARING_VIOLATION ?
                 "; for several processes put %p into the name" : "" );
        return;
    }
    if (!(memory = make_memory( path, ums_record_size( shift ) )))
    {
        ums_err( "UMS_TRACE: there is no memory for rings of %u events; set UMS_TRACE_EVENTS lower",
                 1u << shift );
        delete_file( &file );
        return;
    }
    ums_record_init( memory, shift );
    note_program();
    note_names( GetModuleHandleA( "ntdll.dll" ) );
    note_names( GetModuleHandleA( "win32u.dll" ) );
    ums_record->frequency = calibrate();
    ums_recording = 1;
}

/* A part of the hook may be in place, so another thread may end the process meanwhile: it must not write a
   record that goes away. */
void ums_record_cancel( void )
{
    void *memory = ums_record;

    if (!memory) return;
    InterlockedExchange( &finished, 1 );
    ums_recording = 0;
    ums_record = NULL;
    if (ring_file == INVALID_HANDLE_VALUE) VirtualFree( memory, 0, MEM_RELEASE );
    else
    {
        UnmapViewOfFile( memory );
        delete_file( &ring_file );
    }
    delete_file( &file );
}

void ums_record_about( const char *about )
{
    if (ums_record) lstrcpynA( ums_record->about, about, sizeof(ums_record->about) );
}

/* While a long trace is written the process seems to hang, and a user might kill it: so log it. */
static int64_t tell_next;

static void tell_begin( void )
{
    uint64_t events = 0, head, room;
    uint32_t i;

    for (i = 0; i < RECORD_RINGS; i++)
    {
        head = atomic_load( &ums_record->ring[i].head );
        room = (uint64_t)1 << ums_record->ring[i].shift;
        events += min( head, room );
    }
    if (events >= MANY_EVENTS)
        ums_warn( "UMS_TRACE: writing the trace, %llu events, to %s", (unsigned long long)events,
                  ums_trace_path );
    tell_next = ke_clock() + TELL_EVERY;
}

/* On a full disk Wine writes a part, and says so only in the size. */
static int write_whole( const char *text, size_t size )
{
    IO_STATUS_BLOCK io;

    for (; size; text += io.Information, size -= io.Information)
    {
        io.Information = 0;
        if (NtWriteFile( file, NULL, NULL, NULL, &io, text, (ULONG)size, NULL, NULL ) || !io.Information) return 0;
    }
    return 1;
}

static int write_file( const char *text, size_t size )
{
    static uint64_t written;

    written += size;
    if (ke_clock() > tell_next)
    {
        ums_warn( "UMS_TRACE: %llu MB are written", (unsigned long long)(written >> 20) );
        tell_next = ke_clock() + TELL_EVERY;
    }
    return written <= largest_file && write_whole( text, size );
}

/* Delete FILE.ring. If that fails, mark it as not needed. */
static void drop_rings( void )
{
    ums_record->magic[7] = '0';
    NtUnmapViewOfSection( GetCurrentProcess(), ums_record );
    delete_file( &ring_file );
}

/* Two threads may end the process at the same time: the first terminates the second here. */
void ums_record_finish( void )
{
    if (!ums_record) return;
    NtTerminateProcess( NULL, 0 );
    if (InterlockedExchange( &finished, 1 )) return;
    ums_recording = 0;
    tell_begin();
    if (!ums_record_write( write_file ))
        ums_err( "UMS_TRACE: %s could not be written to its end; is the disk full?", ums_trace_path );
    else if (ring_file != INVALID_HANDLE_VALUE) drop_rings();
    NtClose( file );
}
