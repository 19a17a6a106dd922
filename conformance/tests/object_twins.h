/*
 * Answers of an object of the plainest kind, and of a twin that could be inherited from the start.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Whether a handle is inheritable makes no difference to what the object does [doc]. So what is done to
 * the one is done to the other, and both have to answer the same, to a thread and to a worker.
 */
#ifndef OBJECT_TWINS_H
#define OBJECT_TWINS_H

#include "scenario_kit.h"

#define TWIN_CALLS( X ) \
    X( NtCreateEvent, ( HANDLE *, ACCESS_MASK, void *, ULONG, BOOLEAN ) ) \
    X( NtCreateSemaphore, ( HANDLE *, ACCESS_MASK, void *, LONG, LONG ) ) \
    X( NtCreateMutant, ( HANDLE *, ACCESS_MASK, void *, BOOLEAN ) ) \
    X( NtSetEvent, ( HANDLE, LONG * ) ) \
    X( NtResetEvent, ( HANDLE, LONG * ) ) \
    X( NtClearEvent, ( HANDLE ) ) \
    X( NtPulseEvent, ( HANDLE, LONG * ) ) \
    X( NtQueryEvent, ( HANDLE, ULONG, void *, ULONG, ULONG * ) ) \
    X( NtReleaseSemaphore, ( HANDLE, ULONG, ULONG * ) ) \
    X( NtQuerySemaphore, ( HANDLE, ULONG, void *, ULONG, ULONG * ) ) \
    X( NtReleaseMutant, ( HANDLE, LONG * ) ) \
    X( NtQueryMutant, ( HANDLE, ULONG, void *, ULONG, ULONG * ) ) \
    X( NtWaitForSingleObject, ( HANDLE, BOOLEAN, const LARGE_INTEGER * ) ) \
    X( NtWaitForMultipleObjects, ( ULONG, const HANDLE *, ULONG, BOOLEAN, const LARGE_INTEGER * ) ) \
    X( NtSignalAndWaitForSingleObject, ( HANDLE, HANDLE, BOOLEAN, const LARGE_INTEGER * ) ) \
    X( NtClose, ( HANDLE ) )
#define X( name, args ) static NTSTATUS (WINAPI *p##name) args __attribute__((unused));
TWIN_CALLS( X )
#undef X

static void find_calls( void )
{
    HMODULE ntdll = GetModuleHandleW( L"ntdll.dll" );

#define X( name, args ) p##name = (void *)GetProcAddress( ntdll, #name );
    TWIN_CALLS( X )
#undef X
}

/* ---- answers ---- */

#define MAX_ANSWERS 240

struct answers
{
    unsigned int count;
    DWORD value[MAX_ANSWERS];
};

static void note( struct answers *answers, DWORD value )
{
    if (answers->count < MAX_ANSWERS) answers->value[answers->count] = value;
    answers->count++;
}

/* With what the call stored. */
static inline void note_with( struct answers *answers, NTSTATUS status, LONG value )
{
    note( answers, (DWORD)status );
    note( answers, (DWORD)value );
}

static inline void note_wait( struct answers *answers, HANDLE handle, LONGLONG time )
{
    LARGE_INTEGER timeout = { .QuadPart = time };

    note( answers, (DWORD)pNtWaitForSingleObject( handle, FALSE, &timeout ) );
}

static void compare( const struct answers *a, const struct answers *b, unsigned int least, const char *who )
{
    unsigned int i;

    ok( a->count == b->count && a->count >= least && a->count <= MAX_ANSWERS, "%s: %u and %u answers\n",
        who, a->count, b->count );
    for (i = 0; i < a->count && i < MAX_ANSWERS; i++)
        ok( a->value[i] == b->value[i], "%s, answer %u: %08lx, its twin %08lx\n", who, i,
            a->value[i], b->value[i] );
}

/* ---- who asks ---- */

static struct answers plain_answers[2], worker_answers[2];
static void (*twins_ask)( struct answers *answers, SECURITY_ATTRIBUTES *attributes );

static void ask_twins( struct answers *answers )
{
    SECURITY_ATTRIBUTES inherit = { sizeof(inherit), NULL, TRUE };

    twins_ask( &answers[0], NULL );
    twins_ask( &answers[1], &inherit );
}

static DWORD answers_body( struct kit_worker *worker )
{
    (void)worker;
    ask_twins( worker_answers );
    return 0;
}

/* At least so many answers are expected. */
static void run_twins( void (*ask)( struct answers *, SECURITY_ATTRIBUTES * ), unsigned int least )
{
    struct kit_sched *sched;

    find_calls();
    twins_ask = ask;
    if (!kit_open()) return;
    ask_twins( plain_answers );
    sched = kit_add_sched( NULL );
    kit_add_worker( sched->list, answers_body, NULL );
    kit_start();
    kit_finish();
    compare( &plain_answers[0], &plain_answers[1], least, "thread" );
    compare( &worker_answers[0], &worker_answers[1], least, "worker" );
    compare( &plain_answers[0], &worker_answers[0], least, "thread and worker" );
    kit_check();
}

#endif /* OBJECT_TWINS_H */
