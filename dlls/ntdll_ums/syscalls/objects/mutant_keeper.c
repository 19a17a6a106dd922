/*
 * Keepers: threads of ours that own the host's mutant for its owner.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A local mutant has to become real while a thread owns it. The host gives a mutant to the calling
 * thread only, and the owner may run or sleep anywhere. So a thread of ours, the keeper, acquires the
 * host's mutant, and does for the owner what the owner would do at the host: it releases the mutant
 * when the owner does so for the last time, or ends with it when the owner ends, so that the host
 * finds it abandoned. The owner does not notice: its releases, waits and queries are answered here
 * (hook_mutants.c), with whatever handle of the mutant it makes them. To everybody else the mutant is
 * the host's, owned by some thread of this process.
 *
 * The keeper acquires the mutant while it is still local, when nobody uses the host's. That takes a
 * moment, in which the lock is not held and the mutant goes from hand to hand; `transfer` keeps it
 * from becoming real meanwhile, and from being freed. If nobody owns it afterwards, the keeper
 * releases it again.
 *
 * A keeper takes no lock and calls nothing but the host. It serves one mutant, then ends. So there are
 * as many as mutants that became real while they were owned, and still are; and the spare. A new thread
 * may need the loader lock first, which the thread that makes a mutant real may hold. So one keeper
 * stands by before the first mutant becomes local, and another one is begun when it is taken. A mutant
 * that is made while none stands by is the host's from the start. If the spare was taken or dismissed
 * since, and the next one has not begun, the thread that makes a mutant real waits for it, or until
 * nobody owns the mutant.
 *
 * The spare keeps no process alive: see ke_timer.c, whose rule this is.
 */

#define WIN32_NO_STATUS
#include <windows.h>
#undef WIN32_NO_STATUS
#include <ntstatus.h>
#include <winternl.h>
#include "syscalls/objects/hook_objects.h"
#include "syscalls/hook/native.h"
#include "host/ke_win32.h"
#include "host/thread.h"

#define MAX_KEEPERS 0x4000
#define TRANSFERS 32
#define KEEPER_STACK 0x10000
#define ENOUGH 20000000                         /* 100 ns: two seconds */
#define MOMENT 200000                           /* 20 ms; a thread usually begins within one */
#define PERIOD 1000000                          /* 100 ms */
#define LOOKS 2                                 /* at older mutants, for each that gets a keeper: more than come */

enum keeper_state
{
    KEEPER_NONE,                                /* not in use */
    KEEPER_BEGINS,                              /* its thread has not begun */
    KEEPER_SPARE,                               /* it stands by: waits for a mutant */
    KEEPER_DISMISSED,                           /* it ends without one */
    KEEPER_LEFT,                                /* and nobody waits for that any more */
    KEEPER_ACQUIRES,
    KEEPER_FAILED,                              /* somebody owns the host's; it ends */
    KEEPER_HOLDS,
    KEEPER_RELEASES,                            /* then it ends */
    KEEPER_ENDS                                 /* and abandons the mutant */
};

struct keeper
{
    struct keeper *next;                        /* of those who own for somebody; with the lock */
    _Atomic uint32_t state;                     /* enum keeper_state; both sides sleep on it */
    _Atomic uint32_t tid;                       /* its own */
    struct object_thread owner;
    int32_t owned;                              /* as ums_object.state */
    HANDLE mutant, thread;                      /* of its own */
};

static struct ums_pool keepers;
static struct keeper *kept;                     /* with the lock */
static _Atomic uint32_t kept_count;
static _Atomic(struct keeper *) spare;          /* NULL: there is none; or BEING_MADE */

#define BEING_MADE ((struct keeper *)1)

int ums_keepers_init( void )
{
    return ums_pool_init( &keepers, sizeof(struct keeper), MAX_KEEPERS );
}

int ums_keepers_work( void )
{
    static _Atomic uint32_t known;              /* 2: yes; 1: no */
    uint32_t answer = atomic_load( &known );

    if (!answer)
    {
        answer = GetProcAddress( GetModuleHandleA( "ntdll.dll" ), "NtCompareObjects" ) ? 2 : 1;
        atomic_store( &known, answer );
    }
    return answer == 2;
}

/* ---- calls of the host ---- */

static NTSTATUS native_wait( HANDLE handle, const LARGE_INTEGER *timeout )
{
    uint64_t args[UMS_MAX_ARGS] = { (uint64_t)(ULONG_PTR)handle, 0, (uint64_t)(ULONG_PTR)timeout };

    return (NTSTATUS)ums_native_call( "NtWaitForSingleObject", args );
}

static int is_same( HANDLE handle, HANDLE other )
{
    uint64_t args[UMS_MAX_ARGS] = { (uint64_t)(ULONG_PTR)handle, (uint64_t)(ULONG_PTR)other };

    return !(NTSTATUS)ums_native_call( "NtCompareObjects", args );
}

/* NtQueryObject makes its call through the hook, which would take the worker home. The caller is in a
   section, or in a transfer, and holds the lock. */
static int query( HANDLE handle, OBJECT_BASIC_INFORMATION *info )
{
    uint64_t args[UMS_MAX_ARGS] = { (uint64_t)(ULONG_PTR)handle, ObjectBasicInformation,
                                    (uint64_t)(ULONG_PTR)info, sizeof(*info) };

    return !(NTSTATUS)ums_native_call( "NtQueryObject", args );
}

static int has_right( HANDLE handle, ACCESS_MASK access )
{
    OBJECT_BASIC_INFORMATION info;

    return query( handle, &info ) && (info.GrantedAccess & access) == access;
}

/* ---- the keeper ---- */

static void to_state( struct keeper *k, enum keeper_state state )
{
    atomic_store( &k->state, state );
    ke_wake( &k->state, 1 );
}

_Noreturn static void end( void )
{
    for (;;) ums_end_native( 0 );
}

static void put_back( struct keeper *k )
{
    atomic_store( &k->state, KEEPER_NONE );
    atomic_store( &k->tid, 0 );
    ums_pool_free( &keepers, k );
}

/* Whoever dismissed it gives its handle and its slot back, or has left that to this thread: the exchange
   decides, here and in ums_keeper_dismiss. */
_Noreturn static void end_dismissed( struct keeper *k )
{
    uint32_t state = KEEPER_DISMISSED;

    if (!atomic_compare_exchange_strong( &k->state, &state, KEEPER_ENDS ))
    {
        ums_object_host.drop( k->thread );
        put_back( k );
    }
    end();
}

/* No wake-up is lost: whoever sleeps on the state says which one it has seen. The slot stays until
   this thread has ended (finish), unless nobody waits for that (end_dismissed); nothing of it is touched
   after the last look. */
static void keep( void *param )
{
    const LARGE_INTEGER at_once = { .QuadPart = 0 };
    uint32_t state = KEEPER_BEGINS;
    struct keeper *k = param;
    NTSTATUS status;

    atomic_store( &k->tid, GetCurrentThreadId() );
    if (atomic_compare_exchange_strong( &k->state, &state, KEEPER_SPARE )) ke_wake( &k->state, 1 );
    while (atomic_load( &k->state ) == KEEPER_SPARE) ke_wait( &k->state, KEEPER_SPARE, NULL );
    if (atomic_load( &k->state ) != KEEPER_ACQUIRES) end_dismissed( k );
    status = native_wait( k->mutant, &at_once );
    if (status != STATUS_WAIT_0 && status != STATUS_ABANDONED_WAIT_0) to_state( k, KEEPER_FAILED );
    else to_state( k, KEEPER_HOLDS );
    while (atomic_load( &k->state ) == KEEPER_HOLDS) ke_wait( &k->state, KEEPER_HOLDS, NULL );
    if (atomic_load( &k->state ) == KEEPER_RELEASES)
    {
        uint64_t args[UMS_MAX_ARGS] = { (uint64_t)(ULONG_PTR)k->mutant };

        ums_native_call( "NtReleaseMutant", args );
    }
    end();
}

/* Without the lock: the keeper has been told what to do, and has ended when this returns. */
static void await_end( struct keeper *k )
{
    native_wait( k->thread, NULL );
    ums_object_host.drop( k->thread );
    ums_object_host.drop( k->mutant );
    put_back( k );
}

static void finish( struct keeper *k, enum keeper_state how )
{
    if (atomic_load( &k->state ) == KEEPER_HOLDS) to_state( k, how );
    await_end( k );
}

static struct keeper *make( void )
{
    struct keeper *k = ums_pool_alloc( &keepers );

    if (!k) return NULL;
    atomic_store( &k->tid, 0 );
    atomic_store( &k->state, KEEPER_BEGINS );
    if (!ums_thread_create( THREAD_SERVICE, keep, k, KEEPER_STACK, 0, 0, &k->thread )) return k;
    put_back( k );
    return NULL;
}

/* Returns it if this thread has made it. Whoever has exchanged NULL makes it. If that fails, the next one
   tries again. A thread that is ended in between leaves the process without one: then a mutant that
   somebody owns becomes real when it is free, and not before. */
static struct keeper *make_spare( void )
{
    struct keeper *k = NULL;

    if (atomic_load( &spare ) || !atomic_compare_exchange_strong( &spare, &k, BEING_MADE )) return NULL;
    k = make();
    atomic_store( &spare, k );
    return k;
}

static int has_spare( void )
{
    struct keeper *k = atomic_load( &spare );

    return k && k != BEING_MADE && atomic_load( &k->state ) == KEEPER_SPARE;
}

/* The thread that has made the spare waits for it: once, and not for long, since the spare may wait for
   the loader lock, and whoever holds that for this thread. Nothing depends on the wait but whether this
   mutant is local, so a spurious return does no harm, nor does a slot that is in use again. */
int ums_keeper_stands_by( void )
{
    const int64_t moment = MOMENT;
    struct keeper *k = make_spare();

    if (k && atomic_load( &k->state ) == KEEPER_BEGINS) ke_wait( &k->state, KEEPER_BEGINS, &moment );
    return has_spare();
}

/* Whoever exchanges the pointer has the spare alone: to use it, or to dismiss it. It may have been
   exchanged for one that has not begun since the caller looked; that one takes its mutant when it
   begins. */
static struct keeper *take_spare( void )
{
    struct keeper *k = atomic_load( &spare );

    while (k && k != BEING_MADE)
        if (atomic_compare_exchange_weak( &spare, &k, NULL )) return k;
    return NULL;
}

/* Its thread may still be waiting for the loader lock, which a thread may hold that waits for this one:
   so not for ever. It ends then as soon as it begins. If it has begun to end meanwhile, it takes no lock any
   more, and ends at once. Only if somebody suspends it there its slot and its handle are lost; then the id
   must not stay in the slot, since another thread may get it (ums_is_in_transfer). They are lost, too, if
   somebody ends this thread between take_spare and the exchange. */
void ums_keeper_dismiss( const struct ums_context *self )
{
    const uint32_t own = self && self->kind == CONTEXT_WORKER;
    const LARGE_INTEGER enough = { .QuadPart = -ENOUGH };
    struct keeper *k = ums_workers_alive() > own ? NULL : take_spare();
    uint32_t state = KEEPER_DISMISSED;

    if (!k) return;
    to_state( k, KEEPER_DISMISSED );
    if (native_wait( k->thread, &enough ))
    {
        if (atomic_compare_exchange_strong( &k->state, &state, KEEPER_LEFT )) return;
        if (native_wait( k->thread, &enough ))
        {
            atomic_store( &k->tid, 0 );
            return;
        }
    }
    ums_object_host.drop( k->thread );
    put_back( k );
}

/* With the lock: the spare, with another handle of the mutant; NULL: none stands by. */
static struct keeper *prepare( const struct ums_object *o )
{
    void *mutant = has_spare() ? ums_object_host.copy( o->handle ) : NULL;
    struct keeper *k = mutant ? take_spare() : NULL;

    if (k) k->mutant = mutant;
    else if (mutant) ums_object_host.drop( mutant );
    return k;
}

static int has_ended( const struct keeper *k )
{
    const LARGE_INTEGER at_once = { .QuadPart = 0 };

    return !native_wait( k->thread, &at_once );
}

enum begun { SOMEBODY_ELSE_HOLDS, KEEPER_HAS_IT, KEEPER_IS_GONE };

/* Without the lock. The program, or another process, may have ended the keeper, which is a thread like any
   other: nobody tells us. If it had the mutant by then, the host's is abandoned, and the next keeper gets
   it. */
static enum begun begin( struct keeper *k )
{
    const int64_t period = PERIOD;

    to_state( k, KEEPER_ACQUIRES );
    make_spare();
    while (atomic_load( &k->state ) == KEEPER_ACQUIRES)
    {
        if (has_ended( k )) return KEEPER_IS_GONE;
        ke_wait( &k->state, KEEPER_ACQUIRES, &period );
    }
    return atomic_load( &k->state ) == KEEPER_HOLDS ? KEEPER_HAS_IT : SOMEBODY_ELSE_HOLDS;
}

/* Threads that are in the middle of a transfer, by their ids. If all entries are taken, one more is not
   protected. A thread enters and leaves with the lock, so whoever has stopped it finds it here, or as the
   lock's holder (ums_is_ending_wait), or not in a transfer. */
static _Atomic uint32_t transferring[TRANSFERS];

static void note_transfer( uint32_t from, uint32_t to )
{
    uint32_t i;

    for (i = 0; i < TRANSFERS; i++)
    {
        uint32_t id = from;

        if (atomic_compare_exchange_strong( &transferring[i], &id, to )) return;
    }
}

/* Such a thread must not stand still, or be ended: somebody waits for it. */
int ums_is_in_transfer( uint32_t tid )
{
    uint32_t i, state;

    for (i = 0; i < TRANSFERS; i++) if (tid && atomic_load( &transferring[i] ) == tid) return 1;
    for (i = 0; i < ums_pool_made( &keepers ); i++)
    {
        const struct keeper *k = ums_pool_any( &keepers, i );

        if (atomic_load( &k->tid ) != tid) continue;
        state = atomic_load( &k->state );
        return state != KEEPER_NONE && state != KEEPER_SPARE && state != KEEPER_HOLDS;
    }
    return 0;
}

static int is_keeper( HANDLE thread )
{
    uint32_t tid = GetThreadId( thread ), i;

    for (i = 0; i < ums_pool_made( &keepers ); i++)
        if (atomic_load( &((struct keeper *)ums_pool_any( &keepers, i ))->tid ) == tid) return 1;
    return 0;
}

/* Its own keepers must not make a thread believe that others are left: it would not end the process, and
   DLLs would not be told. */
int ums_only_keepers_are_left( void )
{
    NTSTATUS (NTAPI *next_thread)( HANDLE, HANDLE, ACCESS_MASK, ULONG, ULONG, HANDLE * ) =
        (void *)GetProcAddress( GetModuleHandleA( "ntdll.dll" ), "NtGetNextThread" );
    HANDLE thread = NULL, next;
    int only = next_thread != NULL;

    while (only && !next_thread( GetCurrentProcess(), thread, SYNCHRONIZE | THREAD_QUERY_LIMITED_INFORMATION,
                                 0, 0, &next ))
    {
        if (thread) CloseHandle( thread );
        thread = next;                          /* may have ended, while somebody has a handle of it */
        only = GetThreadId( thread ) == GetCurrentThreadId() || is_keeper( thread ) ||
               !WaitForSingleObject( thread, 0 );
    }
    if (thread) CloseHandle( thread );
    return only;
}

/* ---- a mutant is given to a keeper ---- */

/* With the lock. */
static void hand_over( struct ums_object *o, struct keeper *k )
{
    k->owner = o->owner;
    k->owned = o->state;
    if (k->owner.context) atomic_fetch_add( &k->owner.context->mutants, 1 );
    ums_mutant_disown( o );
    k->next = kept;
    kept = k;
    atomic_fetch_add( &kept_count, 1 );
}

static void take_off_list( struct keeper *k )
{
    struct keeper **at;

    for (at = &kept; *at != k; at = &(*at)->next) ;
    *at = k->next;
    atomic_fetch_sub( &kept_count, 1 );
    if (k->owner.context) atomic_fetch_sub( &k->owner.context->mutants, 1 );
}

/* With the lock, and so once for each keeper. One on the list holds its mutant (KEEPER_HOLDS), and waits to be told. It is told before
   the lock is given back: whoever is ended behind that leaves a slot, but no mutant that nobody ever gets. */
static void leave_list( struct keeper *k, enum keeper_state how )
{
    take_off_list( k );
    to_state( k, how );
}

/* With the lock. Only the keeper's handle is left, in all processes, so no other one can be made any more, and nobody but the
   keeper can release the mutant. A wait that goes on with a handle that was closed meanwhile is one reference more than that
   handle and the question [seen: Wine 8.0, 10.0]; where references are counted in another way, the keeper stays. */
static int is_unnamed( const struct keeper *k )
{
    OBJECT_BASIC_INFORMATION info;

    return query( k->mutant, &info ) && info.HandleCount == 1 && info.PointerCount == 2;
}

/* Without the lock. The last close destroys a mutant [doc: CreateMutex], which only the keeper keeps: its owner has closed it
   without a release. Nobody tells us, since the mutant is the host's and may have been closed in another process. So the mutant
   that was not looked at for the longest time is, at the end of the list; one that has a name goes to the front. If the caller is
   terminated behind leave_list, a slot is lost, as in ums_kept_release. */
static void forget_unnamed( void )
{
    struct keeper **at, *k;
    int i, gone = 1;

    for (i = 0; i < LOOKS && ums_any_kept(); i++)
    {
        ums_objects_lock();
        for (at = &kept; (k = *at) && k->next; at = &k->next) ;
        if (k && (gone = is_unnamed( k ))) leave_list( k, KEEPER_RELEASES );
        else if (k)
        {
            *at = NULL;
            k->next = kept;
            kept = k;
        }
        ums_objects_unlock();
        if (k && gone) await_end( k );
    }
}

/* Not when the process ends: its other threads are gone, keepers and whoever transferred too, and the
   last one would wait for them. */
int ums_mutant_needs_keeper( const struct ums_object *o )
{
    return o->type == OBJECT_MUTANT && !atomic_load( &o->real ) && !ums_objects_are_alone() &&
           (o->owner.tid || o->abandoned || o->transfer || o->stale);
}

/* Somebody who does not come through our calls has taken the host's: the owner here has lost it. */
static void lose( struct ums_object *o )
{
    if (o->owner.tid) ums_mutant_disown( o );
    o->state = 1;
    o->abandoned = 0;
}

/* One round. With the lock, which is released meanwhile: 1: the mutant may become real now. 0: look
   again, if it is still there. An abandoned one that nobody owns is abandoned at the host too: by a
   keeper that ends at once. If it was taken meanwhile, whoever took it knows that it was abandoned; so
   nobody else is told, and the next keeper takes the host's, which is stale now. */
static int transfer( struct ums_object *o )
{
    int owned = o->owner.tid || o->stale, ready = 0;
    enum begun begun;
    struct keeper *k = o->transfer ? NULL : prepare( o );

    if (!k)                                     /* another thread does it, or no spare stands by */
    {
        ums_objects_unlock();
        make_spare();
        SwitchToThread();
        ums_objects_lock();
        return 0;
    }
    o->transfer = 1;
    note_transfer( 0, ke_thread_id() );         /* before the unlock: nobody finds this thread between */
    ums_objects_unlock();
    forget_unnamed();
    begun = begin( k );
    if (!owned || begun != KEEPER_HAS_IT) finish( k, KEEPER_ENDS );
    ums_objects_lock();
    if (begun == SOMEBODY_ELSE_HOLDS) lose( o );
    else if (begun == KEEPER_HAS_IT && !owned)
    {
        ready = !o->closed && !o->owner.tid && o->abandoned;
        o->stale = !ready;
    }
    else if (begun == KEEPER_HAS_IT)
    {
        o->stale = 0;
        if ((ready = !o->closed && o->owner.tid)) hand_over( o, k );
    }
    if (!owned || begun != KEEPER_HAS_IT || ready) k = NULL;
    if (k)                                      /* nobody owns it any more, or nobody can name it */
    {
        ums_objects_unlock();
        finish( k, KEEPER_RELEASES );
        ums_objects_lock();
    }
    o->transfer = 0;
    note_transfer( ke_thread_id(), 0 );         /* it has the lock */
    if (!ready) ums_object_is_real( o );        /* frees it if it was closed meanwhile */
    return ready;
}

/* No keeper begins while this thread has the loader lock, and the mutant's owner may wait for this
   thread. Only a number looks like the handle, most likely: DLLs are told of the end of a thread with
   registers and stacks that still have handles in them. So the mutant stays local. */
static int must_not_wait( enum naming naming, const struct object_section *section )
{
    const struct object_thread self = ums_object_thread( section->self );

    return naming == PERHAPS_NAMED && !has_spare() && ums_thread_has_loader_lock( self.tid );
}

struct ums_object *ums_mutant_to_keeper( struct ums_object *o, uint64_t handle, enum naming naming,
                                         struct object_section *section, uintptr_t sp )
{
    struct ums_context *self = section->self;

    while (o && ums_mutant_needs_keeper( o ))
    {
        int leave = must_not_wait( naming, section );

        if (!leave && transfer( o )) return o;
        ums_objects_unlock();                   /* it may be freed: nothing of it is touched */
        if (leave) return NULL;
        ums_object_section_end( section );      /* a worker may be stopped here */
        ums_object_section_begin( section, self, sp );
        o = ums_object_lock( handle );
    }
    return o;
}

/* ---- the owner ---- */

/* With the lock. NULL also if the handle lacks the right: the host refuses the call then. */
static struct keeper *keeper_of( const struct object_thread *self, HANDLE handle, ACCESS_MASK access )
{
    struct keeper *k;

    for (k = kept; k; k = k->next)
        if (k->owner.tid == self->tid && is_same( handle, k->mutant ))
            return !access || has_right( handle, access ) ? k : NULL;
    return NULL;
}

int ums_any_kept( void )
{
    return atomic_load( &kept_count ) != 0;
}

int ums_kept_state( const struct object_thread *self, uint64_t handle, uint32_t access, int32_t *state )
{
    struct keeper *k;

    ums_objects_lock();
    if ((k = keeper_of( self, (HANDLE)handle, access ))) *state = k->owned;
    ums_objects_unlock();
    return k != NULL;
}

int ums_kept_acquire( const struct object_thread *self, uint64_t handle )
{
    struct keeper *k;

    ums_objects_lock();
    if ((k = keeper_of( self, (HANDLE)handle, SYNCHRONIZE ))) k->owned--;
    ums_objects_unlock();
    return k != NULL;
}

/* The owner may look at the host's mutant at once, so this waits for the keeper. */
int ums_kept_release( const struct object_thread *self, uint64_t handle, int32_t *before )
{
    struct keeper *k;
    int last = 0;

    ums_objects_lock();
    if ((k = keeper_of( self, (HANDLE)handle, 0 )))
    {
        *before = k->owned++;
        if ((last = k->owned == 1)) leave_list( k, KEEPER_RELEASES );
    }
    ums_objects_unlock();
    if (last) await_end( k );
    return k != NULL;
}

void ums_keepers_move( const struct object_thread *before, struct ums_context *now )
{
    struct keeper *k;

    for (k = kept; k; k = k->next) ums_owner_moves( &k->owner, before, now );
}

void ums_keepers_end( const struct object_thread *gone )
{
    struct keeper *k;

    if (gone->tid) note_transfer( gone->tid, 0 );       /* the id may be another thread's soon */
    while (ums_any_kept())
    {
        ums_objects_lock();
        for (k = kept; k && !ums_thread_is_gone( &k->owner, gone ); k = k->next) ;
        if (k) leave_list( k, KEEPER_ENDS );
        ums_objects_unlock();
        if (!k) return;
        await_end( k );
    }
}
