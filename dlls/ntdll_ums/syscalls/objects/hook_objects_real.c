/*
 * How a local object becomes real, and which calls make it real.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Before each call that is not known to be harmless, we look for handles of local objects in its
 * first four arguments, in the memory that these point at, and in the input buffer of a device
 * call. (No call takes a handle of an object that it sets or waits for in a later argument.) So a
 * select on a socket, a wait for messages and a Unix call find a real object. A number that only
 * looks like such a handle costs speed and nothing else. How much memory we look at is a guess:
 * MEMORY_LOOK.
 */

#define WIN32_NO_STATUS
#include <windows.h>
#undef WIN32_NO_STATUS
#include <ntstatus.h>
#include <winternl.h>
#include "syscalls/objects/hook_objects.h"
#include "host/ke_win32.h"

#define MEMORY_LOOK 256                         /* bytes that a pointer points at */
#define STACK_LOOK  64                          /* the same on the caller's stack, which is full of
                                                   values that once were handles */
#define BUFFER_LOOK 1024                        /* bytes of a buffer whose size is known */
#define LOWEST_ADDRESS 0x10000
#define HIGHEST_ADDRESS 0x7fffffff0000ull

#define PATIENCE 1000000                        /* 100 ns: 100 ms */

/* ---- the step ---- */

/* Looking up a key takes long, so it is kept. Two threads at once store the same value. */
static struct call_key find_key( const char *name, _Atomic uint64_t *known )
{
    struct call_key key = { atomic_load( known ) - 1 };

    if (!call_key_is_none( key )) return key;
    key = call_key_named( name );
    atomic_store( known, key.bits + 1 );
    return key;
}

struct call_key ums_object_wait_key( void )
{
    static _Atomic uint64_t known;

    return find_key( "NtWaitForSingleObject", &known );
}

static NTSTATUS native_event( enum straggler_call what, HANDLE handle, int32_t *before )
{
    static const char *const names[] = { "NtSetEvent", "NtResetEvent", "NtPulseEvent" };
    static _Atomic uint64_t known[ARRAYSIZE(names)];
    struct ums_call call = { .key = find_key( names[what], &known[what] ) };
    uint64_t args[UMS_MAX_ARGS] = { (uint64_t)(ULONG_PTR)handle, (uint64_t)(ULONG_PTR)before };

    return (NTSTATUS)ums_call_native( &call, args );
}

static NTSTATUS native_release( HANDLE handle, uint32_t count, int32_t *before )
{
    static _Atomic uint64_t known;
    struct ums_call call = { .key = find_key( "NtReleaseSemaphore", &known ) };
    uint64_t args[UMS_MAX_ARGS] = { (uint64_t)(ULONG_PTR)handle, count, (uint64_t)(ULONG_PTR)before };

    return (NTSTATUS)ums_call_native( &call, args );
}

/* The call goes past the hook, because the caller holds the lock. The copy is in no handle table of
   ours. */
static void *copy( void *handle )
{
    static _Atomic uint64_t known;
    struct ums_call call = { .key = find_key( "NtDuplicateObject", &known ) };
    HANDLE process = GetCurrentProcess(), ret = NULL;
    uint64_t args[UMS_MAX_ARGS] = { (uint64_t)(ULONG_PTR)process, (uint64_t)(ULONG_PTR)handle,
                                    (uint64_t)(ULONG_PTR)process, (uint64_t)(ULONG_PTR)&ret, 0, 0,
                                    DUPLICATE_SAME_ACCESS };

    return ums_call_native( &call, args ) ? NULL : ret;
}

static void drop( void *handle )
{
    static _Atomic uint64_t known;
    struct ums_call call = { .key = find_key( "NtClose", &known ) };
    uint64_t args[UMS_MAX_ARGS] = { (uint64_t)(ULONG_PTR)handle };

    ums_call_native( &call, args );
}

/* The first word of what NtQueryEvent and NtQuerySemaphore tell is the type, or the count; the second
   one the state, or the limit [sdk]. */
static int is_signalled_at_host( HANDLE handle, enum object_type type )
{
    static const char *const names[] = { "NtQueryEvent", "NtQuerySemaphore" };
    static _Atomic uint64_t known[ARRAYSIZE(names)];
    const int which = type == OBJECT_SEMAPHORE;
    struct ums_call call = { .key = find_key( names[which], &known[which] ) };
    uint32_t words[2] = { 0, 0 };
    uint64_t args[UMS_MAX_ARGS] = { (uint64_t)(ULONG_PTR)handle, 0, (uint64_t)(ULONG_PTR)words,
                                    sizeof(words), 0 };

    return !ums_call_native( &call, args ) && words[!which];
}

static struct ums_object *being_told;           /* with the lock: the host is being told its state */

/* The host's object is not signalled: it was made so, and nobody has used it at the host since. A
   mutant's is free, or its keeper owns it. The
   handle cannot be closed while we hold the lock. If it was closed earlier, a wait keeps a copy.
   again: another thread was ended in the middle of this. Nobody has used the host's object since, because
   all who come through our calls need the lock until ums_object_is_real. So if that is signalled, the
   host knows the state. Not finished is what comes behind being_told: a thread that is ended while it
   closes a copy there leaves the other objects of a wait that moves local. */
static void tell_host( struct ums_object *o, int again )
{
    struct ums_object *other;
    int32_t state, before;
    HANDLE handle;

    being_told = o;
    state = ums_object_becomes_real( o );
    handle = ums_object_at_host( o );
    if (o->type == OBJECT_MUTANT || (again && is_signalled_at_host( handle, o->type ))) state = 0;
    if (state && o->type == OBJECT_SEMAPHORE) native_release( handle, (uint32_t)state, NULL );
    else if (state) native_event( STRAGGLER_SET, handle, &before );
    being_told = NULL;
    ums_object_is_real( o );
    while ((other = ums_object_follows( o ))) ums_object_make_real_locked( other );
}

void ums_object_make_real_locked( struct ums_object *o )
{
    if (!atomic_load( &o->real )) tell_host( o, 0 );
}

static void recover( void )
{
    if (being_told) tell_host( being_told, 1 );
}

const struct object_host ums_object_host = { copy, drop, ums_keepers_end, ums_keepers_move, ke_thread_is_gone, recover };

void ums_object_make_real( uint64_t handle, enum naming naming, struct ums_context *self, uintptr_t sp )
{
    struct object_section section;
    struct ums_object *o;

    if (!ums_object_find( handle )) return;
    ums_object_section_begin( &section, self, sp );
    o = ums_object_lock( handle );
    if (o && ums_mutant_needs_keeper( o )) o = ums_mutant_to_keeper( o, handle, naming, &section, sp );
    if (o)
    {
        ums_object_make_real_locked( o );
        ums_objects_unlock();
    }
    ums_object_section_end( &section );
}

/* ---- while waits move to the host ---- */

/* Waits until no arriving wait can take the signal that the event has. A wait for all of several
   objects may not take it for a long time, so after PATIENCE the arriving waits count as overdue
   and are not waited for again. One that begins to arrive meanwhile has its own time; those are as many
   as moved. The lock is released meanwhile, and the program may close the handle, whose value may be
   another object's then. So the caller holds the object, and uses no handle but ums_object_at_host's. (A
   thread that is ended here holds it for good.) */
static void let_arrive( struct ums_object *o, struct object_section *section, uintptr_t sp )
{
    struct ums_context *self = section->self;
    int64_t now, begin = 0;
    uint32_t came = o->came - 1;                /* the time begins below */

    while (ums_object_lets_arrive( o ) && is_signalled_at_host( ums_object_at_host( o ), o->type ))
    {
        now = ke_clock();
        if (o->came != came)
        {
            came = o->came;
            begin = now;
        }
        else if (now - begin >= PATIENCE)
        {
            o->overdue = came;
            break;
        }
        ums_objects_unlock();
        SwitchToThread();
        ums_object_section_end( section );
        ums_object_section_begin( section, self, sp );
        ums_objects_lock();
    }
}

/* Takes all that the wait is for at the host, if that is possible at once. Any thread can do so, because a
   wait for several objects has no mutant among them (find_all). With no time and not alertable it neither
   sleeps nor runs an APC, so the lock may be held. An object whose handle could not be kept has none: then
   the host refuses, and the wait is left to its thread. */
static int takes_all( const struct object_wait *wait )
{
    static _Atomic uint64_t known;
    const LARGE_INTEGER at_once = { .QuadPart = 0 };
    struct ums_call call = { .key = find_key( "NtWaitForMultipleObjects", &known ) };
    HANDLE handles[OBJECT_WAITS_MAX];
    uint64_t args[UMS_MAX_ARGS] = { wait->count, (uint64_t)(ULONG_PTR)handles, 0 /* all */, FALSE,
                                    (uint64_t)(ULONG_PTR)&at_once };
    uint32_t i;

    for (i = 0; i < wait->count; i++) handles[i] = ums_object_at_host( wait->links[i].object );
    return (NTSTATUS)ums_call_native( &call, args ) == STATUS_WAIT_0;
}

/* The object was signalled at the host. A wait for all of several objects that still moves would look there
   only when its thread runs, and a reset, or a second set that is merged with the first, may come before
   that. The caller has the lock, so none of these waits begins at the host meanwhile, and holds the object.
   A wait is in the queue once, so `next` is another one's. A thread that another process ends between the
   two steps takes the signals along (docs/local_objects.md). */
static void end_waits_for_all( struct ums_object *o )
{
    struct object_link *link = o->moving.first, *next;

    if (ums_objects_are_alone()) return;
    for (; link; link = next)
    {
        struct object_wait *wait = link->wait;

        next = link->next;
        if (wait->all && wait->count > 1 && takes_all( wait )) ums_object_end_wait( wait, STATUS_SUCCESS );
    }
}

/* If the event is signalled and waits arrive, the signal is for one of them. A second set would be
   merged with it, and a reset would take it away. So both let that wait take it first. */
void ums_object_with_stragglers( struct ums_object *o, enum straggler_call what,
                                 struct object_section *section, int32_t *before )
{
    uintptr_t sp = (uintptr_t)__builtin_frame_address( 0 );
    int automatic = o->type == OBJECT_SYNCHRONIZATION, claimed = 0;

    *before = 0;
    ums_object_hold( o );
    if (what != STRAGGLER_RESET) claimed = ums_object_claim( o, !automatic );
    if (!(claimed && automatic))                /* the others of a manual-reset event may wait at the host */
    {
        if (automatic || what != STRAGGLER_SET) let_arrive( o, section, sp );
        native_event( what, ums_object_at_host( o ), before );
        if (what == STRAGGLER_SET) end_waits_for_all( o );
    }
    ums_object_let_go( o );
    ums_objects_unlock();
}

/* A release is for the waits that move, one each; only what is left is given to the host. The host does not
   merge releases, but it refuses those above the limit, and what it has at this moment may be for a wait
   that arrives. A count of 0, or above the limit, is for the host to answer.

   While such a wait moves, the host's count is 0: the object was not signalled when the wait began to move,
   and our releases reach the host only when no such wait is left. Only a release that does not come through
   here makes it otherwise; then the host may refuse the rest after some waits were ended. */
int32_t ums_object_release_with_stragglers( struct ums_object *o, uint32_t count,
                                            struct object_section *section, int32_t *before )
{
    uintptr_t sp = (uintptr_t)__builtin_frame_address( 0 );
    int32_t status = STATUS_SUCCESS;
    uint32_t rest = count;

    *before = 0;
    ums_object_hold( o );
    let_arrive( o, section, sp );
    if (count <= (uint32_t)o->limit) while (rest && ums_object_claim( o, 0 )) rest--;
    if (rest || !count) status = native_release( ums_object_at_host( o ), rest, before );
    end_waits_for_all( o );
    ums_object_let_go( o );
    ums_objects_unlock();
    return status;
}

int ums_object_signal_with_stragglers( struct ums_object *o, struct object_section *section )
{
    uintptr_t sp = (uintptr_t)__builtin_frame_address( 0 );
    const int all = o->type == OBJECT_NOTIFICATION;
    int claimed;

    ums_object_hold( o );
    claimed = ums_object_claim( o, all );
    if (!claimed && !all) let_arrive( o, section, sp );
    ums_object_let_go( o );
    ums_objects_unlock();
    return claimed && !all;                     /* a manual-reset event is set for later waits, too */
}

/* ---- looking for handles ---- */

static void look_at( uint64_t value, struct ums_context *self, uintptr_t sp )
{
    if (ums_object_find( value )) ums_object_make_real( value, PERHAPS_NAMED, self, sp );
}

/* 8 bytes; the last 4 if no more are left before `end`, where the memory may end. */
static int load_next( uint64_t at, uint64_t end, uint64_t *word )
{
    uint32_t last;

    if (at + 8 <= end) return ums_try_load( (const void *)at, word );
    if (!ums_try_load32( (const void *)at, &last )) return 0;
    *word = last;
    return 1;
}

/* words: also look at each half of 64 bits. A handle has 64 bits, of which 32 are used. */
static void look_at_memory( uint64_t address, uint64_t size, int words, struct ums_context *self,
                            uintptr_t sp )
{
    const uint64_t end = address + size;
    uint64_t at, word;

    for (at = address; at + 4 <= end; at += 8)
    {
        if (!load_next( at, end, &word )) return;
        if (words) look_at( word & 0xffffffff, self, sp );
        if (words) look_at( word >> 32, self, sp );
        else look_at( word, self, sp );
    }
}

static int is_on_stack( uint64_t address )
{
    const NT_TIB *tib = (const NT_TIB *)NtCurrentTeb();

    return address - (uint64_t)tib->StackLimit < (uint64_t)tib->StackBase - (uint64_t)tib->StackLimit;
}

/* The host takes buffers at any address. */
static int is_pointer( uint64_t value )
{
    return value >= LOWEST_ADDRESS && value < HIGHEST_ADDRESS;
}

/* NtDeviceIoControlFile and NtFsControlFile: the input buffer, argument 6, and its size, argument
   7. */
static void look_at_buffer( const struct ums_call *call, struct ums_context *self )
{
    uint64_t args[UMS_MAX_ARGS], size;

    ums_call_args( call, args );
    size = (uint32_t)args[7];
    if (!is_pointer( args[6] ) || size < 4) return;
    look_at_memory( args[6], size < BUFFER_LOOK ? size : BUFFER_LOOK, 1, self, call->sp );
}

static void look_at_all( const struct ums_call *call, struct ums_context *self, int words )
{
    unsigned int i;

    for (i = 0; i < 4; i++)
    {
        uint64_t value = call->args[i], size = MEMORY_LOOK;

        look_at( value, self, call->sp );
        if (!is_pointer( value )) continue;
        if (i == 1 && call->args[0] - 1 < OBJECT_WAITS_MAX) size = call->args[0] * sizeof(HANDLE);
        else if (is_on_stack( value )) size = STACK_LOOK;
        look_at_memory( value, size, words, self, call->sp );
    }
}

void ums_objects_in_call( const struct ums_call *call, struct ums_context *self,
                          enum object_call kind )
{
    if (kind == CALL_UNKNOWN || kind == CALL_WORDS) look_at_all( call, self, kind == CALL_WORDS );
    if (kind == CALL_NAMES_0 || kind == CALL_NAMES_0_1)
        ums_object_make_real( call->args[0], NAMED, self, call->sp );
    if (kind == CALL_NAMES_1 || kind == CALL_NAMES_0_1 || kind == CALL_NAMES_1_BUFFER)
        ums_object_make_real( call->args[1], NAMED, self, call->sp );
    if (kind == CALL_NAMES_1_BUFFER) look_at_buffer( call, self );
}

/* Called by any thread before a Unix call, whose arguments are a structure in memory. */
void ums_objects_in_unix_call( void *args, struct ums_context *self, uintptr_t sp )
{
    if (is_pointer( (uint64_t)(ULONG_PTR)args ))
        look_at_memory( (uint64_t)(ULONG_PTR)args, MEMORY_LOOK, 0, self, sp );
}
