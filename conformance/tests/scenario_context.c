/*
 * Scenarios: GetThreadContext and SetThreadContext of a suspended worker, wherever the suspension has
 * found it.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: 1.5 (a context is locked while it is changed), 3 (the handle is good for GetThreadContext),
 * 5 "suspended", B23, B27. That a thread's context, unwound, leads to the frames of its callers with
 * the registers that those wait for is how x64 Windows works [doc]; that it is so for workers is
 * [guess].
 */
#include <string.h>
#include "scenario_kit.h"

struct kept                                     /* what the ABI keeps across a call */
{
    ULONG64 rbx, rbp, rsi, rdi, r12, r13, r14, r15;
    M128A xmm6_15[10];
};

struct landed                                   /* all that a context has, xmm6 for the others */
{
    ULONG64 rax, rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15;
    M128A xmm6;
};

/* call func( arg ) with these registers. 0: it returned, with the registers in *out; 1: somebody has
   set this thread to framed_landing, with the registers in framed_landed. */
DWORD framed_call( const struct kept *in, struct kept *out, void (*func)( void *arg ), void *arg );
extern char framed_end[], framed_landing[];
extern struct landed framed_landed;             /* written by the assembly */

__asm__( ".text\n"
         ".globl framed_call, framed_end, framed_landing\n"
         ".def framed_call; .scl 2; .type 32; .endef\n"
         ".seh_proc framed_call\n"
         "framed_call:\n"
         "\tpushq %rbp\n\t.seh_pushreg %rbp\n"
         "\tpushq %rbx\n\t.seh_pushreg %rbx\n"
         "\tpushq %rsi\n\t.seh_pushreg %rsi\n"
         "\tpushq %rdi\n\t.seh_pushreg %rdi\n"
         "\tpushq %r12\n\t.seh_pushreg %r12\n"
         "\tpushq %r13\n\t.seh_pushreg %r13\n"
         "\tpushq %r14\n\t.seh_pushreg %r14\n"
         "\tpushq %r15\n\t.seh_pushreg %r15\n"
         "\tsubq $0xd8,%rsp\n\t.seh_stackalloc 0xd8\n"
         "\tmovaps %xmm6,0x20(%rsp)\n\t.seh_savexmm %xmm6,0x20\n"
         "\tmovaps %xmm7,0x30(%rsp)\n\t.seh_savexmm %xmm7,0x30\n"
         "\tmovaps %xmm8,0x40(%rsp)\n\t.seh_savexmm %xmm8,0x40\n"
         "\tmovaps %xmm9,0x50(%rsp)\n\t.seh_savexmm %xmm9,0x50\n"
         "\tmovaps %xmm10,0x60(%rsp)\n\t.seh_savexmm %xmm10,0x60\n"
         "\tmovaps %xmm11,0x70(%rsp)\n\t.seh_savexmm %xmm11,0x70\n"
         "\tmovaps %xmm12,0x80(%rsp)\n\t.seh_savexmm %xmm12,0x80\n"
         "\tmovaps %xmm13,0x90(%rsp)\n\t.seh_savexmm %xmm13,0x90\n"
         "\tmovaps %xmm14,0xa0(%rsp)\n\t.seh_savexmm %xmm14,0xa0\n"
         "\tmovaps %xmm15,0xb0(%rsp)\n\t.seh_savexmm %xmm15,0xb0\n"
         "\t.seh_endprologue\n"
         "\tmovq %rdx,0xc0(%rsp)\n"
         "\tmovups 0x40(%rcx),%xmm6\n"
         "\tmovups 0x50(%rcx),%xmm7\n"
         "\tmovups 0x60(%rcx),%xmm8\n"
         "\tmovups 0x70(%rcx),%xmm9\n"
         "\tmovups 0x80(%rcx),%xmm10\n"
         "\tmovups 0x90(%rcx),%xmm11\n"
         "\tmovups 0xa0(%rcx),%xmm12\n"
         "\tmovups 0xb0(%rcx),%xmm13\n"
         "\tmovups 0xc0(%rcx),%xmm14\n"
         "\tmovups 0xd0(%rcx),%xmm15\n"
         "\tmovq 0x00(%rcx),%rbx\n"
         "\tmovq 0x08(%rcx),%rbp\n"
         "\tmovq 0x10(%rcx),%rsi\n"
         "\tmovq 0x18(%rcx),%rdi\n"
         "\tmovq 0x20(%rcx),%r12\n"
         "\tmovq 0x28(%rcx),%r13\n"
         "\tmovq 0x30(%rcx),%r14\n"
         "\tmovq 0x38(%rcx),%r15\n"
         "\tmovq %r9,%rcx\n"
         "\tcall *%r8\n"
         "\txorl %eax,%eax\n"
         "1:\n"
         "\tmovq 0xc0(%rsp),%rcx\n"
         "\tmovups %xmm6,0x40(%rcx)\n"
         "\tmovups %xmm7,0x50(%rcx)\n"
         "\tmovups %xmm8,0x60(%rcx)\n"
         "\tmovups %xmm9,0x70(%rcx)\n"
         "\tmovups %xmm10,0x80(%rcx)\n"
         "\tmovups %xmm11,0x90(%rcx)\n"
         "\tmovups %xmm12,0xa0(%rcx)\n"
         "\tmovups %xmm13,0xb0(%rcx)\n"
         "\tmovups %xmm14,0xc0(%rcx)\n"
         "\tmovups %xmm15,0xd0(%rcx)\n"
         "\tmovq %rbx,0x00(%rcx)\n"
         "\tmovq %rbp,0x08(%rcx)\n"
         "\tmovq %rsi,0x10(%rcx)\n"
         "\tmovq %rdi,0x18(%rcx)\n"
         "\tmovq %r12,0x20(%rcx)\n"
         "\tmovq %r13,0x28(%rcx)\n"
         "\tmovq %r14,0x30(%rcx)\n"
         "\tmovq %r15,0x38(%rcx)\n"
         "\tmovaps 0x20(%rsp),%xmm6\n"
         "\tmovaps 0x30(%rsp),%xmm7\n"
         "\tmovaps 0x40(%rsp),%xmm8\n"
         "\tmovaps 0x50(%rsp),%xmm9\n"
         "\tmovaps 0x60(%rsp),%xmm10\n"
         "\tmovaps 0x70(%rsp),%xmm11\n"
         "\tmovaps 0x80(%rsp),%xmm12\n"
         "\tmovaps 0x90(%rsp),%xmm13\n"
         "\tmovaps 0xa0(%rsp),%xmm14\n"
         "\tmovaps 0xb0(%rsp),%xmm15\n"
         "\taddq $0xd8,%rsp\n"
         "\tpopq %r15\n"
         "\tpopq %r14\n"
         "\tpopq %r13\n"
         "\tpopq %r12\n"
         "\tpopq %rdi\n"
         "\tpopq %rsi\n"
         "\tpopq %rbx\n"
         "\tpopq %rbp\n"
         "\tret\n"
         "framed_landing:\n"
         "\tmovq %rax,framed_landed+0x00(%rip)\n"
         "\tmovq %rcx,framed_landed+0x08(%rip)\n"
         "\tmovq %rdx,framed_landed+0x10(%rip)\n"
         "\tmovq %rbx,framed_landed+0x18(%rip)\n"
         "\tmovq %rbp,framed_landed+0x20(%rip)\n"
         "\tmovq %rsi,framed_landed+0x28(%rip)\n"
         "\tmovq %rdi,framed_landed+0x30(%rip)\n"
         "\tmovq %r8,framed_landed+0x38(%rip)\n"
         "\tmovq %r9,framed_landed+0x40(%rip)\n"
         "\tmovq %r10,framed_landed+0x48(%rip)\n"
         "\tmovq %r11,framed_landed+0x50(%rip)\n"
         "\tmovq %r12,framed_landed+0x58(%rip)\n"
         "\tmovq %r13,framed_landed+0x60(%rip)\n"
         "\tmovq %r14,framed_landed+0x68(%rip)\n"
         "\tmovq %r15,framed_landed+0x70(%rip)\n"
         "\tmovups %xmm6,framed_landed+0x80(%rip)\n"
         "\tmovl $1,%eax\n"
         "\tjmp 1b\n"
         "framed_end:\n"
         "\t.seh_endproc\n" );

struct landed framed_landed;

/* ---- the places where a suspension may find a worker ---- */

enum place { YIELDED, WAITING, SLEEPING, COMPUTING, COMPUTING_AT_HOME, PLACES };
static const char *const place_names[] = { "yielded", "waiting", "sleeping", "computing",
                                           "computing after a call" };

static enum place place;
static volatile LONG arrived, stop, ran;
static HANDLE event;
static struct kept in, out;
static struct kit_worker *worker;
static DWORD framed_ret;

static void be_there( void *arg )
{
    ULONG flags;

    arrived = 1;
    switch (place)
    {
    case YIELDED:  kit_park( arg ); break;
    case WAITING:  WaitForSingleObject( event, INFINITE ); break;
    case SLEEPING: while (!stop) Sleep( 1 ); break;
    case COMPUTING_AT_HOME:
        GetHandleInformation( event, &flags );  /* a call that is over at once */
        while (!stop) ran++;
        break;
    default:
        while (!stop) ran++;
    }
}

static DWORD body( struct kit_worker *self )
{
    DWORD id;

    kit_yield( self, NULL );
    framed_ret = framed_call( &in, &out, be_there, self );
    id = GetCurrentThreadId();
    if (framed_ret && place == YIELDED) InterlockedIncrement( &self->yields_made );
    return id == self->id && pGetCurrentUmsThread() == self->context ? 1 : 2;
}

static void fill( void *mem, size_t size, BYTE first )
{
    BYTE *p = mem;

    while (size--) *p++ = first += 7;
}

/* The worker is there, and suspended. */
static BOOL bring_there( enum place where )
{
    struct kit_sched *sched;

    place = where;
    arrived = stop = ran = 0;
    fill( &in, sizeof(in), 3 );
    memset( &out, 0, sizeof(out) );
    memset( &framed_landed, 0, sizeof(framed_landed) );
    if (!kit_open()) return FALSE;
    event = CreateEventW( NULL, TRUE, FALSE, NULL );
    sched = kit_add_sched( NULL );
    worker = kit_add_worker( sched->list, body, NULL );
    kit_start();
    if (!ok( worker && kit_wait_value( &arrived, 1 ), "it did not get there\n" )) return FALSE;
    switch (where)
    {
    case YIELDED:
        ok( kit_wait_value( &worker->parked, 1 ), "no Yield upcall\n" );
        break;
    case WAITING:
    case SLEEPING:
        while (!worker->blocks && !sched->timeouts) Sleep( 1 );
        break;
    default:
        while (!ran && !sched->timeouts) Sleep( 1 );
    }
    return ok( SuspendThread( worker->thread ) == 0, "SuspendThread: error %lu\n", GetLastError() );
}

static void let_it_end( void )
{
    ok( ResumeThread( worker->thread ) == 1, "ResumeThread: error %lu\n", GetLastError() );
    stop = 1;
    SetEvent( event );
    if (place == YIELDED) kit_ready( worker, &kit.scheds[0] );
}

static void finish( void )
{
    DWORD code = 0, wait, ret;

    kit_finish();
    wait = WaitForSingleObject( worker->thread, KIT_LIMIT );
    ret = GetExitCodeThread( worker->thread, &code );
    ok( !wait && ret && code == 1,
        "B23, B27: wait %lu, ret %lu, error %lu, exit code %lu (2: it went on as another thread)\n",
        wait, ret, GetLastError(), code );
    kit_check();
    CloseHandle( event );
}

/* Leave the frames of functions until that of framed_call. */
static BOOL unwind_to_frame( CONTEXT *context )
{
    int depth;

    for (depth = 0; depth < 30; depth++)
    {
        ULONG64 base, frame;
        RUNTIME_FUNCTION *function;
        void *data;

        if (context->Rip - (ULONG_PTR)framed_call < (ULONG_PTR)framed_end - (ULONG_PTR)framed_call)
            return TRUE;
        if (!context->Rip) return FALSE;
        if ((function = RtlLookupFunctionEntry( context->Rip, &base, NULL )))
            RtlVirtualUnwind( UNW_FLAG_NHANDLER, base, context->Rip, function, context, &data,
                              &frame, NULL );
        else
        {
            context->Rip = *(ULONG64 *)context->Rsp;
            context->Rsp += 8;
        }
    }
    return FALSE;
}

static BOOL read_frame( CONTEXT *context )
{
    memset( context, 0, sizeof(*context) );
    context->ContextFlags = CONTEXT_FULL;
    if (!ok( GetThreadContext( worker->thread, context ), "3 GetThreadContext: error %lu\n",
             GetLastError() )) return FALSE;
    return unverified ok( unwind_to_frame( context ), "3 its frames do not lead to its caller\n" );
}

static void check_kept( const CONTEXT *context )
{
    struct kept found = { context->Rbx, context->Rbp, context->Rsi, context->Rdi, context->R12,
                          context->R13, context->R14, context->R15, { { 0 } } };

    memcpy( found.xmm6_15, &context->Xmm6, sizeof(found.xmm6_15) );
    unverified ok( !memcmp( &found, &in, offsetof( struct kept, xmm6_15 ) ),
                   "3 the general registers of its caller are not as they were\n" );
    unverified ok( !memcmp( found.xmm6_15, in.xmm6_15, sizeof(in.xmm6_15) ),
                   "3 the vector registers of its caller are not as they were\n" );
}

static void get_context( enum place where )
{
    CONTEXT context;

    push( "%s", place_names[where] );
    if (!bring_there( where )) goto done;
    if (read_frame( &context )) check_kept( &context );
    let_it_end();
    finish();
    ok( !framed_ret && !memcmp( &out, &in, sizeof(in) ), "B27: it went on with other registers\n" );
done:
    pop();
}

START_TEST( scenario_context_get_yielded )   { get_context( YIELDED ); }
START_TEST( scenario_context_get_waiting )   { get_context( WAITING ); }
START_TEST( scenario_context_get_sleeping )  { get_context( SLEEPING ); }
START_TEST( scenario_context_get_computing ) { get_context( COMPUTING ); }
START_TEST( scenario_context_get_at_home )   { get_context( COMPUTING_AT_HOME ); }

/* ---- new registers ---- */

static void check_landed( const CONTEXT *context )
{
    struct landed *l = &framed_landed;

    ok( l->rbx == context->Rbx && l->rbp == context->Rbp && l->rsi == context->Rsi &&
        l->rdi == context->Rdi && l->r12 == context->R12 && l->r13 == context->R13 &&
        l->r14 == context->R14 && l->r15 == context->R15, "5 not all of rbx .. r15 are as set\n" );
    unverified ok( l->rax == context->Rax && l->rcx == context->Rcx && l->rdx == context->Rdx &&
                   l->r8 == context->R8 && l->r9 == context->R9 && l->r10 == context->R10 &&
                   l->r11 == context->R11, "5 not all of rax .. r11 are as set\n" );
    ok( !memcmp( &l->xmm6, &context->Xmm6, sizeof(M128A) ), "5 xmm6 is not as set\n" );
}

/* Whoever sets the registers of a suspended thread finds them there, and the thread goes on with
   them when it is resumed, and executed: not before. */
static void set_context( enum place where )
{
    CONTEXT context, again;
    LONG executes = 0;

    push( "%s", place_names[where] );
    if (!bring_there( where )) goto done;
    if (read_frame( &context ))
    {
        fill( &context.Rax, 4 * 8, 21 );
        fill( &context.Rbp, 11 * 8, 60 );
        fill( &context.Xmm6, sizeof(M128A), 90 );
        context.Rip = (ULONG_PTR)framed_landing;
        context.ContextFlags = CONTEXT_FULL;
        executes = worker->executes;
        ok( SetThreadContext( worker->thread, &context ), "SetThreadContext: error %lu\n",
            GetLastError() );
        again.ContextFlags = CONTEXT_FULL;
        ok( GetThreadContext( worker->thread, &again ), "GetThreadContext: error %lu\n",
            GetLastError() );
        unverified ok( again.Rip == context.Rip && again.Rsp == context.Rsp &&
                       !memcmp( &again.Rbp, &context.Rbp, 11 * 8 ) && again.Rbx == context.Rbx,
                       "5 GetThreadContext gives something else than what was set\n" );
        /* a sleeping one may be tried to be executed meanwhile */
        ok( !framed_landed.rbx && (where == SLEEPING || worker->executes == executes),
            "5 it went on while suspended\n" );
    }
    let_it_end();
    finish();
    if (ok( framed_ret == 1, "5 it did not go on where it was set to\n" )) check_landed( &context );
    ok( where == SLEEPING || worker->executes > executes, "5 it was not executed\n" );
done:
    pop();
}

START_TEST( scenario_context_set_yielded )   { set_context( YIELDED ); }
START_TEST( scenario_context_set_waiting )   { set_context( WAITING ); }
START_TEST( scenario_context_set_sleeping )  { set_context( SLEEPING ); }
START_TEST( scenario_context_set_computing ) { set_context( COMPUTING ); }
START_TEST( scenario_context_set_at_home )   { set_context( COMPUTING_AT_HOME ); }

/* What ContextFlags does not name is not set [doc: CONTEXT]: rubbish here. What belongs to which part is in winnt.h [hdr], but Wine has Rbp with
   CONTEXT_CONTROL [seen: 8.0, 10.0, a thread that the shim has nothing to do with]. */
static void set_part( const CONTEXT *context, DWORD part )
{
    CONTEXT only;

    memset( &only, 0xa5, sizeof(only) );
    only.ContextFlags = part;
    switch (part)
    {
    case CONTEXT_CONTROL:
        only.Rip = context->Rip;
        only.Rsp = context->Rsp;
        only.Rbp = context->Rbp;
        only.EFlags = context->EFlags;
        only.SegCs = context->SegCs;
        only.SegSs = context->SegSs;
        break;
    case CONTEXT_INTEGER:
        memcpy( &only.Rax, &context->Rax, 4 * 8 );      /* Rcx, Rdx and Rbx are behind it, then Rsp */
        memcpy( &only.Rbp, &context->Rbp, 11 * 8 );     /* .. R15 */
        break;
    default:
        only.MxCsr = context->MxCsr;
        only.FltSave = context->FltSave;
    }
    ok( SetThreadContext( worker->thread, &only ), "SetThreadContext of part %#lx: error %lu\n", part, GetLastError() );
}

/* Its registers are set part by part. */
static void set_parts( enum place where )
{
    CONTEXT context;

    push( "%s", place_names[where] );
    if (!bring_there( where )) goto done;
    if (read_frame( &context ))
    {
        fill( &context.Rax, 4 * 8, 21 );
        fill( &context.Rbp, 11 * 8, 60 );
        fill( &context.Xmm6, sizeof(M128A), 90 );
        context.Rip = (ULONG_PTR)framed_landing;
        set_part( &context, CONTEXT_CONTROL );
        set_part( &context, CONTEXT_INTEGER );
        set_part( &context, CONTEXT_FLOATING_POINT );
    }
    let_it_end();
    finish();
    if (ok( framed_ret == 1, "5 it did not go on where it was set to\n" )) check_landed( &context );
done:
    pop();
}

START_TEST( scenario_context_set_parts )           { set_parts( YIELDED ); }
START_TEST( scenario_context_set_parts_computing ) { set_parts( COMPUTING ); }
START_TEST( scenario_context_set_parts_at_home )   { set_parts( COMPUTING_AT_HOME ); }

/* Nobody has suspended it: it is parked all the same, and stays so. */
START_TEST( scenario_context_set_parked )
{
    CONTEXT context;

    if (!bring_there( YIELDED )) return;
    ok( ResumeThread( worker->thread ) == 1, "ResumeThread: error %lu\n", GetLastError() );
    if (read_frame( &context ))
    {
        check_kept( &context );
        context.Rip = (ULONG_PTR)framed_landing;
        context.R15 = 0x1515;
        context.ContextFlags = CONTEXT_CONTROL | CONTEXT_INTEGER;
        ok( SetThreadContext( worker->thread, &context ), "SetThreadContext: error %lu\n",
            GetLastError() );
    }
    ok( !framed_landed.r15, "1.5 it went on without being executed\n" );
    SetEvent( event );
    kit_ready( worker, &kit.scheds[0] );
    finish();
    ok( framed_ret == 1 && framed_landed.r15 == 0x1515, "5 it did not go on where it was set to\n" );
    ok( !memcmp( &framed_landed.xmm6, &in.xmm6_15[0], sizeof(M128A) ), "5 xmm6 is not as it was\n" );
}

START_TEST( scenario_context_bad_input )
{
    CONTEXT context = { .ContextFlags = CONTEXT_FULL };
    HANDLE few;

    if (!bring_there( YIELDED )) return;
    DuplicateHandle( GetCurrentProcess(), worker->thread, GetCurrentProcess(), &few,
                     THREAD_QUERY_INFORMATION, FALSE, 0 );
    SetLastError( 0 );
    ok( !SetThreadContext( few, &context ) && GetLastError() == ERROR_ACCESS_DENIED,
        "a handle that may not: error %lu\n", GetLastError() );
    SetLastError( 0 );
    ok( !GetThreadContext( few, &context ) && GetLastError() == ERROR_ACCESS_DENIED,
        "a handle that may not: error %lu\n", GetLastError() );
    CloseHandle( few );
    let_it_end();
    finish();
    ok( !framed_ret && !memcmp( &out, &in, sizeof(in) ), "B27: it went on with other registers\n" );
}

/* ---- somebody reads its registers, somebody else suspends it ---- */

#define MEANWHILE 400

static volatile LONG read_enough, reads;

static DWORD WINAPI read_all_the_time( void *arg )
{
    CONTEXT context;
    DWORD failed = 0;

    (void)arg;
    while (!read_enough)
    {
        context.ContextFlags = CONTEXT_FULL;
        if (!GetThreadContext( worker->thread, &context )) failed++;
        reads++;
    }
    return failed;
}

/* Each keeps the worker where it is for a moment. It goes on after each resume. */
START_TEST( scenario_context_meanwhile )
{
    HANDLE reader;
    DWORD failed = 0, ret;
    int i, stuck = 0;

    if (!bring_there( COMPUTING_AT_HOME )) return;
    reader = CreateThread( NULL, 0, read_all_the_time, NULL, 0, NULL );
    ok( kit_leaves( &reads, 0 ), "the reader does not begin\n" );
    for (i = 0; i < MEANWHILE && !stuck; i++)
    {
        ULONGLONG limit = GetTickCount64() + KIT_LIMIT;
        LONG before = ran;

        if (ResumeThread( worker->thread ) == ~0u) failed++;
        if (i & 1) while (ran == before && GetTickCount64() < limit) SwitchToThread();
        if ((i & 1) && ran == before) stuck++;
        if (SuspendThread( worker->thread ) == ~0u) failed++;
    }
    ok( !stuck, "5 it did not go on after resume %d\n", i );
    /* before the worker: one that has ended has no registers to be read */
    read_enough = 1;
    ok( !WaitForSingleObject( reader, KIT_LIMIT ), "the reader does not end\n" );
    if (!ok( GetExitCodeThread( reader, &ret ), "no exit code: error %lu\n", GetLastError() ))
        ret = 0;
    ok( !ret && !failed, "%lu and %lu calls failed\n", ret, failed );
    CloseHandle( reader );
    let_it_end();
    finish();
}

/* ---- somebody reads its registers, its scheduler executes it ---- */

#define READS 300

static DWORD yielding_body( struct kit_worker *self )
{
    arrived = 1;
    while (!stop) kit_yield( self, NULL );
    return 1;
}

/* Nobody suspends it: an Execute that comes while the registers are read is to be tried again, and
   IsSuspended is FALSE all the time. */
START_TEST( scenario_context_get_executed )
{
    LONG said_suspended = 0;
    HANDLE reader;

    if (!kit_open()) return;
    worker = kit_add_worker( kit_add_sched( NULL )->list, yielding_body, NULL );
    kit_start();
    if (!ok( worker && kit_wait_value( &arrived, 1 ), "it did not start\n" )) return;
    reader = CreateThread( NULL, 0, read_all_the_time, NULL, 0, NULL );
    while (reads < READS && !kit.scheds[0].timeouts)
    {
        ULONG length;
        UCHAR flag = 0;

        pQueryUmsThreadInformation( worker->context, UmsThreadIsSuspended, &flag, sizeof(flag),
                                    &length );
        said_suspended += flag;
    }
    read_enough = 1;
    ok( !WaitForSingleObject( reader, KIT_LIMIT ), "the reader does not end\n" );
    CloseHandle( reader );
    stop = 1;
    kit_finish();
    ok( !worker->suspended && !said_suspended,
        "5 %ld executes failed as if it were suspended, IsSuspended was TRUE %ld times\n",
        worker->suspended, said_suspended );
    ok( !kit.scheds[0].refused, "5 %ld executes failed with ERROR_INVALID_PARAMETER\n", kit.scheds[0].refused );
    kit_check();
}
