/*
 * ntdll's seven calls of worker factories, under both their names. Arguments and access are checked
 * in the order in which Windows checks them, as far as that is known.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * These are functions, not system calls: they enter the kernel only where they must. A thread that
 * waits sleeps in a futex, outside any call.
 */

#define WIN32_NO_STATUS
#include <windows.h>
#undef WIN32_NO_STATUS
#include <ntstatus.h>
#include <winternl.h>
#include <string.h>
#include "factory_host.h"
#include "factory_guess.h"
#include "core/patience.h"
#include "core/section.h"
#include "host/access.h"
#include "host/ke_win32.h"
#include "record/record.h"
#include "main.h"
#include "workerfactory.h"

#define PORT_MODIFY_STATE 0x2
#define PROCESS_NEEDED    (PROCESS_CREATE_THREAD | PROCESS_VM_OPERATION | PROCESS_VM_WRITE)
#define TYPE_ROOM         256                   /* bytes for an object type and its name */

NTSTATUS NTAPI NtDuplicateObject( HANDLE, HANDLE, HANDLE, HANDLE *, ACCESS_MASK, ULONG, ULONG );

/* ---- the version that the process sees ---- */

static uint32_t windows_version( void )         /* 0x601 is Windows 7 */
{
    const char *peb;

    __asm__( "movq %%gs:0x60, %0" : "=r" (peb) );
    return *(const uint32_t *)(peb + 0x118) << 8 | (*(const uint32_t *)(peb + 0x11c) & 0xff);
}

static uint32_t class_count( void )
{
    const uint32_t version = windows_version();

    if (!ums_guess.classes_by_version || version > 0xa00) return MaxWorkerFactoryInfoClass;
    return version < 0x602 ? WorkerFactoryThreadBasePriority
           : version < 0xa00 ? WorkerFactoryTimeoutWaiters : MaxWorkerFactoryInfoClass;
}

/* ---- create ---- */

static NTSTATUS check_object( HANDLE handle, const WCHAR *type, ACCESS_MASK access )
{
    union { OBJECT_TYPE_INFORMATION type; char room[TYPE_ROOM]; } info;
    OBJECT_BASIC_INFORMATION basic;
    NTSTATUS status;

    if ((status = NtQueryObject( handle, ObjectBasicInformation, &basic, sizeof(basic), NULL )))
        return status;
    if (NtQueryObject( handle, ObjectTypeInformation, &info, sizeof(info), NULL ) ||
        info.type.TypeName.Length != lstrlenW( type ) * sizeof(WCHAR) ||
        memcmp( info.type.TypeName.Buffer, type, info.type.TypeName.Length ))
        return STATUS_OBJECT_TYPE_MISMATCH;
    return (basic.GrantedAccess & access) == access ? STATUS_SUCCESS : STATUS_ACCESS_DENIED;
}

static NTSTATUS check_port( HANDLE port )
{
    NTSTATUS status = check_object( port, L"IoCompletion", PORT_MODIFY_STATE );

    return status == STATUS_INVALID_HANDLE ? ums_guess.port_bad_handle : status;
}

static NTSTATUS check_process( HANDLE process )
{
    NTSTATUS status;

    if (process == GetCurrentProcess()) return STATUS_SUCCESS;
    if ((status = check_object( process, L"Process", PROCESS_NEEDED ))) return status;
    return ums_is_this_process( process ) ? STATUS_SUCCESS : ums_guess.foreign_process;
}

/* A copy, so that the program's memory is read once. */
static NTSTATUS check_attributes( const OBJECT_ATTRIBUTES *from, OBJECT_ATTRIBUTES *attributes )
{
    uint64_t *to = (uint64_t *)attributes;
    unsigned int i;

    memset( attributes, 0, sizeof(*attributes) );
    attributes->Length = sizeof(*attributes);
    if (!from) return STATUS_SUCCESS;
    for (i = 0; i < sizeof(*attributes) / sizeof(*to); i++)
        if (!ums_try_load( (const uint64_t *)from + i, to + i )) return ums_bad_access( from, sizeof(*from) );
    if (attributes->Length != sizeof(*attributes)) return STATUS_INVALID_PARAMETER;
    if (attributes->RootDirectory && !attributes->ObjectName) return STATUS_OBJECT_NAME_INVALID;
    return STATUS_SUCCESS;
}

static uint32_t processors( void )
{
    SYSTEM_INFO info;

    GetSystemInfo( &info );
    return info.dwNumberOfProcessors;
}

/* The queue of a port, which other factories may share. Two threads may each make one for the same
   port at the same time: then each queue serves its own factory. */
static NTSTATUS find_queue( HANDLE port, struct ums_queue **ret )
{
    NTSTATUS (NTAPI *compare)( HANDLE, HANDLE ) =
        (void *)GetProcAddress( GetModuleHandleA( "ntdll.dll" ), "NtCompareObjects" );
    uint32_t i, made = ums_pool_made( &ums_factory_pool ), concurrency;
    NTSTATUS status;

    for (i = 0; compare && i < made; i++)
    {
        struct ums_factory *f = ums_pool_any( &ums_factory_pool, i );

        if (!ums_factory_hold( f )) continue;
        if (f->queue->port && !compare( port, f->queue->port ))
        {
            *ret = f->queue;
            atomic_fetch_add( &f->queue->refs, 1 );
            ums_factory_unref( f );
            return STATUS_SUCCESS;
        }
        ums_factory_unref( f );
    }
    if (!(concurrency = ums_handle_concurrency( port ))) concurrency = processors();
    if (!(*ret = ums_queue_alloc( concurrency ))) return STATUS_NO_MEMORY;
    status = NtDuplicateObject( GetCurrentProcess(), port, GetCurrentProcess(), &(*ret)->port,
                                SYNCHRONIZE | 0x3, 0, 0 );
    if (status) ums_pool_free( &ums_queue_pool, *ret );
    else ums_handle_own( (*ret)->port );
    return status;
}

static void drop_queue( struct ums_queue *q )
{
    if (atomic_fetch_sub( &q->refs, 1 ) != 1) return;
    ums_handle_close_own( q->port );
    ums_pool_free( &ums_queue_pool, q );
}

/* A handle of the factory, by its object. STATUS_INVALID_HANDLE: its last handle has been closed. The value of
   `object` may then stand for another object; but a factory is closed before that handle, so the count is
   refused. */
static NTSTATUS make_handle( struct ums_factory *f, HANDLE object, ACCESS_MASK access, ULONG inherit,
                             HANDLE *handle )
{
    NTSTATUS status;

    access = ums_factory_access( access );
    status = NtDuplicateObject( GetCurrentProcess(), object, GetCurrentProcess(), handle, access,
                                inherit, 0 );
    if (status || ums_handle_is_factory( *handle, f, access )) return status;
    NtClose( *handle );
    return STATUS_INVALID_HANDLE;
}

/* A factory is seen by name as soon as its object exists, and has to be found then. So whoever finds a
   name whose factory is not known looks again if one is being made, or was made since before the look. A
   thread that is stopped while it makes one keeps the others looking until it goes on, for UMS_PATIENCE at
   most; one that is ended there does so for good, but only for names that are not a factory's of this
   process. */
static _Atomic uint32_t making, made;

/* The name exists already. STATUS_RETRY: its factory is being made, or was just closed. */
static NTSTATUS open_old( HANDLE object, ACCESS_MASK access, ULONG inherit, HANDLE *handle )
{
    uint32_t before = atomic_load( &made );
    struct ums_factory *f = ums_factory_of_object( object );
    NTSTATUS status;

    if (!f) return atomic_load( &making ) || atomic_load( &made ) != before ||
                   ums_factory_was_shown( object ) ? STATUS_RETRY : STATUS_OBJECT_TYPE_MISMATCH;
    status = make_handle( f, atomic_load( &f->object ), access, inherit, handle );
    ums_factory_unref( f );
    if (status == STATUS_INVALID_HANDLE) return STATUS_RETRY;
    return status ? status : STATUS_OBJECT_NAME_EXISTS;
}

/* Its object in the host, and `making` is counted; or a handle of the factory that has the name. A worker that
   waits here is blocked, so another one of its scheduler can end what it waits for. */
static NTSTATUS make_object( OBJECT_ATTRIBUTES *attributes, ACCESS_MASK access, HANDLE *object,
                             HANDLE *handle )
{
    const ULONG inherit = attributes->Attributes & OBJ_INHERIT;
    struct ums_wait wait = ums_wait_begins();
    NTSTATUS status;

    for (;;)
    {
        atomic_fetch_add( &making, 1 );
        attributes->Attributes &= ~OBJ_INHERIT;
        status = ums_factory_object( attributes, object );
        attributes->Attributes |= inherit;
        if (!status) return status;
        atomic_fetch_sub( &making, 1 );
        if (status != STATUS_OBJECT_NAME_EXISTS) return status;
        status = open_old( *object, access, inherit, handle );
        ums_handle_close_own( *object );
        if (status != STATUS_RETRY) return status;
        if (ums_give_up( &wait, "the name of another factory" )) return STATUS_OBJECT_TYPE_MISMATCH;
        Sleep( 1 );
    }
}

/* The first handle is counted before anybody can find the factory. */
static NTSTATUS make_factory( struct ums_factory *f, HANDLE object, ACCESS_MASK access, ULONG inherit,
                              HANDLE *handle )
{
    NTSTATUS status = ums_factory_show( f, object ) ? make_handle( f, object, access, inherit, handle )
                                                    : STATUS_NO_MEMORY;

    if (!status) atomic_store( &f->object, object );
    else
    {
        ums_handle_close_own( object );
        ums_factory_unref( f );
    }
    return status;
}

NTSTATUS NTAPI NtCreateWorkerFactory( PHANDLE ret, ACCESS_MASK access, POBJECT_ATTRIBUTES attr,
                                      HANDLE port, HANDLE process, PVOID start, PVOID parameter,
                                      ULONG max, SIZE_T stack_reserve, SIZE_T stack_commit )
{
    const struct ums_factory_start threads = { start, parameter, stack_reserve, stack_commit };
    OBJECT_ATTRIBUTES attributes;
    struct ums_factory *f = NULL;
    struct ums_queue *q;
    NTSTATUS status;
    HANDLE object, handle;

    if (!ums_active()) return STATUS_NOT_SUPPORTED;
    if (!ums_try_store( ret, 0 )) return ums_bad_access( ret, sizeof(*ret) );
    if ((status = check_port( port )) || (status = check_process( process )) ||
        (status = check_attributes( attr, &attributes ))) return status;
    status = make_object( &attributes, access, &object, &handle );
    if (status == STATUS_OBJECT_NAME_EXISTS) *ret = handle;
    if (status) return status;
    if (!(status = find_queue( port, &q )) && !(f = ums_factory_alloc( q, max, &threads )))
    {
        drop_queue( q );
        status = STATUS_NO_MEMORY;
    }
    if (status) ums_handle_close_own( object );
    else status = make_factory( f, object, access, attributes.Attributes & OBJ_INHERIT, &handle );
    atomic_fetch_add( &made, 1 );               /* in this order: open_old reads them in the other */
    atomic_fetch_sub( &making, 1 );
    if (!status && !ums_try_store( ret, (uint64_t)handle )) status = ums_bad_access( ret, sizeof(*ret) );
    return status;
}

/* ---- query and set ---- */

static NTSTATUS find( HANDLE handle, ACCESS_MASK access, struct ums_factory **f )
{
    struct ums_section section;
    NTSTATUS status;

    ums_section_begin( &section );
    status = ums_factory_of_handle( handle, access, f );
    ums_section_end( &section );
    return status;
}

void ums_factory_fill( struct ums_factory *f, WORKER_FACTORY_BASIC_INFORMATION *info )
{
    struct ums_factory_counts counts;
    const int shut = ums_factory_is_shut( f );

    ums_factory_count( f, &counts );
    memset( info, 0, sizeof(*info) );
    info->Timeout.QuadPart         = atomic_load( &f->timeout );
    info->RetryTimeout.QuadPart    = atomic_load( &f->retry_timeout );
    info->IdleTimeout.QuadPart     = atomic_load( &f->idle_timeout );
    info->Paused                   = atomic_load( &f->paused ) != 0;
    info->TimerSet                 = atomic_load( &f->retry_at ) > ke_clock();
    info->QueuedToExWorker         = atomic_load( &f->asked ) != 0;
    info->MayCreate                = !shut && counts.total < atomic_load( &f->max );
    info->CreateInProgress         = atomic_load( &f->creating ) != 0;
    info->Shutdown                 = shut;
    info->BindingCount             = atomic_load( &f->binding );
    info->ThreadMinimum            = atomic_load( &f->min );
    info->ThreadMaximum            = atomic_load( &f->max );
    info->PendingWorkerCount       = counts.starting;
    info->WaitingWorkerCount       = counts.waiting;
    info->TotalWorkerCount         = counts.total;
    info->ReleaseCount             = counts.releases;
    info->InfiniteWaitGoal         = (int32_t)atomic_load( &f->infinite_goal );
    info->StartRoutine             = f->start.start;
    info->StartParameter           = f->start.param;
    info->ProcessId                = (HANDLE)(ULONG_PTR)GetCurrentProcessId();
    info->StackReserve             = f->start.stack_reserve;
    info->StackCommit              = f->start.stack_commit;
    info->LastThreadCreationStatus = atomic_load( &f->last_status );
}

NTSTATUS NTAPI NtQueryInformationWorkerFactory( HANDLE handle, WORKERFACTORYINFOCLASS info_class,
                                                PVOID buffer, ULONG length, PULONG ret_length )
{
    WORKER_FACTORY_BASIC_INFORMATION info;
    const uint64_t *from = (const uint64_t *)&info;
    struct ums_factory *f;
    NTSTATUS status;
    unsigned int i;

    if ((ULONG)info_class >= class_count()) return STATUS_INVALID_INFO_CLASS;
    if (info_class != WorkerFactoryBasicInformation) return ums_guess.query_class;
    if (length < sizeof(info)) return ums_guess.query_length;
    if (!(status = find( handle, WORKER_FACTORY_QUERY_INFORMATION, &f )))
    {
        ums_factory_fill( f, &info );
        ums_factory_drop( f );
    }
    else if (status == STATUS_OBJECT_TYPE_MISMATCH)
        status = ums_factory_foreign( handle, WORKER_FACTORY_QUERY_INFORMATION, FOREIGN_QUERY, 0,
                                      NULL, &info );
    if (status) return status;
    for (i = 0; i < sizeof(info) / sizeof(*from); i++)
        if (!ums_try_store( (uint64_t *)buffer + i, from[i] )) return ums_bad_access( buffer, sizeof(info) );
    return (NTSTATUS)ums_store_ulong( (uint64_t)ret_length, sizeof(info) );
}

static int length_fits( WORKERFACTORYINFOCLASS info_class, ULONG length )
{
    if (info_class <= WorkerFactoryIdleTimeout) return length == sizeof(LARGE_INTEGER);
    if (info_class == WorkerFactoryThreadCpuSets) return length && !(length % sizeof(ULONG));
    return length == sizeof(ULONG);
}

/* Reads not a byte more than its length: its page may end there. */
static int load_value( const void *buffer, ULONG length, uint64_t *value )
{
    const uintptr_t place = (uintptr_t)buffer & 7;
    uint64_t next = 0;

    if (length >= 8) return ums_try_load( buffer, value );
    if (place <= 4)
    {
        if (!ums_try_load( (const void *)((uintptr_t)buffer - place), value )) return 0;
        *value >>= place * 8;
    }
    else
    {
        if (!ums_try_load( (const void *)((uintptr_t)buffer - place), value ) ||
            !ums_try_load( (const void *)((uintptr_t)buffer - place + 8), &next )) return 0;
        *value = *value >> place * 8 | next << (8 - place) * 8;
    }
    *value = (uint32_t)*value;
    return 1;
}

NTSTATUS ums_factory_set_and_wait( struct ums_factory *f, ULONG info_class, uint64_t value )
{
    struct ums_section section;
    NTSTATUS status;

    ums_section_begin( &section );
    status = ums_factory_set( f, info_class, value );
    ums_section_end( &section );
    if (status) return status;
    if (info_class == WorkerFactoryThreadMinimum && ums_factory_wants( f )) ums_manager_wait();
    ums_queue_return( f->queue );
    return STATUS_SUCCESS;
}

NTSTATUS NTAPI NtSetInformationWorkerFactory( HANDLE handle, WORKERFACTORYINFOCLASS info_class,
                                              PVOID buffer, ULONG length )
{
    struct ums_factory *f;
    NTSTATUS status;
    uint64_t value;

    if ((ULONG)info_class >= class_count() || info_class == WorkerFactoryBasicInformation)
        return STATUS_INVALID_INFO_CLASS;
    if (!length_fits( info_class, length )) return STATUS_INFO_LENGTH_MISMATCH;
    if (!load_value( buffer, length, &value )) return ums_bad_access( buffer, length );
    status = find( handle, WORKER_FACTORY_SET_INFORMATION, &f );
    if (status == STATUS_OBJECT_TYPE_MISMATCH)
        return ums_factory_foreign( handle, WORKER_FACTORY_SET_INFORMATION, FOREIGN_SET, info_class,
                                    &value, NULL );
    if (status) return status;
    status = ums_factory_set_and_wait( f, info_class, value );
    ums_factory_drop( f );
    return status;
}

NTSTATUS NTAPI NtShutdownWorkerFactory( HANDLE handle, volatile LONG *pending )
{
    struct ums_section section;
    struct ums_factory *f;
    NTSTATUS status;
    uint64_t before;

    if (!load_value( (const void *)pending, sizeof(*pending), &before ) ||
        !ums_try_store32( (void *)pending, (uint32_t)before ))
        return ums_bad_access( (const void *)pending, sizeof(*pending) );
    if (!(status = find( handle, WORKER_FACTORY_SHUTDOWN, &f )))
    {
        ums_section_begin( &section );
        before = ums_factory_shutdown( f );
        ums_section_end( &section );
        ums_queue_return( f->queue );
        ums_factory_drop( f );
    }
    else if (status == STATUS_OBJECT_TYPE_MISMATCH)
        status = ums_factory_foreign( handle, WORKER_FACTORY_SHUTDOWN, FOREIGN_SHUTDOWN, 0, &before,
                                      NULL );
    if (!status) ums_try_store32( (void *)pending, (uint32_t)before );
    return status;
}

/* ---- work ---- */

/* One section for all of it: programs make this call often. */
NTSTATUS NTAPI NtReleaseWorkerFactoryWorker( HANDLE handle )
{
    struct ums_section section;
    struct ums_factory *f;
    NTSTATUS found, status = STATUS_SUCCESS;

    ums_section_begin( &section );
    if (!(found = ums_factory_of_handle( handle, WORKER_FACTORY_RELEASE_WORKER, &f )))
    {
        status = ums_factory_release( f );
        ums_factory_unref( f );
    }
    ums_section_end( &section );
    if (found != STATUS_OBJECT_TYPE_MISMATCH) return found ? found : status;
    return ums_factory_foreign( handle, WORKER_FACTORY_RELEASE_WORKER, FOREIGN_RELEASE, 0, NULL, NULL );
}

NTSTATUS NTAPI NtWorkerFactoryWorkerReady( HANDLE handle )
{
    struct ums_section section;
    struct ums_factory *f;
    NTSTATUS status;

    ums_section_begin( &section );
    if (!(status = ums_factory_of_handle( handle, WORKER_FACTORY_READY_WORKER, &f )))
    {
        status = ums_factory_ready( f, ums_hand_current() );
        ums_factory_unref( f );
    }
    ums_section_end( &section );
    return status;
}

/* The calling thread as a hand of f. A thread that f has not made becomes a guest, of one factory
   at a time. */
static NTSTATUS hand_for( struct ums_factory *f, struct ums_hand **ret )
{
    struct ums_hand *h = ums_hand_current();

    if (h && atomic_load( &h->factory ) != f)
    {
        if (!h->guest) return ums_guess.wait_other;
        ums_set_hand( NULL );
        ums_hand_exits( h );
        h = NULL;
    }
    if (!h)
    {
        if (!(h = ums_hand_guest( f ))) return STATUS_NO_MEMORY;
        atomic_store( &h->tid, GetCurrentThreadId() );
        ums_set_hand( h );
        ke_manager_wake();                      /* behind that, or nobody would count a thread out that is terminated there */
    }
    *ret = h;
    return STATUS_SUCCESS;
}

/* A UMS worker blocks here like in any kernel call. */
NTSTATUS ums_factory_wait( struct ums_factory *f, struct ums_packet *packets, uint32_t count,
                           uint32_t *n )
{
    struct ums_context *self = ke_current();
    struct ums_section section;
    struct ums_hand *h = NULL;
    ums_status status;
    int blocked = 0, over;

    ums_section_begin( &section );
    over = (status = hand_for( f, &h )) || ums_factory_wait_begin( f, h, packets, count, n, &status );
    ums_section_end( &section );
    if (over) return status;
    if (self && self->kind == CONTEXT_WORKER)
    {
        ums_note_call( self, WHY_FACTORY );
        blocked = ums_worker_block( self, 1 );
    }
    status = ums_factory_wait_end( f, h, packets, count, n );
    ums_worker_back_from( self, blocked );
    return status;
}

static int can_write( void *buffer, size_t size )
{
    size_t offset;
    uint64_t old;

    for (offset = 0; ; offset += 0x1000)
    {
        uint64_t *at = (uint64_t *)((char *)buffer + (offset < size - 8 ? offset : size - 8));

        if (!ums_try_load( at, &old ) || !ums_try_store( at, old )) return 0;
        if (offset >= size - 8) return 1;
    }
}

static void store_packets( FILE_IO_COMPLETION_INFORMATION *to, const struct ums_packet *from,
                           uint32_t n )
{
    uint32_t i;

    for (i = 0; i < n; i++)
    {
        to[i].KeyContext                = (void *)from[i].key;
        to[i].ApcContext                = (void *)from[i].apc;
        to[i].IoStatusBlock.Pointer     = (void *)from[i].status;
        to[i].IoStatusBlock.Information = from[i].information;
    }
}

/* Windows 7 has only the first two parameters, 8 the first four: the others are not read. */
NTSTATUS NTAPI NtWaitForWorkViaWorkerFactory( HANDLE handle, PFILE_IO_COMPLETION_INFORMATION out,
                                              ULONG count, PULONG returned,
                                              PWORKER_FACTORY_DEFERRED_WORK deferred )
{
    const uint32_t version = windows_version();
    struct ums_packet packets[FACTORY_BATCH];
    struct ums_factory *f;
    uint32_t n = 0;
    uint64_t message = 0;
    NTSTATUS status;

    if (version < 0x602) count = 1;
    if (!out || !count) return ums_guess.wait_no_packets;
    if (count > FACTORY_BATCH) count = FACTORY_BATCH;
    if (!can_write( out, count * sizeof(*out) )) return ums_bad_access( out, count * sizeof(*out) );
    if (version >= 0x602 && !ums_try_store32( returned, 0 )) return ums_bad_access( returned, sizeof(*returned) );
    if (version >= 0x603 && deferred && !ums_try_load( deferred, &message )) return ums_bad_access( deferred, sizeof(message) );
    if (message) return ums_guess.wait_deferred_alpc;
    if (!(status = find( handle, WORKER_FACTORY_WAIT, &f )))
    {
        status = ums_factory_wait( f, packets, count, &n );
        ums_factory_drop( f );
    }
    else if (status == STATUS_OBJECT_TYPE_MISMATCH)
        status = ums_factory_foreign_wait( handle, packets, count, &n );
    if (status) return status;
    store_packets( out, packets, n );
    if (version >= 0x602) *returned = n;
    return STATUS_SUCCESS;
}
