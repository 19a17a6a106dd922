/*
 * Threads that the shim makes.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#define WIN32_NO_STATUS
#include <windows.h>
#undef WIN32_NO_STATUS
#include <ntstatus.h>
#include <winternl.h>
#include <string.h>
#include "asm_offsets.h"
#include "ke.h"
#include "syscalls/hook/native.h"
#include "ke_win32.h"
#include "thread.h"

#define STACK_KEPT 0x4000                       /* below the stack pointer when a thread starts */
#define CREATE_SUSPENDED_THREAD 1               /* THREAD_CREATE_FLAGS [sym] */
#define THREAD_BASE_PRIORITY 3                  /* THREADINFOCLASS ThreadBasePriority [doc] */
#define SKIP_THREAD_ATTACH 2                    /* THREAD_CREATE_FLAGS [sym]: no DllMain hears of it.
                                                   Wine 8.0 and 10.0 ignore it (docs/wine.md) */
#define SERVICE_STACK 0x10000                   /* what is reserved; Wine makes it 1 MB, and keeps the
                                                   stack of the thread that ended last */
#define PEB_LOADER_LOCK 0x110                   /* a pointer to a critical section [sym] */
#define ENOUGH 2000                             /* ms, for a thread that is about to end */

NTSTATUS NTAPI NtCreateThreadEx( HANDLE *, ACCESS_MASK, void *, HANDLE, void *, void *, ULONG,
                                 ULONG_PTR, SIZE_T, SIZE_T, void * );
NTSTATUS NTAPI NtSetInformationThread( HANDLE, THREADINFOCLASS, void *, ULONG );
NTSTATUS NTAPI NtResumeThread( HANDLE, ULONG * );
NTSTATUS NTAPI NtOpenThread( HANDLE *, ACCESS_MASK, const OBJECT_ATTRIBUTES *, const CLIENT_ID * );
PEB *WINAPI RtlGetCurrentPeb( void );           /* [seen], not in mingw-w64's headers */

NTSTATUS ums_thread_create( enum ums_thread_kind kind, void (*start)( void *param ), void *param,
                            SIZE_T reserve, SIZE_T commit, LONG priority, HANDLE *thread )
{
    ULONG flags = (kind == THREAD_HAND ? 0 : SKIP_THREAD_ATTACH) |
                  (priority || kind == THREAD_STOPPED_SERVICE ? CREATE_SUSPENDED_THREAD : 0);
    NTSTATUS status = NtCreateThreadEx( thread, THREAD_ALL_ACCESS, NULL, GetCurrentProcess(), (void *)start,
                                        param, flags, 0, commit, reserve, NULL );
    if (!status && priority)
    {
        NtSetInformationThread( *thread, THREAD_BASE_PRIORITY, &priority, sizeof(priority) );
        NtResumeThread( *thread, NULL );
    }
    return status;
}

void ums_thread_set_start( void *start )
{
    NtSetInformationThread( GetCurrentThread(), ThreadQuerySetWin32StartAddress, &start, sizeof(start) );
}

int ums_thread_begins_here( void )
{
    void *start = NULL;
    uint64_t args[4 + CALL_STACK_ARGS] = { (uint64_t)(ULONG_PTR)GetCurrentThread(), ThreadQuerySetWin32StartAddress,
                                           (uint64_t)(ULONG_PTR)&start, sizeof(start) };

    return !(NTSTATUS)ums_native_call( "NtQueryInformationThread", args ) && ke_is_our_memory( (ULONG_PTR)start );
}

/* Nobody else stores this id. */
int ums_thread_has_loader_lock( uint32_t tid )
{
    const char *peb = (const char *)RtlGetCurrentPeb();
    const RTL_CRITICAL_SECTION *lock = *(RTL_CRITICAL_SECTION *const *)(peb + PEB_LOADER_LOCK);

    return lock && (uint32_t)(ULONG_PTR)lock->OwningThread == tid;
}

/* The caller may be waiting for the lock of local objects, which the hook may need. The hook leaves NtOpenThread alone. */
int ke_thread_is_gone( uint32_t tid )
{
    OBJECT_ATTRIBUTES attributes = { .Length = sizeof(attributes) };
    const LARGE_INTEGER at_once = { .QuadPart = 0 };
    uint64_t args[4 + CALL_STACK_ARGS] = { 0, 0, (uint64_t)(ULONG_PTR)&at_once };
    CLIENT_ID id = { NULL, ULongToHandle( tid ) };
    NTSTATUS status;
    HANDLE thread;
    int gone;

    if ((status = NtOpenThread( &thread, SYNCHRONIZE, &attributes, &id ))) return status == STATUS_INVALID_CID;
    args[0] = (uint64_t)(ULONG_PTR)thread;
    gone = !(NTSTATUS)ums_native_call( "NtWaitForSingleObject", args );
    memset( args, 0, sizeof(args) );
    args[0] = (uint64_t)(ULONG_PTR)thread;
    ums_native_call( "NtClose", args );
    return gone;
}

/* ---- services ---- */

/* Ids are reused, but only after a long time. If another thread has the id by then, this waits once for
   nothing. */
static int has_ended( _Atomic uint32_t *tid, DWORD patience )
{
    uint32_t id = atomic_load( tid );
    HANDLE thread = id ? OpenThread( SYNCHRONIZE, FALSE, id ) : NULL;
    int ended = !thread || WaitForSingleObject( thread, patience ) == WAIT_OBJECT_0;

    if (thread) CloseHandle( thread );
    if (id && ended) atomic_compare_exchange_strong( tid, &id, 0 );
    return ended;
}

void ums_service_wait( _Atomic uint32_t *tid )
{
    has_ended( tid, ENOUGH );
}

int ums_service_has_ended( _Atomic uint32_t *tid )
{
    return has_ended( tid, 0 );
}

NTSTATUS ums_service_create( _Atomic uint32_t *tid, void (*start)( void *param ) )
{
    HANDLE thread;
    NTSTATUS status;

    ums_service_wait( tid );
    if ((status = ums_thread_create( THREAD_SERVICE, start, NULL, SERVICE_STACK, 0, 0, &thread )))
        return status;
    atomic_store( tid, GetThreadId( thread ) );
    CloseHandle( thread );
    return STATUS_SUCCESS;
}

/* A process may have thousands of parked threads. */
void ums_thread_release_stack( void )
{
    NT_TIB *tib = (NT_TIB *)NtCurrentTeb();
    char *low = tib->StackLimit, *high = (char *)__builtin_frame_address( 0 ) - STACK_KEPT;

    high = (char *)((ULONG_PTR)high & ~(ULONG_PTR)0xfff);
    if (high > low) VirtualAlloc( low, high - low, MEM_RESET, PAGE_READWRITE );
}
