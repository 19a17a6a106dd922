/*
 * Calls that make, use and close local objects, by every thread of the process.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * docs/local_objects.md says which objects are local, and why. core/objects.c has the state. The
 * handle is a real handle of the host; the host's object behind it is not signalled. The handle
 * table says which object of ours it belongs to. A local object has one handle: a second one makes
 * it real.
 *
 * Each function here returns 1 if it has answered the call, or 0 if the host has to make it. Errors
 * are left to the host, which knows the handle and its type.
 *
 * A handle may be closed, and its value used again, after we have looked at the table and before we
 * have the lock. So the entry is read again with the lock held; an entry counts its changes. A
 * thread that closes a handle first changes the entry, then takes the lock, then closes the handle
 * at the host (hook_handles.c).
 */

#define WIN32_NO_STATUS
#include <windows.h>
#undef WIN32_NO_STATUS
#include <ntstatus.h>
#include <winternl.h>
#include <string.h>
#include "syscalls/objects/hook_objects.h"
#include "host/asm_offsets.h"
#include "host/ke_win32.h"
#include "record/record.h"

/* ---- sections ---- */

/* The holder of the lock must not be stopped. A carried worker is not preempted in a local call,
   and one at home that is busy is not stopped. A thread that suspends a plain thread first asks for
   the holder of the lock. */
void ums_object_section_begin( struct object_section *section, struct ums_context *self,
                               uintptr_t sp )
{
    section->self = ums_is_plain( self ) ? NULL : self;
    if (!section->self) return;
    if ((section->carried = ums_worker_is_carried( self )))
    {
        ums_local_begin( self );
        return;
    }
    ums_worker_busy( self, 1 );
    section->before = self->inside;
    if (!inside_any( &self->inside )) inside_enter( &self->inside, sp, ke_stack_base() );
}

void ums_object_section_end( struct object_section *section )
{
    struct ums_context *self = section->self;

    if (!self) return;
    if (section->carried)
    {
        ums_local_end( self );
        ums_worker_give_way( self );
        return;
    }
    self->inside = section->before;
    ums_worker_busy( self, -1 );
}

/* ---- handles ---- */

struct ums_object *ums_object_of_entry( uint64_t entry )
{
    return ums_entry_kind( entry ) == ENTRY_OBJECT ? ums_object_at( ums_entry_value( entry ) ) : NULL;
}

static int is_the_hosts( const struct ums_object *o )
{
    return atomic_load( &o->real ) && !atomic_load( &o->stragglers );
}

/* A guess, because the entry can change until the lock is held. */
struct ums_object *ums_object_find( uint64_t handle )
{
    uint64_t entry = ums_handle_entry( (HANDLE)handle );
    struct ums_object *o = ums_object_of_entry( entry );

    if (!o || (is_the_hosts( o ) && ums_handle_entry( (HANDLE)handle ) == entry)) return NULL;
    return o;
}

int ums_object_is_local( HANDLE handle )
{
    struct ums_object *o = ums_object_find( (uint64_t)(ULONG_PTR)handle );

    return o && !atomic_load( &o->real );
}

struct ums_object *ums_object_lock( uint64_t handle )
{
    struct ums_object *o;

    ums_objects_lock();
    o = ums_object_of_entry( ums_handle_entry( (HANDLE)handle ) );
    if (o && !is_the_hosts( o )) return o;
    ums_objects_unlock();
    return NULL;
}

/* ---- the end ---- */

void ums_object_forget( struct ums_object *o, struct ums_context *self, uintptr_t sp )
{
    struct object_section section;

    ums_object_section_begin( &section, self, sp );
    ums_objects_lock();
    ums_object_close( o );
    ums_objects_unlock();
    ums_object_section_end( &section );
}

/* The entry is changed already. A thread that has found it unchanged uses the handle with the lock
   held. So when we get the lock, no such thread uses the handle any more. */
void ums_object_closing( uint64_t now, uint64_t before, struct ums_context *self, uintptr_t sp )
{
    struct object_section section;

    if (!now || !ums_object_of_entry( before )) return;
    ums_object_section_begin( &section, self, sp );
    ums_objects_lock();
    ums_object_closes( ums_object_of_entry( before ) );
    ums_objects_unlock();
    ums_object_section_end( &section );
}

void ums_object_closed( uint64_t now, uint64_t before, struct ums_context *self, uintptr_t sp )
{
    if (now && ums_object_of_entry( before )) ums_object_forget( ums_object_of_entry( before ), self, sp );
}

/* The calling thread ends: what it owns is abandoned before anybody can see that it has ended. The id is its own still,
   and finds what it has owned since before it was a worker, too. */
void ums_object_thread_ends( struct ums_context *self, uintptr_t sp )
{
    const struct object_thread thread = { ums_object_thread( self ).tid, NULL };
    struct object_section section;

    if (!atomic_load( &ums_objects_made )) return;
    ums_object_section_begin( &section, self, sp );
    ums_objects_lock();
    ums_mutants_abandon( &thread );
    ums_objects_unlock();
    ums_keepers_end( &thread );
    ums_object_section_end( &section );
}

/* A thread must not be ended while it holds the lock: nobody would release it. */
void ums_objects_last_thread( int begins )
{
    if (!atomic_load( &ums_objects_made )) return;
    if (begins) ums_objects_lock();
    else
    {
        ums_objects_alone();
        ums_objects_unlock();
    }
}

/* ---- operations ---- */

static int is_event( const struct ums_object *o )
{
    return o->type <= OBJECT_SYNCHRONIZATION;
}

static int32_t operate( struct ums_object *o, enum straggler_call what )
{
    switch (what)
    {
    case STRAGGLER_SET:   return ums_object_set( o );
    case STRAGGLER_RESET: return ums_object_reset( o );
    default:              return ums_object_pulse( o );
    }
}

static int operate_event( struct ums_call *call, struct ums_context *self, uint64_t previous,
                          enum straggler_call what, uint64_t *ret )
{
    struct object_section section;
    struct ums_object *o;
    int32_t before = 0;
    int done = 0;

    if (!ums_object_find( call->args[0] )) return 0;
    ums_object_section_begin( &section, self, call->sp );
    if ((o = ums_object_lock( call->args[0] )))
    {
        done = is_event( o );
        if (done && atomic_load( &o->real )) ums_object_with_stragglers( o, what, &section, &before );
        else
        {
            if (done) before = operate( o, what );
            ums_objects_unlock();
        }
    }
    ums_object_section_end( &section );
    if (done) *ret = ums_store_ulong( previous, (uint32_t)before );
    return done;
}

static int set_event( struct ums_call *call, struct ums_context *self, uint64_t *ret )
{
    return operate_event( call, self, call->args[1], STRAGGLER_SET, ret );
}

static int reset_event( struct ums_call *call, struct ums_context *self, uint64_t *ret )
{
    return operate_event( call, self, call->args[1], STRAGGLER_RESET, ret );
}

static int clear_event( struct ums_call *call, struct ums_context *self, uint64_t *ret )
{
    return operate_event( call, self, 0, STRAGGLER_RESET, ret );
}

static int pulse_event( struct ums_call *call, struct ums_context *self, uint64_t *ret )
{
    return operate_event( call, self, call->args[1], STRAGGLER_PULSE, ret );
}

static int release_semaphore( struct ums_call *call, struct ums_context *self, uint64_t *ret )
{
    const uint32_t count = (uint32_t)call->args[1];
    struct object_section section;
    struct ums_object *o;
    int32_t before = 0, status = STATUS_SUCCESS;
    int done = 0;

    if (!ums_object_find( call->args[0] )) return 0;
    ums_object_section_begin( &section, self, call->sp );
    if ((o = ums_object_lock( call->args[0] )))
    {
        done = o->type == OBJECT_SEMAPHORE;
        if (done && atomic_load( &o->real ))
            status = ums_object_release_with_stragglers( o, count, &section, &before );
        else
        {
            if (done && !ums_object_release( o, count, &before ))
                status = STATUS_SEMAPHORE_LIMIT_EXCEEDED;
            ums_objects_unlock();
        }
    }
    ums_object_section_end( &section );
    if (!done) return 0;
    *ret = status ? (uint64_t)(NTSTATUS)status : ums_store_ulong( call->args[2], (uint32_t)before );
    return 1;
}

uint64_t ums_store_two_words( uint64_t to, uint32_t first, uint32_t second, uint64_t returned )
{
    if (!ums_try_store32( (void *)to, first ) || !ums_try_store32( (char *)to + 4, second ))
        return (uint64_t)ums_bad_access( (void *)to, 8 );
    return ums_store_ulong( returned, 8 );
}

/* EVENT_BASIC_INFORMATION and SEMAPHORE_BASIC_INFORMATION [sdk]: two words each. */
static int query( struct ums_call *call, struct ums_context *self, int events, uint64_t *ret )
{
    uint64_t args[UMS_MAX_ARGS];
    struct object_section section;
    uint32_t first = 0, second = 0;
    struct ums_object *o;
    int done = 0;

    if (!ums_object_find( call->args[0] ) || (uint32_t)call->args[1] || (uint32_t)call->args[3] != 8)
        return 0;
    ums_object_section_begin( &section, self, call->sp );
    if ((o = ums_object_lock( call->args[0] )))
    {
        done = (events ? is_event( o ) : o->type == OBJECT_SEMAPHORE) && !atomic_load( &o->real );
        first  = events ? o->type : (uint32_t)o->state;
        second = events ? (uint32_t)o->state : (uint32_t)o->limit;
        ums_objects_unlock();
    }
    ums_object_section_end( &section );
    if (!done) return 0;
    ums_call_args( call, args );
    *ret = ums_store_two_words( args[2], first, second, args[4] );
    return 1;
}

static int query_event( struct ums_call *call, struct ums_context *self, uint64_t *ret )
{
    return query( call, self, 1, ret );
}

static int query_semaphore( struct ums_call *call, struct ums_context *self, uint64_t *ret )
{
    return query( call, self, 0, ret );
}

/* ---- which call is which ---- */

static const struct { const char *name; object_function function; } calls[] =
{
    { "NtCreateEvent", ums_object_create_event },
    { "NtCreateSemaphore", ums_object_create_semaphore },
    { "NtCreateMutant", ums_object_create_mutant },
    { "NtSetEvent", set_event },
    { "NtResetEvent", reset_event },
    { "NtClearEvent", clear_event },
    { "NtPulseEvent", pulse_event },
    { "NtQueryEvent", query_event },
    { "NtReleaseSemaphore", release_semaphore },
    { "NtQuerySemaphore", query_semaphore },
    { "NtReleaseMutant", ums_object_release_mutant },
    { "NtQueryMutant", ums_object_query_mutant },
    { "NtWaitForSingleObject", ums_object_wait_for_one },
    { "NtWaitForMultipleObjects", ums_object_wait_for_many },
    { "NtSignalAndWaitForSingleObject", ums_object_signal_and_wait },
};

#define CREATIONS 3

/* Calls that get events, semaphores or mutants, with the argument; and calls that get none to keep, set or
   wait for. This table is only for speed: all arguments of a call that is not here are looked at.
   Names are separated by blanks. */
static const struct { enum object_call kind; const char *names; } known[] =
{
    { CALL_WORDS, "wine_server_call" },
    { CALL_NAMES_0, "NtQueryObject NtSetInformationObject NtMakeTemporaryObject NtMakePermanentObject "
                    "NtSetEventBoostPriority NtQuerySecurityObject NtSetSecurityObject" },
    { CALL_NAMES_1, "NtDuplicateObject NtReadFile NtReadFileScatter NtWriteFile NtWriteFileGather "
                    "NtLockFile NtQueryDirectoryFile NtNotifyChangeDirectoryFile NtNotifyChangeKey" },
    { CALL_NAMES_0_1, "NtCompareObjects" },
    { CALL_NAMES_1_BUFFER, "NtDeviceIoControlFile NtFsControlFile" },
    { CALL_HARMLESS,
      "NtClose "                                /* hook_handles.c */
      "NtContinue NtContinueEx NtRaiseException NtCallbackReturn NtTestAlert "
      "NtTerminateThread NtTerminateProcess NtSuspendThread NtResumeThread NtAlertResumeThread "
      "NtGetContextThread NtSetContextThread NtCreateThreadEx NtOpenThread NtOpenProcess "
      "NtQueryInformationThread NtSetInformationThread NtQueryInformationProcess NtQueueApcThread "
      "NtYieldExecution NtDelayExecution NtAlertThreadByThreadId NtAlertMultipleThreadByThreadId "
      "NtWaitForAlertByThreadId NtQueryPerformanceCounter NtQuerySystemTime "
      "NtQuerySystemInformation NtGetCurrentProcessorNumber NtAllocateVirtualMemory "
      "NtFreeVirtualMemory NtProtectVirtualMemory NtQueryVirtualMemory NtReadVirtualMemory "
      "NtWriteVirtualMemory NtFlushInstructionCache "
      "NtFlushProcessWriteBuffers NtCreateSection NtOpenSection NtMapViewOfSection "
      "NtUnmapViewOfSection NtQuerySection NtCreateIoCompletion NtSetIoCompletion "
      "NtQueryIoCompletion NtRemoveIoCompletion NtRemoveIoCompletionEx NtWaitForKeyedEvent "
      "NtReleaseKeyedEvent NtOpenMutant NtOpenEvent "
      "NtOpenSemaphore NtCreateFile NtOpenFile NtQueryInformationFile NtQueryVolumeInformationFile "
      "NtQueryAttributesFile NtQueryFullAttributesFile NtCreateKey NtOpenKey NtOpenKeyEx "
      "NtQueryKey NtQueryValueKey NtEnumerateKey NtEnumerateValueKey NtSetValueKey" },
};

static uint8_t kinds[CALL_NUMBERS];             /* enum object_call, by the system's number */

uint32_t ums_object_call_kind( uint32_t nr )
{
    return kinds[nr & (CALL_NUMBERS - 1)];
}

static void set_kind( const char *name, unsigned int kind )
{
    const unsigned char *code = (void *)GetProcAddress( GetModuleHandleA( "ntdll.dll" ), name );
    unsigned int nr = code && code[3] == 0xb8 ? code[4] | code[5] << 8 : CALL_NUMBERS;   /* mov eax */

    if (nr < CALL_NUMBERS) kinds[nr] = (uint8_t)kind;
}

static void set_kinds( const char *names, enum object_call kind )
{
    char name[64];
    unsigned int n;

    while (*names)
    {
        for (n = 0; *names && *names != ' ' && n < sizeof(name) - 1; n++) name[n] = *names++;
        name[n] = 0;
        if (*names == ' ') names++;
        set_kind( name, kind );
    }
}

int ums_objects_start( void )
{
    unsigned int i;

    if (!ums_objects_init( &ums_object_host ) || !ums_keepers_init()) return 0;
    for (i = 0; i < ARRAYSIZE(calls); i++) set_kind( calls[i].name, CALL_OF_OBJECTS + i );
    for (i = 0; i < ARRAYSIZE(known); i++) set_kinds( known[i].names, known[i].kind );
    return 1;
}

int ums_object_creates( uint32_t nr )
{
    uint32_t kind = ums_object_call_kind( nr );

    return kind >= CALL_OF_OBJECTS && kind < CALL_OF_OBJECTS + CREATIONS;
}

int ums_object_looks( uint32_t nr )
{
    return ums_object_creates( nr ) ||
           (atomic_load( &ums_objects_made ) && ums_object_call_kind( nr ) != CALL_HARMLESS);
}

/* Called by the hook, on any thread that is not parked. */
int ums_object_call( struct ums_call *call, struct ums_context *self, uint64_t *ret )
{
    uint32_t kind = ums_object_call_kind( call_key_number( call->key ) );

    if (!ums_objects_on || kind == CALL_HARMLESS) return 0;
    if (kind < CALL_HARMLESS)
    {
        if (atomic_load( &ums_objects_made )) ums_objects_in_call( call, self, (enum object_call)kind );
        return 0;
    }
    return calls[kind - CALL_OF_OBJECTS].function( call, self, ret );
}

/* Called from assembly, on a thread that is no worker. Returns 0: make the host's call. */
int ums_object_look( struct ums_call *call, uint64_t *ret )
{
    return ums_object_call( call, ke_current(), ret );
}
