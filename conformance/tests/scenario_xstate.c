/*
 * Scenarios: the upper halves of the YMM registers of a suspended worker, by CONTEXT_XSTATE.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: 1.5, 3 (the handle is good for GetThreadContext). That what is behind a CONTEXT with CONTEXT_XSTATE is read and set
 * with the rest is how Windows works [doc: InitializeContext]; that it is so for workers is [guess]. A plain thread is asked
 * the same first: a host that cannot do it for that one says nothing about workers.
 */
#include <string.h>
#include "scenario_kit.h"

#define XSTATE_FLAG 0x100040                    /* CONTEXT_XSTATE */
#define FEATURE_AVX 2
#define MASK_AVX    4
#define WORDS       32                          /* of the upper halves of ymm0 .. 15 */

static BOOL    (WINAPI *pInitializeContext)( void *, DWORD, CONTEXT **, DWORD * );
static void   *(WINAPI *pLocateXStateFeature)( CONTEXT *, DWORD, DWORD * );
static BOOL    (WINAPI *pSetXStateFeaturesMask)( CONTEXT *, DWORD64 );
static DWORD64 (WINAPI *pGetEnabledXStateFeatures)( void );

struct halves
{
    volatile LONG there, go;
    ULONG64 in[WORDS], out[WORDS];
};

/* load the upper halves from in, set there, compute until go is set, store the upper halves */
void halves_compute( struct halves *halves );
/* the same, but nothing is in the upper halves, and the processor knows that */
void halves_idle( struct halves *halves );

__asm__( ".text\n"
         ".globl halves_compute\n"
         ".def halves_compute; .scl 2; .type 32; .endef\n"
         ".seh_proc halves_compute\n"
         "halves_compute:\n"
         "\t.seh_endprologue\n"
         "\t.irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
         "\tvinsertf128 $1,8+16*\\n(%rcx),%ymm\\n,%ymm\\n\n"
         "\t.endr\n"
         "halves_there:\n"
         "\tmovl $1,(%rcx)\n"
         "1:\tpause\n"
         "\tcmpl $0,4(%rcx)\n"
         "\tje 1b\n"
         "\t.irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
         "\tvextractf128 $1,%ymm\\n,264+16*\\n(%rcx)\n"
         "\t.endr\n"
         "\tvzeroupper\n"
         "\tret\n"
         "\t.seh_endproc\n"
         ".globl halves_idle\n"
         ".def halves_idle; .scl 2; .type 32; .endef\n"
         ".seh_proc halves_idle\n"
         "halves_idle:\n"
         "\t.seh_endprologue\n"
         "\tvzeroupper\n"
         "\tjmp halves_there\n"
         "\t.seh_endproc\n" );

static struct halves halves;
static void (*compute)( struct halves *halves );

static BOOL find_functions( void )
{
    HMODULE kernel32 = GetModuleHandleA( "kernel32.dll" );

    pInitializeContext = (void *)GetProcAddress( kernel32, "InitializeContext" );
    pLocateXStateFeature = (void *)GetProcAddress( kernel32, "LocateXStateFeature" );
    pSetXStateFeaturesMask = (void *)GetProcAddress( kernel32, "SetXStateFeaturesMask" );
    pGetEnabledXStateFeatures = (void *)GetProcAddress( kernel32, "GetEnabledXStateFeatures" );
    if (pInitializeContext && pLocateXStateFeature && pSetXStateFeaturesMask && pGetEnabledXStateFeatures &&
        (pGetEnabledXStateFeatures() & MASK_AVX)) return TRUE;
    skip( "no AVX here, or no functions for it\n" );
    return FALSE;
}

/* A CONTEXT for the upper halves alone, in buffer; they are at *upper. */
static CONTEXT *new_context( char *buffer, DWORD size, ULONG64 **upper )
{
    CONTEXT *context = NULL;
    DWORD length;

    if (!pInitializeContext( buffer, XSTATE_FLAG, &context, &size ) ||
        !pSetXStateFeaturesMask( context, MASK_AVX ) ||
        !(*upper = pLocateXStateFeature( context, FEATURE_AVX, &length )) || length < sizeof(halves.in)) return NULL;
    return context;
}

/* The thread computes, and is suspended: what it has, and what it is given. FALSE: the host cannot, or it went wrong. */
static BOOL look_and_set( HANDLE thread, BOOL judge )
{
    char buffer[8192];
    ULONG64 *upper;
    CONTEXT *context = new_context( buffer, sizeof(buffer), &upper );
    BOOL read_well, set;

    if (!context || !GetThreadContext( thread, context )) return FALSE;
    /* of what is not in use nothing need be stored [doc: Working with XState Context] */
    read_well = compute == halves_idle || !memcmp( upper, halves.in, sizeof(halves.in) );
    if (judge) unverified ok( read_well, "3 its upper halves are %llx %llx .., expected %llx %llx ..\n", upper[0], upper[1],
                              halves.in[0], halves.in[1] );
    memset( upper, 0x5a, sizeof(halves.in) );
    set = pSetXStateFeaturesMask( context, MASK_AVX ) && SetThreadContext( thread, context );
    if (judge) ok( set, "SetThreadContext: error %lu\n", GetLastError() );
    return read_well && set;
}

static void begin( void )
{
    int i;

    halves.there = halves.go = 0;
    for (i = 0; i < WORDS; i++) halves.in[i] = compute == halves_idle ? 0 : 0x1111111111111111 * (i % 15 + 1);
    memset( halves.out, 0, sizeof(halves.out) );
}

static BOOL was_set( void )
{
    int i;

    for (i = 0; i < WORDS; i++) if (halves.out[i] != 0x5a5a5a5a5a5a5a5a) return FALSE;
    return TRUE;
}

static DWORD WINAPI plain_body( void *arg )
{
    compute( arg );
    return 0;
}

static BOOL host_can( void )
{
    BOOL can = FALSE;
    HANDLE thread;

    begin();
    thread = CreateThread( NULL, 0, plain_body, &halves, 0, NULL );
    if (kit_wait_value( &halves.there, 1 ) && !SuspendThread( thread ))
    {
        can = look_and_set( thread, FALSE );
        ResumeThread( thread );
    }
    halves.go = 1;
    can = !WaitForSingleObject( thread, KIT_LIMIT ) && can && was_set();
    CloseHandle( thread );
    if (!can) skip( "this host does not do it for a plain thread\n" );
    return can;
}

static DWORD body( struct kit_worker *worker )
{
    (void)worker;
    compute( &halves );
    return 0;
}

static void look_at_worker( void (*which)( struct halves *halves ) )
{
    struct kit_worker *worker;

    compute = which;
    if (!find_functions() || !kit_open() || !host_can()) return;
    begin();
    worker = kit_add_worker( kit_add_sched( NULL )->list, body, NULL );
    kit_start();
    if (worker && ok( kit_wait_value( &halves.there, 1 ), "it does not run\n" ))
    {
        ok( !SuspendThread( worker->thread ), "SuspendThread: error %lu\n", GetLastError() );
        look_and_set( worker->thread, TRUE );
        halves.go = 1;
        ResumeThread( worker->thread );
    }
    halves.go = 1;
    kit_finish();
    unverified ok( was_set(), "5 it went on with the upper halves %llx %llx ..\n", halves.out[0], halves.out[1] );
    kit_check();
}

START_TEST( scenario_xstate_computing ) { look_at_worker( halves_compute ); }
START_TEST( scenario_xstate_unused )    { look_at_worker( halves_idle ); }
