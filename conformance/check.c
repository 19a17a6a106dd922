/*
 * The vocabulary: counts into the section, prints what went wrong.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <stdarg.h>
#include <stdlib.h>
#include "private.h"

static struct shared own_shared;
struct shared *shared = &own_shared;
unsigned umstest_wait_bound = 10000;
volatile LONG umstest_stops;
static volatile LONG refusals, retries;         /* ERROR_RETRY, and all others */
static volatile LONG missed_waits;
static volatile DWORD refusal_error;            /* the last of the others */

static DWORD mark_slot =
    TLS_OUT_OF_INDEXES; /* marks of the next ok: bit 0 unverified, issue << 1 */
static char contexts[8][96];
static int context_count;

/* One WriteFile a message: nothing is lost in a buffer when the test dies. */
static void write_out( const char *text, int length )
{
    DWORD written;

    WriteFile( GetStdHandle( STD_OUTPUT_HANDLE ), text, length, &written, NULL );
}

static void UMSTEST_PRINTF( 4, 0 )
    message( const char *file, int line, const char *head, const char *fmt, va_list args )
{
    const char *base = file, *p;
    char text[1024];
    int i, length = 0;

    for (p = file; *p; p++) if (*p == '/' || *p == '\\') base = p + 1;
    if (line) length = snprintf( text, sizeof(text), "%s:%d: ", base, line );
    length += snprintf( text + length, sizeof(text) - length, "%s", head );
    for (i = 0; i < context_count && i < (int)ARRAYSIZE(contexts); i++)
        length += snprintf( text + length, sizeof(text) - length, "%s: ", contexts[i] );
    if (length < (int)sizeof(text) - 2)
        length += vsnprintf( text + length, sizeof(text) - length, fmt, args );
    if (length > (int)sizeof(text) - 2)
    {
        length = sizeof(text) - 1;
        text[length - 1] = '\n';
    }
    write_out( text, length );
}

static void UMSTEST_PRINTF( 1, 2 ) line_out( const char *fmt, ... )
{
    va_list args;

    va_start( args, fmt );
    message( "", 0, "", fmt, args );
    va_end( args );
}

static DWORD get_mark_slot( void )
{
    DWORD slot, old;

    if (mark_slot != TLS_OUT_OF_INDEXES) return mark_slot;
    slot = TlsAlloc();
    old = InterlockedCompareExchange( (LONG *)&mark_slot, slot, TLS_OUT_OF_INDEXES );
    if (old != TLS_OUT_OF_INDEXES) TlsFree( slot );
    return mark_slot;
}

static ULONG_PTR swap_marks( ULONG_PTR marks )
{
    DWORD slot = get_mark_slot();
    ULONG_PTR old = (ULONG_PTR)TlsGetValue( slot );

    TlsSetValue( slot, (void *)marks );
    return old;
}

/* Printing blocks and blocking is what is under test, so the vocabulary is closed to UMS
 * threads. */
static BOOL misused( void )
{
    if (!pGetCurrentUmsThread || !pGetCurrentUmsThread()) return FALSE;
    InterlockedIncrement( &shared->misused );
    return TRUE;
}

int umstest_ok( const char *file, int line, int cond, const char *fmt, ... )
{
    DWORD error = GetLastError();
    ULONG_PTR marks;
    const char *head = NULL;
    va_list args;
    char todo[48];
    int issue;

    if (misused())
    {
        SetLastError( error );
        return cond;
    }
    marks = swap_marks( 0 );
    issue = (int)(marks >> 1);
    if (issue && umstest_is_shim())
    {
        InterlockedIncrement( cond ? &shared->todo_fixed : &shared->todo );
        snprintf( todo, sizeof(todo), cond ? "todo #%d now passes: " : "todo #%d: ", issue );
        head = todo;
    }
    else if (marks & 1)
    {
        InterlockedIncrement( cond ? &shared->confirmed : &shared->refuted );
        if (!cond) head = "refuted: ";
    }
    else
    {
        InterlockedIncrement( cond ? &shared->passed : &shared->failed );
        if (!cond) head = "failed: ";
    }
    if (head)
    {
        va_start( args, fmt );
        message( file, line, head, fmt, args );
        va_end( args );
    }
    SetLastError( error );
    return cond;
}

void umstest_refused( DWORD error )
{
    if (umstest_stops) return;                  /* it may be for one, which is counted before it is made */
    if (error == ERROR_RETRY) InterlockedIncrement( &retries );
    else
    {
        refusal_error = error;
        InterlockedIncrement( &refusals );
    }
}

BOOL umstest_missed( void )
{
    InterlockedIncrement( &missed_waits );
    return FALSE;
}

void wait_signaled( HANDLE object )
{
    if (WaitForSingleObject( object, WAIT_BOUND ) != WAIT_OBJECT_0) umstest_missed();
}

void judge_counts( void )
{
    if (missed_waits) ok( FALSE, "%ld waits ended without what they were for\n", missed_waits );
    if (refusals) ok( FALSE, "%ld refused executes of a worker that nobody stops, last error %lu\n", refusals, refusal_error );
    if (retries && umstest_is_shim()) ok( FALSE, "%ld times ERROR_RETRY of a worker that nobody stops\n", retries );
}

/* ERROR_INTERNAL_ERROR: under Wine 8.0 an address was taken, and nothing of the process has run. Not quietly: ./check counts
   the lines. */
BOOL umstest_create_process( const char *exe, char *command, BOOL inherit, DWORD flags,
                             STARTUPINFOA *startup, PROCESS_INFORMATION *process )
{
    int tries;

    for (tries = 0; tries < 3; tries++)
    {
        if (CreateProcessA( exe, command, NULL, NULL, inherit, flags, NULL, NULL, startup,
                            process )) return TRUE;
        if (GetLastError() != ERROR_INTERNAL_ERROR) break;
        if (tries < 2) trace( "a start was lost (error 1359), it is made again\n" );
    }
    return FALSE;
}

void umstest_mark_unverified( void )
{
    DWORD error = GetLastError();
    ULONG_PTR marks = swap_marks( 0 );

    swap_marks( marks | 1 );
    SetLastError( error );
}

void umstest_mark_todo( int issue )
{
    DWORD error = GetLastError();
    ULONG_PTR marks = swap_marks( 0 );

    swap_marks( (marks & 1) | ((ULONG_PTR)issue << 1) );
    SetLastError( error );
}

int umstest_quirk( const char *build )
{
    DWORD error = GetLastError();

    if (umstest_is_shim() || misused()) return 0;
    line_out( "# quirk of %s\n", build );
    SetLastError( error );
    return 1;
}

int umstest_need( int present, const char *name )
{
    if (present) return 1;
    if (umstest_is_shim()) umstest_ok( "", 0, 0, "entry point %s is missing\n", name );
    else umstest_skip( "", 0, "no entry point %s\n", name );
    return 0;
}

void umstest_skip( const char *file, int line, const char *fmt, ... )
{
    DWORD error = GetLastError();
    va_list args;

    if (misused()) return;
    InterlockedIncrement( &shared->skipped );
    va_start( args, fmt );
    message( file, line, "skip: ", fmt, args );
    va_end( args );
    SetLastError( error );
}

void umstest_observe( const char *key, const char *fmt, ... )
{
    DWORD error = GetLastError();
    char value[256];
    size_t length;
    va_list args;

    if (misused()) return;
    va_start( args, fmt );
    vsnprintf( value, sizeof(value), fmt, args );
    va_end( args );
    length = strlen( value );
    if (length && value[length - 1] == '\n') value[length - 1] = 0;
    line_out( "= %s: %s\n", key, value );
    SetLastError( error );
}

void trace( const char *fmt, ... )
{
    DWORD error = GetLastError();
    va_list args;

    if (misused()) return;
    va_start( args, fmt );
    message( "", 0, "# ", fmt, args );
    va_end( args );
    SetLastError( error );
}

void push( const char *fmt, ... )
{
    DWORD error = GetLastError();
    va_list args;

    if (context_count < (int)ARRAYSIZE(contexts))
    {
        va_start( args, fmt );
        vsnprintf( contexts[context_count], sizeof(contexts[0]), fmt, args );
        va_end( args );
    }
    context_count++;
    SetLastError( error );
}

void pop( void )
{
    if (context_count) context_count--;
}

int umstest_env( const char *name, int def )
{
    char value[16];
    DWORD length = GetEnvironmentVariableA( name, value, sizeof(value) );

    return length && length < sizeof(value) ? atoi( value ) : def;
}
