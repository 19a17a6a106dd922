/*
 * The calls, by name: how each is treated when a worker makes it, and why.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Numbers differ between versions of Wine and Windows, so they are read from the stubs at start. A
 * call without a row may block, as far as we know: it is made at home, and the scheduler is told
 * when it takes longer than the grace period.
 *
 * The stub hook sees only what is listed here, so calls that often block are listed although they
 * have the default class. (Where workers are carried it sees the others too.)
 *
 * A call is LOCAL only if the source of Wine 8.0 and 10.0 (dlls/ntdll/unix, server) shows all of
 * the following. Its result and its effect do not depend on which thread of the process makes it.
 * It waits for nothing except a wineserver request that is answered at once, or a short mutex inside
 * Wine. It returns to its caller and runs no user-mode code before. If a handle argument has a fixed
 * type and is a pseudo handle of the thread, the call is refused from any thread. A call with the
 * name of an object goes home: opening a name checks the calling thread's impersonation token. Keys are the
 * exception, as long as no thread has one.
 */

#include <windows.h>
#include "core/ums_core.h"
#include "syscalls/hook/hook.h"
#include "factory/factory_host.h"
#include "host/first_apcs.h"

#define LOCAL( name, why )        { name, CALL_LOCAL, -1, -1, 0, NULL, NULL, NULL, why, NULL, 0, 0, 0 },
#define LOCAL_IF( name, cond, why ) { name, CALL_LOCAL, -1, -1, 0, cond, NULL, NULL, why, NULL, 0, 0, 0 },
#define QUICK( name, why )        { name, CALL_QUICK, -1, -1, 0, NULL, NULL, NULL, why, NULL, 0, 0, 0 },
#define MAY_BLOCK( name, why )    { name, CALL_MAY_BLOCK, -1, -1, 0, NULL, NULL, NULL, why, NULL, 0, 0, 0 },
/* home and the grace period, as MAY_BLOCK; but a carried worker makes it on its carrier if cond returns 1 */
#define MAY_BLOCK_UNLESS( name, cond, why ) \
    { name, CALL_MAY_BLOCK, -1, -1, 0, cond, NULL, NULL, why, NULL, 0, 0, 0 },
#define WAIT( name, timeout, alertable, try_zero, why ) \
    { name, CALL_WAIT, timeout, alertable, try_zero, NULL, NULL, NULL, why, NULL, 0, 0, 0 },
#define SPECIAL( name, handler, why ) \
    { name, CALL_SPECIAL, -1, -1, 0, NULL, handler, NULL, why, NULL, 0, 0, 0 },
/* answered without the kernel if possible, otherwise as above */
#define WAIT_HERE( name, timeout, alertable, try_zero, here, why ) \
    { name, CALL_WAIT, timeout, alertable, try_zero, NULL, NULL, NULL, why, here, 0, 0, 0 },
#define WAIT_FOR_ALERT( name, timeout, here, why ) \
    { name, CALL_WAIT, timeout, -1, 1, NULL, NULL, NULL, why, here, 0, 0, HERE_ALERTS },
/* the same, for calls that other threads make, too */
#define RELEASE_HERE( name, timeout, alertable, here, why ) \
    { name, CALL_WAIT, timeout, alertable, 1, NULL, NULL, NULL, why, here, 0, 0, HERE_FOR_ALL },
#define ALERT( name, here, why ) \
    { name, CALL_LOCAL, -1, -1, 0, NULL, NULL, NULL, why, here, 0, 0, HERE_FOR_ALL | HERE_ALERTS },
/* a handler for handles of worker factories and ports; the class is for all other handles */
#define OURS( name, cls, handler, why ) \
    { name, cls, -1, -1, 0, NULL, handler, ums_is_handle_of_ours, why, NULL, 0, 0, 0 },

/* as above; a successful call makes, or closes, a handle */
#define MAKES( kind, name, cls, local_if, handler, why ) \
    { name, cls, -1, -1, 0, local_if, handler, NULL, why, NULL, kind, 0, 0 },
#define CLOSES( which, name, cls, handler, why ) \
    { name, cls, -1, -1, 0, NULL, handler, ums_is_handle_of_ours, why, NULL, 0, which, 0 },

const struct call_row ums_default_row =
    { "(other)", CALL_MAY_BLOCK, -1, -1, 0, NULL, NULL, NULL, "unknown", NULL, 0, 0, 0 };

/* ---- conditions of local calls ---- */

/* For the memory of another process, Wine waits until that process has made the change. */
static int own_process( const struct ums_call *call )
{
    return call->args[0] == (uint64_t)-1;
}

/* MemoryBasicInformation; some other classes read files. */
static int own_process_basic( const struct ums_call *call )
{
    return own_process( call ) && !(uint32_t)call->args[2];
}

/* A thread handle may be -2, the calling thread. */
static int other_thread( const struct ums_call *call )
{
    return call->args[0] != (uint64_t)-2;
}

/* The same, if the thread is no worker that has not begun (ums_special_queue_apc). */
static int begun_thread( const struct ums_call *call )
{
    return other_thread( call ) && !ums_first_apcs_may_come();
}

static int may_not_have_begun( const struct ums_call *call )
{
    return ums_first_apcs_may_come() && call->args[1];
}

/* A timer with an APC routine belongs to the thread that sets it. */
static int no_routine( const struct ums_call *call )
{
    return !call->args[2];
}

/* OBJECT_ATTRIBUTES.ObjectName is NULL: a new object without a name. If the attributes cannot be read
   the worker goes home, and the call fails there. */
static int no_name( const struct ums_call *call )
{
    uint64_t name = 0;

    return !call->args[2] || (ums_try_load( (const char *)call->args[2] + 0x10, &name ) && !name);
}

/* The registry is in the wineserver's memory. On a host where it is not, nobody is carried. */
static int always( const struct ums_call *call )
{
    (void)call;
    return 1;
}

/* A key that exists is opened with the token of the calling thread, or of the process if it has none. By
   ImpersonateNamedPipeClient a thread gets a copy of the process' token, which allows the same. */
static int nobody_impersonates( const struct ums_call *call )
{
    (void)call;
    return !atomic_load( &ums_impersonated );
}

const struct call_row ums_call_rows[] =
{
    /* waits. A try has the full effect if the wait is satisfied, and no effect if it is not. */
    WAIT( "NtWaitForSingleObject", 2, 1, 1, "waits; not satisfied = no effect" )
    WAIT( "NtWaitForMultipleObjects", 4, 3, 1, "waits; takes all or nothing" )
    WAIT_HERE( "NtDelayExecution", 1, 0, 0, ums_here_delay, "always waits; a try would be a yield" )
    WAIT_FOR_ALERT( "NtWaitForAlertByThreadId", 1, ums_here_wait_for_alert,
               "waits; an alert stays pending until it is taken" )
    WAIT_HERE( "NtWaitForKeyedEvent", 3, 2, 1, ums_here_wait_for_key,
               "waits; without a releaser nothing happens" )
    RELEASE_HERE( "NtReleaseKeyedEvent", 3, 2, ums_here_release_key,
                  "waits for the waiter; without one nothing happens" )
    WAIT( "NtRemoveIoCompletion", 4, -1, 1, "waits for a packet" )
    WAIT( "NtRemoveIoCompletionEx", 4, 5, 1, "waits for packets" )
    WAIT( "NtSignalAndWaitForSingleObject", 3, 2, 0, "a try would signal, and signal again" )

    /* may block, listed for the stub hook */
    MAY_BLOCK( "NtReadFile", "pipes, sockets, consoles, slow disks" )
    MAY_BLOCK( "NtReadFileScatter", "slow disks" )
    MAY_BLOCK( "NtWriteFile", "pipes, sockets, consoles, slow disks" )
    MAY_BLOCK( "NtWriteFileGather", "slow disks" )
    MAY_BLOCK( "NtDeviceIoControlFile", "sockets and devices" )
    MAY_BLOCK( "NtFsControlFile", "waits for a pipe's other end" )
    MAY_BLOCK( "NtFlushBuffersFile", "waits for the disk or the pipe's reader" )
    MAY_BLOCK( "NtLockFile", "waits for another holder" )
    MAKES( KIND_OTHER, "NtCreateFile", CALL_MAY_BLOCK, NULL, NULL, "file systems, servers" )
    MAKES( KIND_OTHER, "NtOpenFile", CALL_MAY_BLOCK, NULL, NULL, "file systems, servers" )
    MAKES( KIND_OTHER, "NtCreateNamedPipeFile", CALL_MAY_BLOCK, NULL, NULL, "listed for the handle" )
    MAKES( KIND_OTHER, "NtCreateMailslotFile", CALL_MAY_BLOCK, NULL, NULL, "listed for the handle" )
    MAKES( KIND_SECTION, "NtCreateSection", CALL_MAY_BLOCK, NULL, NULL, "images come from files" )
    MAY_BLOCK( "NtQueryAttributesFile", "file systems, servers" )
    MAY_BLOCK( "NtQueryFullAttributesFile", "file systems, servers" )
    MAY_BLOCK( "NtQueryDirectoryFile", "file systems, servers" )
    MAY_BLOCK( "NtNotifyChangeDirectoryFile", "synchronous handles wait for the change" )
    MAY_BLOCK( "NtNotifyChangeKey", "synchronous form waits for the change" )
    MAKES( KIND_KEY, "NtCreateKey", CALL_MAY_BLOCK, nobody_impersonates, NULL, "one request, with the thread's token" )
    MAKES( KIND_KEY, "NtOpenKey", CALL_MAY_BLOCK, nobody_impersonates, NULL, "one request, with the thread's token" )
    MAKES( KIND_KEY, "NtOpenKeyEx", CALL_MAY_BLOCK, nobody_impersonates, NULL, "one request, with the thread's token" )
    MAY_BLOCK_UNLESS( "NtQueryKey", always, "one request; the handle has the rights" )
    MAY_BLOCK_UNLESS( "NtQueryValueKey", always, "one request; the handle has the rights" )
    MAY_BLOCK_UNLESS( "NtEnumerateKey", always, "one request; the handle has the rights" )
    MAY_BLOCK_UNLESS( "NtEnumerateValueKey", always, "one request; the handle has the rights" )
    MAY_BLOCK_UNLESS( "NtSetValueKey", always, "one request; the handle has the rights" )
    MAY_BLOCK_UNLESS( "NtDeleteValueKey", always, "one request; the handle has the rights" )
    MAY_BLOCK( "NtCreateThreadEx", "maps a stack, starts a thread" )

    /* never return, or return elsewhere: no frame of ours may stay on the stack */
    QUICK( "NtRaiseException", "never returns" )
    QUICK( "NtCallbackReturn", "never returns" )
    SPECIAL( "NtContinue", ums_special_continue, "never returns; may step into our code" )
    SPECIAL( "NtContinueEx", ums_special_continue, "never returns; may step into our code" )

    /* change what the core knows */
    SPECIAL( "NtTerminateThread", ums_special_terminate_thread,
             "a worker ends; a scheduler thread ends" )
    SPECIAL( "NtTerminateProcess", ums_special_terminate_process,
             "the last thread is nobody's worker" )
    SPECIAL( "NtSuspendThread", ums_special_suspend, "a suspended worker cannot be executed" )
    SPECIAL( "NtResumeThread", ums_special_resume, "a resumed one can" )
    SPECIAL( "NtAlertResumeThread", ums_special_resume, "the same; Wine alerts nobody" )
    SPECIAL( "NtGetContextThread", ums_special_get_context, "the registers of a parked worker" )
    SPECIAL( "NtSetContextThread", ums_special_set_context, "the same; of itself it never returns" )
    SPECIAL( "NtQueryInformationThread", ums_special_query_thread, "ThreadUmsInformation" )
    SPECIAL( "NtSetInformationThread", ums_special_set_thread, "ThreadUmsInformation" )
    SPECIAL( "NtSetInformationProcess", ums_special_set_process, "may replace the dispatcher" )
    SPECIAL( "NtCreateUserProcess", ums_special_create_process, "children get the shim" )
    MAKES( KIND_PORT, "NtCreateIoCompletion", CALL_SPECIAL, NULL, ums_special_create_port,
           "the port's concurrency" )

    /* answered at once, by the calling thread itself */
    QUICK( "NtTestAlert", "takes the thread's own APCs" )
    QUICK( "NtReleaseMutant", "the owner is a thread" )
    MAKES( KIND_MUTANT, "NtCreateMutant", CALL_QUICK, NULL, NULL, "may make the caller its owner" )
    QUICK( "NtQueryMutant", "tells whether the caller owns it" )
    QUICK( "NtOpenEvent", "by name: asks for the thread's token" )
    QUICK( "NtOpenSemaphore", "by name: asks for the thread's token" )
    QUICK( "NtOpenMutant", "by name: asks for the thread's token" )
    MAKES( KIND_TIMER, "NtCreateTimer", CALL_QUICK, NULL, NULL, "Wine 8.0 asks for the thread's token" )
    OURS( "NtQueryObject", CALL_QUICK, ums_special_query_object,
          "the handle may be the thread itself" )
    QUICK( "NtQueryInformationProcess", "some classes make a handle, and ask for the token" )

    /* look fast, but may block */
    OURS( "NtMapViewOfSection", CALL_MAY_BLOCK, ums_special_section, "images come from files" )
    OURS( "NtQuerySection", CALL_MAY_BLOCK, ums_special_section, "listed for the handles" )
    CLOSES( CLOSES_FIRST, "NtClose", CALL_MAY_BLOCK, ums_special_close,
            "the last handle of a socket or of a file far away waits for it; ums_close_known" )
    CLOSES( CLOSES_SECOND, "NtDuplicateObject", CALL_MAY_BLOCK, ums_special_duplicate,
            "closing a handle of another process waits for that" )

    /* answered at once, with the same result for any calling thread */
    LOCAL( "NtQueryPerformanceCounter", "reads a clock" )
    LOCAL( "NtQuerySystemTime", "reads a clock" )
    LOCAL( "NtYieldExecution", "gives way to other threads: the carrier does" )
    LOCAL( "NtGetCurrentProcessorNumber", "asks the CPU, which is the carrier's" )
    ALERT( "NtAlertThreadByThreadId", ums_here_alert, "wakes a thread by its id: a futex of the process" )
    ALERT( "NtAlertThreadByThreadIdEx", ums_here_alert, "the same, for a lock; Windows 11 24H2 [sym: phnt], no Wine" )
    ALERT( "NtAlertMultipleThreadByThreadId", ums_here_alert_many, "the same, several" )
    { "NtQueueApcThread", CALL_LOCAL, -1, -1, 0, begun_thread, ums_special_queue_apc, may_not_have_begun,
      "one request; the caller is not recorded", NULL, 0, 0, 0 },
    LOCAL( "NtSetEvent", "one request; an event knows no threads" )
    LOCAL( "NtResetEvent", "one request; an event knows no threads" )
    LOCAL( "NtClearEvent", "one request; an event knows no threads" )
    LOCAL( "NtPulseEvent", "one request; an event knows no threads" )
    LOCAL( "NtQueryEvent", "one request; an event knows no threads" )
    LOCAL( "NtReleaseSemaphore", "one request; a semaphore knows no threads" )
    LOCAL( "NtCompareObjects", "one request; compares handles" )
    LOCAL( "NtQuerySemaphore", "one request; a semaphore knows no threads" )
    MAKES( KIND_EVENT, "NtCreateEvent", CALL_LOCAL, no_name, NULL,
           "one request; access to a new object is not checked" )
    MAKES( KIND_SEMAPHORE, "NtCreateSemaphore", CALL_LOCAL, no_name, NULL,
           "one request; access to a new object is not checked" )
    MAKES( KIND_KEYED_EVENT, "NtCreateKeyedEvent", CALL_LOCAL, no_name, NULL,
           "one request; access to a new object is not checked" )
    LOCAL_IF( "NtSetTimer", no_routine, "one request; only a routine is run by the caller" )
    LOCAL( "NtCancelTimer", "one request; whoever set it" )
    LOCAL( "NtQueryTimer", "one request and a clock" )
    LOCAL( "NtSetIoCompletion", "one request; touches the port only" )
    LOCAL( "NtQueryIoCompletion", "one request; touches the port only" )
    LOCAL_IF( "NtAllocateVirtualMemory", own_process, "maps memory under a mutex of Wine" )
    LOCAL_IF( "NtFreeVirtualMemory", own_process, "unmaps memory under a mutex of Wine" )
    LOCAL_IF( "NtProtectVirtualMemory", own_process, "changes memory under a mutex of Wine" )
    LOCAL_IF( "NtQueryVirtualMemory", own_process_basic, "reads tables under a mutex of Wine" )
    LOCAL( "NtFlushInstructionCache", "Wine has nothing to do on x86-64" )
    LOCAL( "NtFlushProcessWriteBuffers", "Wine does nothing" )
};

const unsigned int ums_call_row_count = sizeof(ums_call_rows) / sizeof(ums_call_rows[0]);
