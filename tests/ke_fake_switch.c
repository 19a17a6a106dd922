/*
 * The make-believe ke: the switch. Each stack has a struct part, which says how to go on there; a
 * switch fills in the one it leaves and goes to the other. What has to be done on the other side
 * goes with it, in the thread.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Functions that come back on another thread must not keep addresses of thread-local variables: so
 * those are only touched in functions of their own.
 */

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include "ke_fake.h"
#include "ke_fake_switch.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

#define PARKING_PLACE 0x40000

struct part
{
    ucontext_t uc;
    void  *fiber;                               /* TSan's idea of who runs here */
    void  *fake_stack;                          /* ASan's */
    const void *bottom;                         /* of the stack, for ASan */
    size_t size;
};

/* what to do on arrival */
struct errand
{
    void (*left)( struct ums_scheduler *s, struct ums_context *w, uintptr_t arg );
    void (*parked)( struct ums_context *w, void *arg );
    struct ums_scheduler *s;
    struct ums_context *w;
    uintptr_t arg;
    uint32_t reason;
    void *param;
};

static _Thread_local struct errand errand;
static _Thread_local struct part *base;         /* of a scheduler thread */
static _Thread_local struct part *arriving;     /* the part that is gone to */

__attribute__((noinline)) static struct errand *this_errand( void )
{
    return &errand;
}

__attribute__((noinline)) static void set_base( struct part *part )
{
    base = part;
}

__attribute__((noinline)) static struct part *get_base( void )
{
    return base;
}

__attribute__((noinline)) static void set_arriving( struct part *part )
{
    arriving = part;
}

__attribute__((noinline, unused)) static struct part *get_arriving( void )
{
    return arriving;
}

/* ---- the sanitizers ---- */

static void begin_switch( struct part *from, struct part *to )
{
    set_arriving( to );
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber( from ? &from->fake_stack : NULL, to->bottom, to->size );
#elif defined(__SANITIZE_THREAD__)
    if (from) from->fiber = __tsan_get_current_fiber();
    __tsan_switch_to_fiber( to->fiber, 0 );
#endif
    (void)from;
}

static void end_switch( void )
{
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber( get_arriving()->fake_stack, NULL, NULL );
#endif
}

/* This thread's own stack. */
static void describe_stack( struct part *part )
{
    pthread_attr_t attr;
    void *bottom;

    pthread_getattr_np( pthread_self(), &attr );
    pthread_attr_getstack( &attr, &bottom, &part->size );
    pthread_attr_destroy( &attr );
    part->bottom = bottom;
#if defined(__SANITIZE_THREAD__)
    part->fiber = __tsan_get_current_fiber();
#endif
}

static void switch_to( struct part *from, struct part *to )
{
    begin_switch( from, to );
    swapcontext( &from->uc, &to->uc );
    end_switch();
}

static _Noreturn void go_to( struct part *to )
{
    begin_switch( NULL, to );
    setcontext( &to->uc );
    abort();
}

/* ---- the scheduler thread ---- */

static void do_errand( void )
{
    struct errand e = *this_errand();

    if (e.left)
    {
        e.left( e.s, e.w, e.arg );
        abort();
    }
    ((fake_proc)e.s->proc)( e.reason, e.arg, e.param );
}

void ke_scheduler_run( struct ums_scheduler *s, uint32_t reason, uintptr_t payload, void *param )
{
    struct part part;
    jmp_buf here;
    volatile int arrived = 0;

    memset( &part, 0, sizeof(part) );
    describe_stack( &part );
    set_base( &part );
    s->base = &part;
    *this_errand() = (struct errand){ .s = s, .reason = reason, .arg = payload, .param = param };
    getcontext( &part.uc );
    if (arrived)
    {
        end_switch();
        longjmp( here, 1 );                     /* tells TSan that frames are gone */
    }
    setjmp( here );
    arrived = 1;
    do_errand();
}

void ke_scheduler_upcall( struct ums_scheduler *s, uint32_t reason, uintptr_t payload, void *param )
{
    if (s->base != get_base()) abort();
    *this_errand() = (struct errand){ .s = s, .reason = reason, .arg = payload, .param = param };
    go_to( s->base );
}

/* ---- a carried worker ---- */

_Atomic(struct ums_context *) fake_preempt_wanted;
_Atomic int fake_carrier_is_gone, fake_carrier_is_stopped;

int32_t ke_leave_carrier( struct ums_context *w, struct ums_scheduler *s,
                           void (*left)( struct ums_scheduler *s, struct ums_context *w,
                                         uintptr_t arg ), uintptr_t arg )
{
    struct part part;
    struct part *home = w->home;                /* the worker's stack is the home thread's */

    if (ke_current() != w || !ums_worker_is_carried( w )) atomic_fetch_add( &fake_errors, 1 );
    memset( &part, 0, sizeof(part) );
    part.bottom = home[1].bottom;
    part.size = home[1].size;
    w->sp = &part;
    fake_set_gs( s->teb );
    if (ke_current() != s->context || s->base != get_base()) abort();
    *this_errand() = (struct errand){ .left = left, .s = s, .w = w, .arg = arg };
    switch_to( &part, s->base );
    if (ke_current() != w) abort();
    return (int32_t)w->success;
}

int32_t ke_carry( struct ums_scheduler *s, struct ums_context *w )
{
    if (!ums_carry || ke_current() != s->context) abort();
    fake_set_gs( w->teb );
    go_to( w->sp );
}

/* Nobody can be interrupted here: the worker looks by itself (fake_preemption_point). If it leaves
   its carrier before it has looked, it was not preempted. */
enum ke_preempted ke_preempt( struct ums_scheduler *s, struct ums_context *w, int late )
{
    struct ums_context *none = NULL, *wanted = w;

    (void)s;
    (void)late;
    if (atomic_load( &fake_carrier_is_gone )) return KE_CARRIER_GONE;
    if (atomic_load( &fake_carrier_is_stopped )) return KE_CARRIER_STOPPED;
    if (!atomic_compare_exchange_strong( &fake_preempt_wanted, &none, w ))
    {
        sched_yield();
        return KE_TRY_AGAIN;
    }
    while (ums_worker_is_carried( w ) && atomic_load( &fake_preempt_wanted ) == w) sched_yield();
    return atomic_compare_exchange_strong( &fake_preempt_wanted, &wanted, NULL ) ? KE_TRY_AGAIN
                                                                                : KE_PREEMPTED;
}

void fake_preemption_point( void )
{
    struct ums_context *w = ke_current(), *wanted = w;

    if (atomic_load_explicit( &fake_preempt_wanted, memory_order_relaxed ) != w) return;
    if (!ums_worker_is_carried( w )) return;
    if (atomic_compare_exchange_strong( &fake_preempt_wanted, &wanted, NULL ))
        ke_leave_carrier( w, w->owner, ums_left_preempted, 0 );
}

/* ---- the home thread ---- */

/* w->home: the parking place's part, the part of the thread's own stack, then the stack. */
int ke_home_prepare( struct ums_context *w )
{
    struct part *home = w->home;

    if (!ums_carry) return 1;
    if (!home)
    {
        home = mmap( NULL, PARKING_PLACE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                     0 );
        if (home == MAP_FAILED) return 0;
        w->home = home;
    }
    memset( home, 0, 2 * sizeof(*home) );
    return 1;
}

static void parking_place( void )
{
    end_switch();
    for (;;)
    {
        struct errand e = *this_errand();

        e.parked( e.w, (void *)e.arg );
        if (ke_current() != e.w) abort();
        switch_to( e.w->home, e.w->sp );        /* back here when it parks again */
    }
}

static void make_parking_place( struct part *home )
{
    getcontext( &home->uc );
    home->uc.uc_stack.ss_sp = home + 2;
    home->uc.uc_stack.ss_size = PARKING_PLACE - 2 * sizeof(*home);
    home->bottom = home->uc.uc_stack.ss_sp;
    home->size = home->uc.uc_stack.ss_size;
#if defined(__SANITIZE_THREAD__)
    home->fiber = __tsan_create_fiber( 0 );
#endif
    makecontext( &home->uc, parking_place, 0 );
    describe_stack( &home[1] );
}

int32_t ke_leave_home( struct ums_context *w,
                        void (*parked)( struct ums_context *w, void *arg ), void *arg )
{
    struct part part, *home = w->home;

    if (!ums_carry)
    {
        parked( w, arg );
        return (int32_t)w->success;
    }
    if (!home->bottom) make_parking_place( home );
    memset( &part, 0, sizeof(part) );
    part.bottom = home[1].bottom;
    part.size = home[1].size;
    w->sp = &part;
    *this_errand() = (struct errand){ .parked = parked, .w = w, .arg = (uintptr_t)arg };
    switch_to( &part, home );
    if (ke_current() != w) abort();
    return (int32_t)w->success;
}

/* The frames of a user part that nobody goes on with: they lie below ours. */
static void forget_frames( const struct part *part )
{
#if defined(__SANITIZE_ADDRESS__)
    char *bottom = (char *)part->bottom;

    __asan_unpoison_memory_region( bottom, (size_t)((char *)__builtin_frame_address( 0 ) - bottom) );
#endif
    (void)part;
}

/* As ke_scheduler_run, whose place in the thread a home thread has no other use for. */
void fake_home_run( void (*body)( void *arg ), void *arg )
{
    struct part part;
    jmp_buf here;
    volatile int arrived = 0;

    memset( &part, 0, sizeof(part) );
    describe_stack( &part );
    set_base( &part );
    getcontext( &part.uc );
    if (arrived)
    {
        end_switch();
        forget_frames( &part );
        longjmp( here, 1 );                     /* tells TSan that frames are gone */
    }
    if (setjmp( here )) return;
    arrived = 1;
    body( arg );
}

void fake_home_ends( void )
{
    go_to( get_base() );
}

void *fake_home_fiber( struct ums_context *w )
{
    return w->home ? ((struct part *)w->home)->fiber : NULL;
}

void fake_fiber_ends( void *fiber )
{
#if defined(__SANITIZE_THREAD__)
    if (fiber) __tsan_destroy_fiber( fiber );
#endif
    (void)fiber;
}

/* Nobody sets registers here. */
void ke_continue( struct ums_context *w )
{
    (void)w;
    abort();
}
