/*
 * Hello, UMS, in C++17: RAII around what has to be closed, a lambda as worker.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <cstdio>
#include <deque>
#include <string>
#include <ums.h>
#include <umsnt.h>
#include <workerfactory.h>

struct completion_list
{
    PUMS_COMPLETION_LIST list = nullptr;

    completion_list() { if (!CreateUmsCompletionList( &list )) list = nullptr; }
    ~completion_list() { DeleteUmsCompletionList( list ); }
};

static PUMS_COMPLETION_LIST list;
static std::deque<PUMS_CONTEXT> ready;      /* its heap is no worker's: the workers here allocate nothing */
static int alive = 2;
static char said[64];

static void collect( DWORD timeout )
{
    PUMS_CONTEXT context, next;
    BOOLEAN ended;

    if (!DequeueUmsCompletionListItems( list, timeout, &context )) return;
    for (; context; context = next)
    {
        next = GetNextUmsListItem( context );
        QueryUmsThreadInformation( context, UmsThreadIsTerminated, &ended, sizeof(ended), nullptr );
        if (!ended) ready.push_back( context );
        else
        {
            DeleteUmsThreadContext( context );
            alive--;
        }
    }
}

static void NTAPI scheduler( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, void * )
{
    while (reason == UmsSchedulerStartup && ready.size() < 2) collect( INFINITE );
    if (reason == UmsSchedulerThreadYield) ready.push_back( reinterpret_cast<PUMS_CONTEXT>( payload ) );
    while (alive)
    {
        collect( ready.empty() ? INFINITE : 0 );
        if (ready.empty()) continue;
        PUMS_CONTEXT context = ready.front();
        ready.pop_front();
        ExecuteUmsThread( context );
        ready.push_back( context );
    }
}

static HANDLE create_worker( const char *word )
{
    alignas(16) char buffer[256];
    auto attributes = reinterpret_cast<LPPROC_THREAD_ATTRIBUTE_LIST>( buffer );
    UMS_CREATE_THREAD_ATTRIBUTES ums = { UMS_VERSION, nullptr, list };
    SIZE_T size = sizeof(buffer);
    auto work = []( void *arg ) -> DWORD
    {
        for (int i = 0; i < 3; i++)
        {
            strcat( said, static_cast<const char *>( arg ) );
            UmsThreadYield( nullptr );
        }
        return 0;
    };

    if (!CreateUmsThreadContext( &ums.UmsContext )) return nullptr;
    InitializeProcThreadAttributeList( attributes, 1, 0, &size );
    UpdateProcThreadAttribute( attributes, 0, PROC_THREAD_ATTRIBUTE_UMS_THREAD, &ums, sizeof(ums), nullptr,
                               nullptr );
    return CreateRemoteThreadEx( GetCurrentProcess(), nullptr, 0, work, const_cast<char *>( word ), 0, attributes,
                                 nullptr );
}

int main()
{
    completion_list created;
    PVOID context = nullptr;

    list = created.list;
    if (!list || RtlGetCurrentUmsThread( &context ) >= 0) return 1;     /* a name of ntdll_ums */
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, list, scheduler, nullptr };
    HANDLE threads[2] = { create_worker( "tick " ), create_worker( "tock " ) };
    if (!EnterUmsSchedulingMode( &info )) return 1;
    WaitForMultipleObjects( 2, threads, TRUE, INFINITE );
    std::printf( "%s\n", said );
    return 0;
}
