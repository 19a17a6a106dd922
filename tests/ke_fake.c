/*
 * The make-believe ke. Carrying is done with ucontexts: a user part is one on the worker's stack, GS
 * is a thread-local pointer. The sanitizers are told of every change of stacks.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include "ke_fake.h"
#include "core/wait.h"
#include "ke_fake_switch.h"

_Atomic int fake_errors, fake_events_open, fake_wakes;
_Atomic uint32_t fake_resumed;
int fake_commit_fails, fake_event_fails;
_Thread_local void (*fake_on_event_set)( void *event );
_Thread_local int64_t (*fake_on_clock)( int64_t now );
_Thread_local void (*fake_on_wake)( _Atomic uint32_t *word, int all );
_Thread_local fake_look *fake_on_look;
_Thread_local int (*fake_on_wait)( _Atomic uint32_t *word, uint32_t value, const int64_t *timeout );

/* What GS points at: each thread has one, and a carrier has the worker's. */
struct fake_teb
{
    struct ums_context *current;
    uint32_t tid;
};
static _Thread_local struct fake_teb own_teb;
static _Thread_local struct fake_teb *gs;

void *ke_reserve( size_t size )
{
    void *mem = mmap( NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0 );

    return mem == MAP_FAILED ? NULL : mem;
}

int ke_commit( void *addr, size_t size )
{
    uintptr_t start = (uintptr_t)addr & ~(uintptr_t)4095, end =
        ((uintptr_t)addr + size + 4095) & ~(uintptr_t)4095;

    if (fake_commit_fails) return 0;
    return !mprotect( (void *)start, end - start, PROT_READ | PROT_WRITE );
}

static _Thread_local struct fake_worker *home_of;       /* whose home thread this is */

enum killed { KILLED_NOT, KILLED_WANTED, KILLED_STILL, KILLED_END };

/* Here a home thread sleeps, and nobody waits for what it does: it stands still, and then ends without coming back. Two
   functions of their own: what runs here may run on another thread later, which must not keep the address of a
   thread-local variable. */
__attribute__((noinline)) static void look_at_kill( void )
{
    struct fake_worker *worker = home_of;
    int wanted = KILLED_WANTED;

    if (!worker || !atomic_compare_exchange_strong( &worker->killed, &wanted, KILLED_STILL )) return;
    while (atomic_load( &worker->killed ) != KILLED_END) sched_yield();
    fake_home_ends();
}

__attribute__((noinline)) static void set_home( struct fake_worker *worker )
{
    home_of = worker;
}

void ke_wait( _Atomic uint32_t *word, uint32_t value, const int64_t *timeout )
{
    struct timespec spec;

    look_at_kill();
    if (fake_on_wait && !fake_on_wait( word, value, timeout )) return;
    if (timeout)
    {
        spec.tv_sec  = *timeout / 10000000;
        spec.tv_nsec = *timeout % 10000000 * 100;
    }
    syscall( SYS_futex, word, FUTEX_WAIT_PRIVATE, value, timeout ? &spec : NULL );
    look_at_kill();
}

void fake_kill_thread( struct fake_worker *worker )
{
    atomic_store( &worker->killed, KILLED_WANTED );
    while (atomic_load( &worker->killed ) != KILLED_STILL)
    {
        syscall( SYS_futex, &worker->context->park.token, FUTEX_WAKE_PRIVATE, 0x7fffffff, NULL );
        sched_yield();
    }
}

void fake_killed_thread_ends( struct fake_worker *worker )
{
    atomic_store( &worker->killed, KILLED_END );
    pthread_join( worker->thread, NULL );
}

void ke_wake( _Atomic uint32_t *word, int all )
{
    atomic_fetch_add( &fake_wakes, 1 );
    if (fake_on_wake) fake_on_wake( word, all );
    syscall( SYS_futex, word, FUTEX_WAKE_PRIVATE, all ? 0x7fffffff : 1 );
}

int64_t fake_no_time_passes( int64_t now )
{
    (void)now;
    return 0;
}

int64_t ke_clock( void )
{
    struct timespec now;
    int64_t time;

    clock_gettime( CLOCK_MONOTONIC, &now );
    time = (int64_t)now.tv_sec * 10000000 + now.tv_nsec / 100;
    return fake_on_clock ? fake_on_clock( time ) : time;
}

_Atomic int fake_gave_up;
_Atomic uint32_t fake_gone_thread;
_Thread_local void (*fake_on_asked_gone)( void );
_Atomic int fake_is_warden;
_Atomic(const char *) fake_gave_up_for;

void ke_gave_up( const char *awaited )
{
    atomic_store( &fake_gave_up_for, awaited );
    atomic_fetch_add( &fake_gave_up, 1 );
}

/* Events are never freed, so that the use of a closed one can be counted. */
static struct fake_event events[4096];
static _Atomic unsigned int event_count;

ums_status ke_event_create( void **event )
{
    struct fake_event *e;

    if (fake_event_fails) return STATUS_NO_MEMORY;
    e = &events[atomic_fetch_add( &event_count, 1 ) % 4096];
    atomic_store( &e->open, 1 );
    atomic_fetch_add( &fake_events_open, 1 );
    *event = e;
    return STATUS_SUCCESS;
}

void ke_event_set( void *event )
{
    struct fake_event *e = event;

    if (fake_on_event_set) fake_on_event_set( event );
    if (!atomic_load( &e->open )) atomic_fetch_add( &fake_errors, 1 );
    atomic_fetch_add( &e->sets, 1 );
}

void ke_event_close( void *event )
{
    struct fake_event *e = event;

    if (atomic_fetch_sub( &e->open, 1 ) <= 0) atomic_fetch_add( &fake_errors, 1 );
    atomic_fetch_sub( &fake_events_open, 1 );
}

ums_status ke_event_duplicate( void *event, void **copy )
{
    struct fake_event *e = event;

    atomic_fetch_add( &e->open, 1 );
    atomic_fetch_add( &fake_events_open, 1 );
    *copy = event;
    return STATUS_SUCCESS;
}

static struct fake_teb *get_gs( void )
{
    if (!gs) gs = &own_teb;
    return gs;
}

struct ums_context *ke_current( void )
{
    return get_gs()->current;
}

void ke_set_current( struct ums_context *context )
{
    get_gs()->current = context;
}

size_t ke_tls_offset( void )
{
    return 0;
}

void *ke_teb( void )
{
    return get_gs();
}

uint32_t ke_thread_id( void )
{
    return (uint32_t)syscall( SYS_gettid );
}

int ke_thread_is_gone( uint32_t tid )
{
    if (fake_on_asked_gone) fake_on_asked_gone();
    return tid == atomic_load( &fake_gone_thread );
}

int ke_is_warden( void )
{
    return atomic_load( &fake_is_warden );
}

uintptr_t ke_stack_base( void )
{
    return 0;
}

uint32_t ke_host_thread( void )
{
    return 0;
}

enum ke_sleep ke_find_sleep( uint32_t host_thread, const _Atomic uint32_t *park, struct ke_place *place )
{
    (void)host_thread;
    return fake_on_look ? fake_on_look( park, place ) : KE_UNKNOWN;
}

void ke_thread_enters( struct ums_context *context )
{
    (void)context;
}

void ke_thread_leaves( struct ums_context *context )
{
    (void)context;
}

void ke_thread_renew( struct ums_context *context )
{
    (void)context;
}

int ke_in_fault( uint32_t host_thread, struct ke_place *place )
{
    (void)host_thread; (void)place;
    return 0;
}

void ke_report_fault( struct ums_context *w, uint64_t word, const struct ke_place *place )
{
    (void)w; (void)word; (void)place;
}

/* ---- threads that are suspended ---- */

enum stop { STOP_NOT, STOP_WANTED, STOP_STILL };

void fake_suspend_thread( struct ums_context *w )
{
    struct fake_worker *worker = w->start_param;

    atomic_store( &worker->stop, STOP_WANTED );
    while (atomic_load( &worker->stop ) != STOP_STILL) sched_yield();
}

/* While it is carried, its thread sleeps, and stands still already. */
void fake_step( void )
{
    struct ums_context *w = ke_current();
    struct fake_worker *worker = w->start_param;
    int wanted = STOP_WANTED;

    fake_preemption_point();
    if (ums_worker_is_carried( w )) return;
    if (!atomic_compare_exchange_strong( &worker->stop, &wanted, STOP_STILL )) return;
    while (atomic_load( &worker->stop ) == STOP_STILL) sched_yield();
}

void ke_resume_thread( const struct ums_context *w, uint32_t tid )
{
    struct fake_worker *worker = w->start_param;

    atomic_store( &fake_resumed, tid );
    atomic_store( &worker->stop, STOP_NOT );
}

/* ---- one instruction after the other ---- */

#define TRAP_FLAG 0x100

static _Thread_local int (*step_look)( void );

static void on_step( int sig, siginfo_t *info, void *arg )
{
    ucontext_t *uc = arg;

    (void)sig; (void)info;
    if (step_look && !step_look()) return;
    step_look = NULL;
    uc->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

int fake_step_through( int (*look)( void ) )
{
#if defined(__SANITIZE_THREAD__)
    (void)look; (void)on_step;                  /* it delivers signals when it likes to */
    return 0;
#else
    struct sigaction action;

    memset( &action, 0, sizeof(action) );
    action.sa_sigaction = on_step;
    action.sa_flags = SA_SIGINFO;
    sigaction( SIGTRAP, &action, NULL );
    step_look = look;
    __asm__ volatile( "lea -128(%%rsp), %%rsp\n\tpushfq\n\torq %0, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp"
                      :: "i"( TRAP_FLAG ) : "cc", "memory" );
    return 1;
#endif
}

void fake_init( void )
{
    const char *engine = getenv( "UMS_ENGINE" );
    static int done;

    if (done++) return;
    ums_carry = ums_straight = engine && !strcmp( engine, "carry" );
    if (!ums_completion_init() || !ums_context_init() || !ums_scheduler_init() ||
        !ums_timer_init()) abort();
}

void fake_set_gs( void *teb )
{
    gs = teb;
}

static void live( void *arg )
{
    struct fake_worker *worker = arg;
    struct ums_context *w = worker->context;
    uint64_t word;
    void *fiber;

    ums_worker_made( w, ke_teb(), ke_thread_id() );
    ums_context_resumed( w, 1, &word );
    ums_worker_start( w );
    worker->start( worker->param );
    ums_worker_go_home( w );
    fiber = fake_home_fiber( w );
    ums_worker_end( w );
    fake_fiber_ends( fiber );
}

static void *home( void *arg )
{
    set_home( arg );
    fake_home_run( live, arg );
    return NULL;
}

ums_status fake_worker_create( struct fake_worker *worker, void *context, void *list,
                               void (*start)( void * ), void *param )
{
    ums_status status;

    worker->start = start;
    worker->param = param;
    atomic_store( &worker->stop, STOP_NOT );
    atomic_store( &worker->killed, KILLED_NOT );
    if ((status = ums_worker_bind( context, list, NULL, worker, &worker->context ))) return status;
    if (!pthread_create( &worker->thread, NULL, home, worker )) return STATUS_SUCCESS;
    ums_worker_unbind( worker->context );
    return STATUS_NO_MEMORY;
}

ums_status fake_scheduler_enter( void *list, fake_proc proc, void *param )
{
    return ums_scheduler_enter( UMS_CONTEXT_VERSION, list, (void (*)(void))proc, param );
}

static int32_t failed( ums_status status )
{
    return status;
}

ums_status fake_yield( void *param )
{
    return ums_yield( param, STATUS_SUCCESS, failed );
}

ums_status fake_execute( void *handle )
{
    return ums_execute( handle, failed );
}

void ke_end_thread( uint32_t status )
{
    pthread_exit( (void *)(uintptr_t)status );
}
