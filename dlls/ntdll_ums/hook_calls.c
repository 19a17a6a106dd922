/*
 * The calls, by name: how each is treated when a worker makes it, and why.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Numbers differ between versions of Wine and Windows; they are read out of the stubs at start. A
 * call that is not here may block, as far as we know: it runs at home, and its scheduler is told
 * when it takes longer than the grace period.
 *
 * The stub hook sees only what is listed here, so calls that often block are listed although they
 * have the default class.
 */

#include <windows.h>
#include "ums_core.h"
#include "hook.h"

#define PASS( name, why )     { name, CALL_PASS, -1, -1, 0, NULL, why },
#define MAY_BLOCK( name, why ) { name, CALL_MAY_BLOCK, -1, -1, 0, NULL, why },
#define WAIT( name, timeout, alertable, try_zero, why ) \
    { name, CALL_WAIT, timeout, alertable, try_zero, NULL, why },
#define SPECIAL( name, handler, why ) { name, CALL_SPECIAL, -1, -1, 0, handler, why },

const struct call_row ums_default_row = { "(other)", CALL_MAY_BLOCK, -1, -1, 0, NULL, "unknown" };

const struct call_row ums_call_rows[] =
{
    /* waits. The try: a wait that is satisfied has its full effect, one that is not has none. */
    WAIT( "NtWaitForSingleObject", 2, 1, 1, "waits; not satisfied = no effect" )
    WAIT( "NtWaitForMultipleObjects", 4, 3, 1, "waits; takes all or nothing" )
    WAIT( "NtDelayExecution", 1, 0, 0, "always waits; a try would be a yield" )
    WAIT( "NtWaitForAlertByThreadId", 1, -1, 1, "waits; an alert stays pending until it is taken" )
    WAIT( "NtWaitForKeyedEvent", 3, 2, 1, "waits; without a releaser nothing happens" )
    WAIT( "NtReleaseKeyedEvent", 3, 2, 1, "waits for the waiter; without one nothing happens" )
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
    MAY_BLOCK( "NtCreateFile", "file systems, servers" )
    MAY_BLOCK( "NtOpenFile", "file systems, servers" )
    MAY_BLOCK( "NtQueryAttributesFile", "file systems, servers" )
    MAY_BLOCK( "NtQueryFullAttributesFile", "file systems, servers" )
    MAY_BLOCK( "NtQueryDirectoryFile", "file systems, servers" )
    MAY_BLOCK( "NtNotifyChangeDirectoryFile", "synchronous handles wait for the change" )
    MAY_BLOCK( "NtNotifyChangeKey", "synchronous form waits for the change" )
    MAY_BLOCK( "NtCreateThreadEx", "maps a stack, starts a thread" )
    MAY_BLOCK( "NtGetContextThread", "waits until the other thread has stopped" )

    /* never return, or return somewhere else: no code of ours may be left on the stack */
    PASS( "NtContinue", "never returns" )
    PASS( "NtContinueEx", "never returns" )
    PASS( "NtRaiseException", "never returns" )
    PASS( "NtCallbackReturn", "never returns" )
    PASS( "NtSetContextThread", "on the own thread it does not return" )

    /* change what the core knows */
    SPECIAL( "NtTerminateThread", ums_special_terminate_thread,
             "a worker ends; a scheduler thread ends" )
    SPECIAL( "NtTerminateProcess", ums_special_terminate_process,
             "the last thread is nobody's worker" )
    SPECIAL( "NtSuspendThread", ums_special_suspend, "a suspended worker cannot be executed" )
    SPECIAL( "NtResumeThread", ums_special_resume, "a resumed one can" )
    SPECIAL( "NtQueryInformationThread", ums_special_query_thread, "ThreadUmsInformation" )
    SPECIAL( "NtSetInformationThread", ums_special_set_thread, "ThreadUmsInformation" )
    SPECIAL( "NtCreateUserProcess", ums_special_create_process, "children get the shim" )

    /* answered at once, without a wait */
    PASS( "NtQueryPerformanceCounter", "reads a clock" )
    PASS( "NtQuerySystemTime", "reads a clock" )
    PASS( "NtYieldExecution", "gives way to other threads, blocks on nothing" )
    PASS( "NtGetCurrentProcessorNumber", "asks the CPU" )
    PASS( "NtTestAlert", "delivers what is pending" )
    PASS( "NtAlertThreadByThreadId", "wakes another thread" )
    PASS( "NtQueueApcThread", "one request, answered at once" )
    PASS( "NtSetEvent", "one request, answered at once" )
    PASS( "NtResetEvent", "one request, answered at once" )
    PASS( "NtClearEvent", "one request, answered at once" )
    PASS( "NtPulseEvent", "one request, answered at once" )
    PASS( "NtReleaseSemaphore", "one request, answered at once" )
    PASS( "NtReleaseMutant", "one request, answered at once" )
    PASS( "NtCreateEvent", "one request, answered at once" )
    PASS( "NtOpenEvent", "one request, answered at once" )
    PASS( "NtCreateSemaphore", "one request, answered at once" )
    PASS( "NtOpenSemaphore", "one request, answered at once" )
    PASS( "NtCreateMutant", "one request, answered at once" )
    PASS( "NtOpenMutant", "one request, answered at once" )
    PASS( "NtCreateKeyedEvent", "one request, answered at once" )
    PASS( "NtCreateTimer", "one request, answered at once" )
    PASS( "NtSetTimer", "one request, answered at once" )
    PASS( "NtCancelTimer", "one request, answered at once" )
    PASS( "NtCreateIoCompletion", "one request, answered at once" )
    PASS( "NtSetIoCompletion", "one request, answered at once" )
    PASS( "NtQueryIoCompletion", "one request, answered at once" )
    PASS( "NtQueryEvent", "one request, answered at once" )
    PASS( "NtQuerySemaphore", "one request, answered at once" )
    PASS( "NtQueryMutant", "one request, answered at once" )
    PASS( "NtQueryObject", "one request, answered at once" )
    PASS( "NtQueryInformationProcess", "one request, answered at once" )
    PASS( "NtDuplicateObject", "one request, answered at once" )
    PASS( "NtClose", "one request, answered at once" )
    PASS( "NtAllocateVirtualMemory", "maps memory of this process" )
    PASS( "NtFreeVirtualMemory", "unmaps memory of this process" )
    PASS( "NtProtectVirtualMemory", "changes memory of this process" )
    PASS( "NtQueryVirtualMemory", "reads memory tables of this process" )
    PASS( "NtFlushInstructionCache", "nothing to do on x86-64" )
    PASS( "NtFlushProcessWriteBuffers", "a barrier on the other CPUs" )
};

const unsigned int ums_call_row_count = sizeof(ums_call_rows) / sizeof(ums_call_rows[0]);
