/*
 * Conformance suite for User-Mode Scheduling: the vocabulary of a test.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A test says what Windows does and knows nothing of the shim. It runs in a process of its own; the
 * parent process keeps the time and gives the verdict. README.md tells how to run it, tests.list.h
 * lists the tests.
 */
#ifndef UMSTEST_H
#define UMSTEST_H

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <windows.h>
#include "ums.h"
#include "umsnt.h"
#include "workerfactory.h"
#include "private/exports.h"

/* Every entry point under test is a pointer pName; NULL if the implementation lacks it. */
#define X( ret, name, args ) extern ret (WINAPI *p##name) args;
UMS_KERNEL32_EXPORTS( X )
UMS_KERNEL32_DOORS( X )
UMS_NTDLL_EXPORTS( X )
UMS_NTDLL_FACTORY_EXPORTS( X )
#undef X

/* These two always come from ntdll, as a program would take them. */
extern NTSTATUS (WINAPI *pNtQueryInformationThread)( HANDLE, ULONG, PVOID, ULONG, PULONG );
#define THREAD_START_ADDRESS 9          /* ThreadQuerySetWin32StartAddress [sdk] */
extern NTSTATUS (WINAPI *pNtSetInformationThread)( HANDLE, ULONG, PVOID, ULONG );

#ifndef STATUS_SUCCESS
#define STATUS_SUCCESS               ((NTSTATUS)0x00000000)
#endif
#ifndef STATUS_TIMEOUT
#define STATUS_TIMEOUT               ((NTSTATUS)0x00000102)
#endif
#ifndef STATUS_INVALID_INFO_CLASS
#define STATUS_INVALID_INFO_CLASS    ((NTSTATUS)0xC0000003)
#endif
#ifndef STATUS_INFO_LENGTH_MISMATCH
#define STATUS_INFO_LENGTH_MISMATCH  ((NTSTATUS)0xC0000004)
#endif
#ifndef STATUS_ACCESS_DENIED
#define STATUS_ACCESS_DENIED         ((NTSTATUS)0xC0000022)
#endif
#undef STATUS_INVALID_HANDLE
#define STATUS_INVALID_HANDLE        ((NTSTATUS)0xC0000008)
#undef STATUS_INVALID_PARAMETER
#define STATUS_INVALID_PARAMETER     ((NTSTATUS)0xC000000D)
#ifndef STATUS_NOT_SUPPORTED
#define STATUS_NOT_SUPPORTED         ((NTSTATUS)0xC00000BB)
#endif
#ifndef STATUS_INTERNAL_ERROR
#define STATUS_INTERNAL_ERROR        ((NTSTATUS)0xC00000E5)
#endif
#ifndef STATUS_RETRY
#define STATUS_RETRY                 ((NTSTATUS)0xC000022D)
#endif
#ifndef STATUS_INVALID_THREAD
#define STATUS_INVALID_THREAD        ((NTSTATUS)0xC000071C)
#endif

/* ---- the vocabulary ----
 *
 *   START_TEST( name ) { ... }       body of a test; its line in tests.list.h is X( group, name, seconds )
 *   ok( cond, fmt, ... )             must hold everywhere; evaluates to cond
 *   unverified ok( ... )             evidence is [guess] or contested: counted apart; a failure is a finding on Windows
 *                                    ("refuted") and an error on the shim
 *   todo_shim( issue ) ok( ... )     known gap of ours, issue number obligatory; passing on the shim is an error
 *   ok( a || quirk( b, "7600" ), ... )   an answer that one Windows build gives; never accepted from the shim
 *   if (!need( Name )) return;       pName exists; missing is a skip on Windows, an error in the shim
 *   skip( fmt, ... )                 the machine lacks something
 *   observe( key, fmt, ... )         prints "= key: value"; no addresses, ids or times
 *   push( fmt, ... ) / pop()         context in loops, printed before each message
 *
 * All of it is for plain threads only: on a UMS worker or in a SchedulerProc a call is not carried
 * out and fails the test. There, write into an array and let the main thread check it afterwards
 * (umslib.h has one). ok, observe, push and pop leave the last error alone. Messages end with a
 * newline.
 */
#define START_TEST( name )  void test_##name( void ); void test_##name( void )

/* the condition before the message's arguments: GetLastError among them is the condition's */
#define ok( cond, ... ) \
    ({ const int cond_ = !!(cond); umstest_ok( __FILE__, __LINE__, cond_, __VA_ARGS__ ); })
#define unverified          umstest_mark_unverified(),
#define todo_shim( issue )  umstest_mark_todo( issue ),
#define quirk( cond, build ) ((cond) && umstest_quirk( build ))
#define need( name )        umstest_need( p##name != NULL, #name )
#define skip( ... )         umstest_skip( __FILE__, __LINE__, __VA_ARGS__ )
#define observe( key, ... ) umstest_observe( key, __VA_ARGS__ )

#define UMSTEST_PRINTF( f, a ) __attribute__((format( gnu_printf, f, a )))

int umstest_ok( const char *file, int line, int cond, const char *fmt, ... ) UMSTEST_PRINTF( 4, 5 );
void umstest_mark_unverified( void );
void umstest_mark_todo( int issue );
int  umstest_quirk( const char *build );
int  umstest_need( int present, const char *name );
void umstest_skip( const char *file, int line, const char *fmt, ... ) UMSTEST_PRINTF( 3, 4 );
void umstest_observe( const char *key, const char *fmt, ... ) UMSTEST_PRINTF( 2, 3 );
void push( const char *fmt, ... ) UMSTEST_PRINTF( 1, 2 );
void pop( void );

/* A comment in the output. */
void trace( const char *fmt, ... ) UMSTEST_PRINTF( 1, 2 );

/* TRUE if the entry points are ours (shim, or bound and redirected), FALSE on a Windows that has
 * UMS. */
int umstest_is_shim( void );

/* How often the test has stopped a thread: only then may a worker that was delivered be refused. */
extern volatile LONG umstest_stops;
/* Whoever tries an Execute again that was refused adds its error here, on any thread, before it does. The harness judges
   them when the test is over: on Windows ERROR_RETRY may come, in the shim nothing but what the test has stopped. */
void umstest_refused( DWORD error );
#define SuspendThread( thread )    (InterlockedIncrement( &umstest_stops ), SuspendThread( thread ))
#define TerminateThread( thread, code ) \
    (InterlockedIncrement( &umstest_stops ), TerminateThread( thread, code ))
#define GetThreadContext( thread, context ) \
    (InterlockedIncrement( &umstest_stops ), GetThreadContext( thread, context ))
#define SetThreadContext( thread, context ) \
    (InterlockedIncrement( &umstest_stops ), SetThreadContext( thread, context ))

/* A number from the environment, or the default: longer runs of the stress tests. */
int umstest_env( const char *name, int def );

/* How many lives a test tries that looks for leaks, or for a moment that comes by chance. */
static inline int umstest_lives( void )
{
    return umstest_env( "UMSTEST_LIVES", 400 );
}

/* For those that look for small pieces of memory, which have to add up. */
static inline int umstest_many_lives( void )
{
    return umstest_lives() * 5 / 2;
}

/* CreateProcess. Wine 8.0 loses one start in 10,000, without any UMS: then it is made again. */
BOOL umstest_create_process( const char *exe, char *command, BOOL inherit, DWORD flags,
                             STARTUPINFOA *startup, PROCESS_INFORMATION *process );

/* Pointers that are no context and no list. The stack and the heap one are readable. */
#define WILD_LOW            ((void *)0x10)

/* NtCurrentTeb(), but never kept in a register over a call: a worker's thread changes under it. */
static inline void *current_teb( void )
{
    void *teb;

    __asm__ __volatile__( "movq %%gs:0x30, %0" : "=r" (teb) : : "memory" );
    return teb;
}

/* Each wait in a test is bounded; say the bound in the message. 10,000 ms times UMSTEST_TIME_FACTOR: a
   machine can stand still for as long. */
extern unsigned umstest_wait_bound;
#define WAIT_BOUND          umstest_wait_bound

/* Any thread. Wait until `object` is signaled, WAIT_BOUND at most. A time-out or an error fails the test when it is over: a worker
   whose signal was lost may go on a moment before its scheduler gives up, and nothing else would notice. */
void wait_signaled( HANDLE object );
/* The same for waits of other kinds: this one ended without what it was for. Returns FALSE. */
BOOL umstest_missed( void );

/* Run a call with a poisoned last error: r = return value, e = last error, fetched at once. */
#define POISON              0xdeadbeef
#define CALL( r, e, expr ) \
    do { SetLastError( POISON ); (r) = (expr); (e) = GetLastError(); } while (0)

/* The frequent check: the call returns FALSE or NULL with this error and without a crash. */
#define FAILS( expr, error ) \
    do { \
        DWORD e_; \
        SetLastError( POISON ); \
        if ((expr)) e_ = 0; else e_ = GetLastError(); \
        ok( e_ == (DWORD)(error), "%s: expected failure %lu, got %s %lu\n", \
            #expr, (DWORD)(error), e_ ? "failure" : "success", e_ ); \
    } while (0)

#define UNVERIFIED_FAILS( expr, error ) \
    do { \
        DWORD e_; \
        SetLastError( POISON ); \
        if ((expr)) e_ = 0; else e_ = GetLastError(); \
        unverified ok( e_ == (DWORD)(error), "%s: expected failure %lu, got %s %lu\n", \
                       #expr, (DWORD)(error), e_ ? "failure" : "success", e_ ); \
    } while (0)

#endif /* UMSTEST_H */
