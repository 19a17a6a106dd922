/*
 * The assembly files of ntdll_ums, linked in here and played by one plain thread: a scheduler and a
 * worker whose TEB is the thread's own, so that every switch goes from one of its stacks to another.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <string.h>
#include <windows.h>
#include "core/ums_core.h"
#include "syscalls/hook/hook.h"
#include "host/asm_offsets.h"
#include "host/ke_win32.h"
#include "steps.h"

uint64_t as_thunk( uint64_t nr, void (*hook)( void ) );
uint64_t as_stub( uint64_t row, void (*hook)( void ) );
uint64_t as_own_call( uint64_t number, void (*hook)( void ) );
void plain_dispatcher( void );
void early_dispatcher( void );
uint64_t through_step_over( uint64_t (*function)( void ) );
void preempt_here( struct ums_context *w, struct ums_scheduler *s, CONTEXT *context );
extern uint32_t ums_tls_offset, ums_hand_offset;
extern char ums_linux_syscall_end[];

#define STACK 0x20000

static struct ums_scheduler s;
static struct ums_context w;
static char __attribute__((aligned( 4096 ))) worker_stack[STACK], home[STACK];
static int round_trips, parked_calls, preemptions, stacks_back, hook_calls, looks, by_stub, wrong_keys, calls_over, calls_begun;
uint64_t own_call_sp;                           /* written by as_own_call */

static char *teb( void )
{
    char *ret;

    __asm__ volatile( "movq %%gs:0x30, %0" : "=r" (ret) );
    return ret;
}

/* ---- what the assembly calls ---- */

void *ums_unix_dispatcher = plain_dispatcher;

uint64_t ums_unix_call( uint64_t library, uint32_t code, void *args )
{
    (void)library; (void)code; (void)args;
    hook_calls++;
    return 0x77;
}

uint64_t ums_unix_hand_call( uint64_t library, uint32_t code, void *args )
{
    hook_calls++;
    return ums_unix_plain( library, code, args );
}

_Atomic uint32_t ums_objects_made;

uint64_t ums_unix_look( uint64_t library, uint32_t code, void *args )
{
    return ums_unix_plain( library, code, args );
}

/* Half of them are answered there, one of each hook. */
int ums_object_look( struct ums_call *call, uint64_t *ret )
{
    int n = looks & 3;

    wrong_keys += call_key_is_row( call->key ) != by_stub;
    *ret = 0x77;
    looks++;
    return !n || n == 3;
}

void ums_stack_overflow( void );
void ums_stack_overflow( void )                 /* there is room */
{
}

uint64_t ums_hook_call( struct ums_call *call )
{
    wrong_keys += call_key_is_row( call->key ) != by_stub || call_key_index( call->key ) > 5;
    hook_calls++;
    return 0x77;
}

/* sp: what the stack pointer is when as_own_call's call has returned. */
uint64_t ke_call_over( uint64_t result, uintptr_t sp )
{
    calls_over++;
    wrong_keys += sp != own_call_sp;
    return result;
}

void ke_call_begins( struct ums_context *worker, uintptr_t returns )
{
    calls_begun++;
    wrong_keys += worker != &w || returns != own_call_sp;
}

void ums_apc_begins( void )                     /* nothing of the kernel enters here */
{
}

static _Noreturn void back_to_scheduler( struct ums_scheduler *scheduler, struct ums_context *worker,
                                         uintptr_t arg )
{
    (void)worker;
    ke_scheduler_upcall( scheduler, 1, arg, NULL );
}

_Noreturn void ums_left_preempted( struct ums_scheduler *scheduler, struct ums_context *worker,
                                   uintptr_t unused )
{
    preemptions++;
    back_to_scheduler( scheduler, worker, unused );
}

_Noreturn void ke_continue( struct ums_context *worker )
{
    ke_load_preempted( worker, worker->teb );   /* nobody gives it other registers */
}

void ke_scheduler_stack_back( struct ums_scheduler *scheduler )
{
    scheduler->stack_base = ((NT_TIB *)teb())->StackBase;
    stacks_back++;
}

/* ---- the worker ---- */

static void parked( struct ums_context *worker, void *arg )
{
    (void)worker;
    if (arg == &w) parked_calls++;
}

static void worker_main( void )
{
    static const uint16_t unmasked = 0x37e;
    CONTEXT *context = (CONTEXT *)w.context;
    int i;

    steps_root_bottom = steps_root_top = NULL;
    for (i = 0; i < 5; i++)
    {
        if (i == 2) s.stack_base = worker_stack;        /* not what the TEB says */
        if (i == 3) __asm__ volatile( "fld1\n\tfldz\n\tfdivrp\n\tfstp %st(0)" );
        if (i == 4) __asm__ volatile( "fldcw %0" : : "m" (unmasked) );
        anchor_call( &anchors[1], ke_leave_carrier, (uint64_t)&w, (uint64_t)&s,
                     (uint64_t)back_to_scheduler, 1 );
    }
    __asm__ volatile( "fninit" );
    steps_root_bottom = home;
    steps_root_top = home + STACK;
    anchor_call( &anchors[1], ke_switch_home, (uint64_t)&w, (uint64_t)parked, (uint64_t)&w, 0 );
    steps_root_bottom = steps_root_top = NULL;
    anchor_call( &anchors[1], ke_switch_in_place, (uint64_t)&w, (uint64_t)parked, (uint64_t)&w, 0 );

    RtlCaptureContext( context );               /* segments; the rest is what preempt_here was called
                                                   with, and goes the same way */
    context->EFlags |= EFLAGS_TF;
    w.preempted = 1;
    context->Rbx = (uint64_t)&anchors[1];
    context->Rbp = context->Rbx + 1;
    context->Rsi = context->Rbx + 2;
    context->Rdi = context->Rbx + 3;
    context->R12 = context->Rbx + 4;
    context->R13 = context->Rbx + 5;
    context->R14 = context->Rbx + 6;
    context->R15 = context->Rbx + 7;
    anchor_call( &anchors[1], preempt_here, (uint64_t)&w, (uint64_t)&s, (uint64_t)context, 0 );
    anchor_call( &anchors[1], ke_leave_carrier, (uint64_t)&w, (uint64_t)&s,
                 (uint64_t)back_to_scheduler, 0 );
}

/* ---- the scheduler: executes its worker as long as that wants ---- */

static void scheduler_proc( uint32_t reason, uintptr_t payload, void *param )
{
    (void)param;
    round_trips++;
    if (reason == 1 && !payload && !w.preempted) return;
    ke_carry( &s, &w );
}

static void make_worker( void )
{
    struct ke_user_part *part = (void *)(worker_stack + STACK - 0x40 - sizeof(*part));

    memset( part, 0, sizeof(*part) );
    part->mxcsr = 0x1f80;
    part->control_word = 0x37f;
    part->rip = (uint64_t)ke_call_rbx;
    part->rbx = (uint64_t)worker_main;
    w.sp = part;
    w.teb = teb();
    w.home = home + STACK;
    steps_root_bottom = worker_stack;           /* until it runs */
    steps_root_top = worker_stack + STACK;
}

static void play_switch( int by_syscall )
{
    struct place places[] =
    {
        { "ke_scheduler_run", ke_scheduler_run, 0 },
        { "ke_scheduler_upcall", ke_scheduler_upcall, 0 },
        { "ke_leave_carrier", ke_leave_carrier, 0 },
        { "ke_carry", ke_carry, 0 },
        { "ke_preempted", ke_preempted, 0 },
        { "ke_switch_home", ke_switch_home, 0 },
        { "ke_switch_in_place", ke_switch_in_place, 0 },
        { "ums_set_teb", ums_set_teb, 0 },
        { "ke_call_rbx", ke_call_rbx, 0 },
    };

    memset( &s, 0, sizeof(s) );
    s.proc = (void (*)( void ))scheduler_proc;
    s.teb = teb();
    make_worker();
    ums_gs_by_syscall = by_syscall;
    round_trips = parked_calls = preemptions = stacks_back = 0;

    steps_name( places, ARRAYSIZE( places ) );
    steps_begin();
    trap_on();
    anchor_call( &anchors[0], ke_scheduler_run, (uint64_t)&s, 0, 0, 0 );
    anchor_call( &anchors[0], ums_set_teb, (uint64_t)teb(), 0, 0, 0 );
    steps_end( by_syscall ? "switch, GS by system call" : "switch" );
    ok( round_trips == 8 && parked_calls == 2 && preemptions == 1 && stacks_back == 1,
        "%d round trips, %d times parked, %d times preempted, %d stacks", round_trips, parked_calls,
        preemptions, stacks_back );
}

/* ---- hooks ---- */

static uint64_t seven( void )
{
    return 7;
}

static void play_hooks( void )
{
    struct place places[] =
    {
        { "ums_dispatcher_hook", ums_dispatcher_hook, 0 },
        { "ums_stub_hook", ums_stub_hook, 0 },
        { "ums_unix_hook", ums_unix_hook, 0 },
        { "ums_unix_plain", ums_unix_plain, 0 },
        { "ums_dispatcher_frame", ums_dispatcher_frame, 0 },
        { "ums_stub_frame", ums_stub_frame, 0 },
        { "ums_own_call", ums_own_call, 0 },
        { "ums_own_call_step", ums_own_call_step, 0 },
        { "ums_dispatcher_look", ums_dispatcher_look, 0 },
        { "ums_stub_look", ums_stub_look, 0 },
        { "ums_step_over", ums_step_over, 0 },
        { "ums_call_dispatcher", ums_call_dispatcher, 0 },
        { "ums_call_stub", ums_call_stub, 0 },
        { "ums_try_store", ums_try_store, 0 },
        { "ums_try_store32", ums_try_store32, 0 },
        { "ums_try_load", ums_try_load, 0 },
        { "ums_try_gs", ums_try_gs, 0 },
        { "ums_linux_syscall", ums_linux_syscall, 0 },
    };
    static uint64_t args[4 + CALL_STACK_ARGS], word;
    DWORD slot = TlsAlloc(), hand_slot = TlsAlloc();
    uint64_t classes[] = { 0, HOOK_WORKERS, HOOK_ALL, HOOK_CARRIED, HOOK_LOOK | HOOK_WORKERS,
                           HOOK_LOOK | HOOK_ALL }, i, wrong = 0;
    int state;

    ums_tls_offset = 0x1480 + 8 * slot;         /* TlsSlots [sdk] */
    ums_hand_offset = 0x1480 + 8 * hand_slot;
    ok( slot < 64 && hand_slot < 64, "TLS slots %lu, %lu", slot, hand_slot );
    for (i = 0; i < ARRAYSIZE(classes); i++)
    {
        ums_call_class[i] = (uint8_t)classes[i];
        ums_stub_native[i] = plain_dispatcher;
    }
    ums_dispatcher = plain_dispatcher;
    hook_calls = 0;

    steps_name( places, ARRAYSIZE( places ) );
    steps_begin();
    trap_on();
    for (state = 0; state < 6; state++)
    {
        w.kind = state == 3 || state == 5 ? CONTEXT_SCHEDULER : CONTEXT_WORKER;
        w.word = state == 2 ? WORKER_CARRIED : WORKER_RUNNING;
        TlsSetValue( slot, state && state != 4 ? &w : NULL );
        TlsSetValue( hand_slot, state >= 4 ? &word : NULL );
        for (i = 0; i < ARRAYSIZE(classes); i++)
        {
            wrong += anchor_call( &anchors[0], as_thunk, i, (uint64_t)ums_dispatcher_hook, 0,
                                  0 ) != 0x77;
            if (!i) continue;                   /* each row has a class */
            by_stub = 1;
            wrong += anchor_call( &anchors[0], as_stub, i, (uint64_t)ums_stub_hook, 0, 0 ) != 0x77;
            by_stub = 0;
        }
        wrong += anchor_call( &anchors[0], ums_unix_hook, 0, 0, 0, 0 ) != 0x77;
    }
    w.kind = CONTEXT_WORKER;
    w.set = 1;
    TlsSetValue( slot, &w );
    wrong += anchor_call( &anchors[0], as_own_call, 1, (uint64_t)ums_own_call, 0, 0 ) != 0x77;
    w.set = 0;
    TlsSetValue( slot, NULL );
    TlsSetValue( hand_slot, NULL );
    ums_objects_made = 1;
    wrong += anchor_call( &anchors[0], ums_unix_hook, 0, 0, 0, 0 ) != 0x77;
    ums_objects_made = 0;
    wrong += anchor_call( &anchors[0], ums_call_dispatcher, 1, (uint64_t)args, 0, 0 ) != 0x77;
    ums_dispatcher = early_dispatcher;
    wrong += anchor_call( &anchors[0], ums_call_dispatcher, 1, (uint64_t)args, 0, 0 ) != 0x77;
    wrong += anchor_call( &anchors[0], ums_call_stub, (uint64_t)plain_dispatcher, (uint64_t)args, 0,
                          0 ) != 0x77;
    wrong += anchor_call( &anchors[0], through_step_over, (uint64_t)seven, 0, 0, 0 ) != 7;
    wrong += anchor_call( &anchors[0], as_own_call, 1, (uint64_t)ums_own_call, 0, 0 ) != 0x77;
    wrong += anchor_call( &anchors[0], as_own_call, 1, (uint64_t)ums_own_call_step, 0, 0 ) != 0x77;
    wrong += (int)anchor_call( &anchors[0], ums_try_store, (uint64_t)&word, 1, 0, 0 ) != 1;
    wrong += (int)anchor_call( &anchors[0], ums_try_store, 8, 1, 0, 0 ) != 0;
    wrong += (int)anchor_call( &anchors[0], ums_try_store32, (uint64_t)&word, 2, 0, 0 ) != 1;
    wrong += (int)anchor_call( &anchors[0], ums_try_load, (uint64_t)&word, (uint64_t)&word, 0,
                               0 ) != 1;
    wrong += (int)anchor_call( &anchors[0], ums_try_gs, (uint64_t)&word, 0, 0, 0 ) != 1;
    wrong += (int)anchor_call( &anchors[0], ums_linux_syscall, LINUX_GETTID, 0, 0, 0 ) <= 0;
    steps_end( "hooks" );
    ok( calls_begun == 1 && calls_over == 1, "of one call with new registers %d begins and %d ends were told", calls_begun,
        calls_over );
    /* for C: three of the program's own; one class of a plain thread, two of a worker, three of a carried one, one of a scheduler,
       two of either if it is a factory's; by two hooks. And Unix calls of those with a context, or
       with a hand. Of the two classes that are looked at: a worker's four, twice, and of the half that
       is not answered four of class ALL and two of a factory's */
    ok( !wrong_keys, "%d calls came with the wrong kind of key", wrong_keys );
    ok( !wrong && hook_calls == 3 + 2 * (1 + 2 + 3 + 1 + 2 + 2) + 5 + 14, "%d results wrong, %d calls for C",
        (int)wrong, hook_calls );
    ok( looks == 16, "%d calls were looked at", looks );
    TlsFree( hand_slot );
    TlsFree( slot );
}

void play_assembly( void )
{
    steps_add_stack( worker_stack, worker_stack + STACK );
    steps_add_stack( home, home + STACK );
    /* also while the thread's TEB says something else */
    steps_add_stack( *(void **)(teb() + TEB_STACK_LIMIT), *(void **)(teb() + TEB_STACK_BASE) );
    steps_watch( ke_scheduler_run, (char *)ke_call_rbx + 0x20 );
    steps_watch( ums_dispatcher_hook, (char *)ums_call_stub + 0x50 );
    steps_watch( ums_linux_syscall, ums_linux_syscall_end );
    steps_watch( ums_try_store, (char *)ums_try_gs + 0x80 );
    ok( !ke_find_linux(), "no Linux calls, because %s", ke_find_linux() );
    play_switch( 0 );
    play_switch( 1 );
    play_hooks();
}
