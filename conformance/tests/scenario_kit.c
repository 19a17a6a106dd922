/*
 * The scheduler, the workers and the judge that the scenario tests share; see scenario_kit.h.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Nothing in SchedulerProc takes a lock: the inbox is a compare-and-swap stack that is always taken
 * whole, the ready queue belongs to its scheduler alone. So a worker may be switched out holding
 * any lock of the process.
 */
#include "scenario_kit.h"

struct kit kit;
static struct kit_sched kit_nowhere_object;
struct kit_sched *const kit_nowhere = &kit_nowhere_object;

/* The TEB, read anew each time. */
void *kit_teb( void )
{
    void *teb;

    __asm__ volatile( "movq %%gs:0x30, %0" : "=r" (teb) );
    return teb;
}

/* The first instruction of every upcall: hand over the stack pointer as a fourth argument. */
__asm__( ".text\n"
         ".globl kit_scheduler_entry\n"
         "kit_scheduler_entry:\n\t"
         "movq %rsp, %r9\n\t"
         "jmp kit_scheduler_main\n" );
void NTAPI kit_scheduler_entry( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, PVOID param );
void NTAPI kit_scheduler_main( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, PVOID param,
                               ULONG_PTR rsp );

BOOL kit_open( void )
{
    if (!need( CreateUmsCompletionList ) || !need( EnterUmsSchedulingMode ) ||
        !need( CreateRemoteThreadEx ))
        return FALSE;
    kit.tls = TlsAlloc();
    kit.done = CreateEventW( NULL, TRUE, FALSE, NULL );
    kit.live = 1;
    return TRUE;
}

HMODULE kit_load_probe( void (*on_call)( DWORD reason, BOOL process_ends ) )
{
    char path[MAX_PATH + 32] = "";
    struct probe *probe;
    HMODULE module;
    char *slash;

    GetModuleFileNameA( NULL, path, MAX_PATH );
    if ((slash = strrchr( path, '\\' ))) strcpy( slash + 1, "umstest_probe.dll" );
    if (!(module = LoadLibraryA( path )))
    {
        skip( "no umstest_probe.dll beside the program, error %lu\n", GetLastError() );
        return NULL;
    }
    probe = (void *)GetProcAddress( module, "probe" );
    probe->on_call = on_call;
    return module;
}

PUMS_COMPLETION_LIST kit_new_list( void )
{
    PUMS_COMPLETION_LIST list = NULL;
    BOOL ret = pCreateUmsCompletionList( &list );

    ok( ret && list, "CreateUmsCompletionList gave %d, error %lu\n", ret, GetLastError() );
    return list;
}

struct kit_sched *kit_add_sched( PUMS_COMPLETION_LIST list )
{
    struct kit_sched *sched = &kit.scheds[kit.sched_count];
    BOOL ret;

    sched->index = kit.sched_count++;
    sched->list = list ? list : kit_new_list();
    ret = pGetUmsCompletionListEvent( sched->list, &sched->events[0] );
    ok( ret, "GetUmsCompletionListEvent failed, error %lu\n", GetLastError() );
    sched->events[1] = CreateEventW( NULL, FALSE, FALSE, NULL );
    sched->events[2] = kit.done;
    return sched;
}

static DWORD WINAPI kit_sched_thread( void *arg )
{
    struct kit_sched *sched = arg;
    UMS_SCHEDULER_STARTUP_INFO info;

    info.UmsVersion = UMS_VERSION;
    info.CompletionList = sched->list;
    info.SchedulerProc = kit_scheduler_entry;
    info.SchedulerParam = sched;
    TlsSetValue( kit.tls, sched );
    sched->id = GetCurrentThreadId();
    sched->teb = kit_teb();
    SetLastError( 0xdeadbeef );
    sched->enter_ret = pEnterUmsSchedulingMode( &info );
    sched->enter_error = GetLastError();
    sched->after = pGetCurrentUmsThread();
    InterlockedExchange( &sched->left, 1 );
    return 100 + sched->index;
}

void kit_start( void )
{
    int i;

    for (i = 0; i < kit.sched_count; i++)
    {
        struct kit_sched *sched = &kit.scheds[i];

        if (sched->thread) continue;
        sched->thread = CreateThread( NULL, 0, kit_sched_thread, sched, 0, NULL );
        ok( sched->thread != NULL, "no scheduler thread, error %lu\n", GetLastError() );
    }
}

/* --- workers --- */

void kit_look( struct kit_worker *worker )
{
    LONG told = worker->blocks + worker->yields;    /* before executes: it may be stopped in between */

    if (worker->executes <= told) worker->unexecuted = 1;
    if (GetCurrentThreadId() != worker->own_id) worker->elsewhere = 1;
}

static DWORD WINAPI kit_worker_thread( void *arg )
{
    struct kit_worker *worker = arg;
    DWORD ret;

    worker->own_id = GetCurrentThreadId();
    kit_look( worker );
    ret = worker->body( worker );
    kit_look( worker );
    InterlockedExchange( &worker->ended, 1 );
    return ret;
}

BOOL kit_create_thread( PUMS_COMPLETION_LIST list, LPTHREAD_START_ROUTINE start, void *arg,
                        void *user,
                        SIZE_T stack, DWORD flags, PUMS_CONTEXT *context, HANDLE *thread,
                        DWORD *id )
{
    UMS_CREATE_THREAD_ATTRIBUTES attributes;
    DECLSPEC_ALIGN(8) BYTE buffer[256];
    LPPROC_THREAD_ATTRIBUTE_LIST list_of_attributes = (void *)buffer;
    SIZE_T size = sizeof(buffer);
    HANDLE handle = NULL;

    if (!pCreateUmsThreadContext( context )) return FALSE;
    if (!pSetUmsThreadInformation( *context, UmsThreadUserContext, &user,
                                   sizeof(user) )) goto delete_context;
    attributes.UmsVersion = UMS_VERSION;
    attributes.UmsContext = *context;
    attributes.UmsCompletionList = list;
    if (!pInitializeProcThreadAttributeList( list_of_attributes, 1, 0, &size )) goto delete_context;
    if (pUpdateProcThreadAttribute( list_of_attributes, 0, PROC_THREAD_ATTRIBUTE_UMS_THREAD,
                                    &attributes,
                                    sizeof(attributes), NULL, NULL ))
        handle = pCreateRemoteThreadEx( GetCurrentProcess(), NULL, stack, start, arg, flags,
                                        list_of_attributes, id );
    pDeleteProcThreadAttributeList( list_of_attributes );
    if (!handle) goto delete_context;
    *thread = handle;
    return TRUE;

delete_context:
    InterlockedExchange( &kit.create_error, GetLastError() );
    pDeleteUmsThreadContext( *context );
    *context = NULL;
    return FALSE;
}

struct kit_worker *kit_add_worker( PUMS_COMPLETION_LIST list, DWORD (*body)( struct kit_worker * ),
                                   void *arg )
{
    LONG index = InterlockedIncrement( &kit.worker_count ) - 1;
    struct kit_worker *worker;
    PUMS_CONTEXT context;
    HANDLE thread;

    if (index >= KIT_WORKERS) return NULL;
    worker = &kit.workers[index];
    worker->index = index;
    worker->body = body;
    worker->arg = arg;
    InterlockedIncrement( &kit.live );
    if (!kit_create_thread( list, kit_worker_thread, worker, worker,
                            kit.stack ? kit.stack : 0x10000, STACK_SIZE_PARAM_IS_A_RESERVATION,
                            &context, &thread, &worker->id ))
    {
        InterlockedIncrement( &kit.create_failed );
        InterlockedDecrement( &kit.live );
        return NULL;
    }
    /* it may have run to its end by now: only the handle is stored, which kit_terminated waits for
       if it has to close it */
    InterlockedExchangePointer( (void *volatile *)&worker->thread, thread );
    return worker;
}

BOOL kit_yield( struct kit_worker *worker, PVOID param )
{
    BOOL ret = pUmsThreadYield( param );

    InterlockedIncrement( ret ? &worker->yields_made : &worker->yields_failed );
    return ret;
}

BOOL kit_migrate( struct kit_worker *worker, struct kit_sched *sched )
{
    worker->goal = sched;
    return kit_yield( worker, worker );
}

BOOL kit_park( struct kit_worker *worker )
{
    return kit_migrate( worker, kit_nowhere );
}

BOOL kit_yield_until( struct kit_worker *worker, volatile LONG *value, LONG wanted )
{
    ULONGLONG limit = GetTickCount64() + KIT_LIMIT;

    while (*value != wanted)
    {
        if (!kit_yield( worker, NULL )) return FALSE;
        if (GetTickCount64() > limit) return umstest_missed();
    }
    return TRUE;
}

BOOL kit_wait_value( volatile LONG *value, LONG wanted )
{
    ULONGLONG limit = GetTickCount64() + KIT_LIMIT;

    while (*value != wanted)
    {
        if (GetTickCount64() > limit) return umstest_missed();
        Sleep( 1 );
    }
    return TRUE;
}

BOOL kit_wait_moving( volatile LONG *value, LONG wanted, volatile LONG *moving )
{
    ULONGLONG limit = GetTickCount64() + KIT_LIMIT;
    LONG seen = *moving;

    while (*value != wanted)
    {
        if (*moving != seen)
        {
            seen = *moving;
            limit = GetTickCount64() + KIT_LIMIT;
        }
        else if (GetTickCount64() > limit) return umstest_missed();
        Sleep( 1 );
    }
    return TRUE;
}

BOOL kit_leaves( volatile LONG *value, LONG was )
{
    ULONGLONG limit = GetTickCount64() + KIT_LIMIT;

    while (*value == was)
    {
        if (GetTickCount64() > limit) return umstest_missed();
        SwitchToThread();
    }
    return TRUE;
}

BOOL kit_moves( volatile LONG *value )
{
    return kit_leaves( value, *value );
}

/* --- ready queues --- */

static void kit_push( struct kit_sched *sched, struct kit_worker *worker )
{
    worker->next = NULL;
    if (sched->first) sched->last->next = worker;
    else sched->first = worker;
    sched->last = worker;
}

static void kit_inbox_push( struct kit_sched *sched, struct kit_worker *worker )
{
    struct kit_worker *old;

    do
    {
        old = sched->inbox;
        worker->next = old;
    }
    while (InterlockedCompareExchangePointer( (void *volatile *)&sched->inbox, worker,
                                              old ) != old);
    SetEvent( sched->events[1] );
}

static void kit_inbox_take( struct kit_sched *sched )
{
    struct kit_worker *worker = InterlockedExchangePointer( (void *volatile *)&sched->inbox, NULL );
    struct kit_worker *reversed = NULL, *next;

    for (; worker; worker = next)
    {
        next = worker->next;
        worker->next = reversed;
        reversed = worker;
    }
    for (worker = reversed; worker; worker = next)
    {
        next = worker->next;
        kit_push( sched, worker );
    }
}

struct kit_worker *kit_pop( struct kit_sched *sched )
{
    struct kit_worker *worker;

    kit_inbox_take( sched );
    if ((worker = sched->first)) sched->first = worker->next;
    return worker;
}

void kit_ready( struct kit_worker *worker, struct kit_sched *sched )
{
    InterlockedExchange( &worker->parked, 0 );
    kit_inbox_push( sched, worker );
}

struct kit_worker *kit_worker_of( PUMS_CONTEXT context )
{
    struct kit_worker *worker = NULL;
    ULONG length = 0;

    if (!pQueryUmsThreadInformation( context, UmsThreadUserContext, &worker, sizeof(worker),
                                     &length )) return NULL;
    if (length != sizeof(worker)) return NULL;
    if (worker < kit.workers || worker >= kit.workers + KIT_WORKERS) return NULL;
    return worker;
}

/* --- deliveries --- */

static BOOLEAN kit_flag( PUMS_CONTEXT context, UMS_THREAD_INFO_CLASS info_class )
{
    BOOLEAN flag = 0xcc;
    ULONG length = 0;

    if (!pQueryUmsThreadInformation( context, info_class, &flag, sizeof(flag), &length )) return 0;
    return flag;
}

static void kit_terminated( struct kit_worker *worker )
{
    PUMS_CONTEXT context = worker->context;

    worker->terminated++;
    if (kit.close_early)
    {
        HANDLE thread;

        /* the creator may be between CreateRemoteThreadEx and storing the handle */
        while (!(thread = InterlockedExchangePointer( (void *volatile *)&worker->thread,
                                                      NULL ))) SwitchToThread();
        CloseHandle( thread );
    }
    worker->context = NULL;
    worker->deleted = pDeleteUmsThreadContext( context );
    if (!InterlockedDecrement( &kit.live )) SetEvent( kit.done );
}

/* One context came from a list: note it, and delete it or make it ready. */
static void kit_deliver( struct kit_sched *sched, PUMS_COMPLETION_LIST list, PUMS_CONTEXT context,
                         BOOL own )
{
    struct kit_worker *worker = kit_worker_of( context );

    if (!worker)
    {
        sched->strangers++;
        return;
    }
    worker->context = context;
    worker->list = list;
    InterlockedIncrement( &worker->queued );
    if (sched->on_item && sched->on_item( sched, worker )) return;
    if (kit_flag( context, UmsThreadIsTerminated )) kit_terminated( worker );
    else if (own) kit_push( sched, worker );
    else kit_inbox_push( sched, worker );
}

void kit_sweep( struct kit_sched *sched )
{
    PUMS_CONTEXT item = (void *)(ULONG_PTR)0xdeadbeef, next;

    if (!pDequeueUmsCompletionListItems( sched->list, 0, &item ))
    {
        sched->failed_dequeues++;
        return;
    }
    for (; item; item = next)
    {
        next = pGetNextUmsListItem( item );     /* first: it may be linked again at once (B15) */
        kit_deliver( sched, sched->list, item, TRUE );
    }
}

int kit_hand_over( PUMS_COMPLETION_LIST list, struct kit_sched *sched, DWORD timeout )
{
    PUMS_CONTEXT item = NULL, next;
    int count = 0;

    if (!pDequeueUmsCompletionListItems( list, timeout, &item )) return 0;
    for (; item; item = next)
    {
        next = pGetNextUmsListItem( item );
        kit_deliver( sched, list, item, FALSE );
        count++;
    }
    return count;
}

/* --- the scheduler --- */

enum refusal { TRY_AGAIN, ENDED, SUSPENDED, REFUSED };

/* Why did Execute return? One look at each flag, which may change at any time. A refusal that is
   neither for a suspension nor for the end: the worker was resumed between the two calls, maybe
   not for the first time. It is tried again as B7 does it, which does not give up; a worker that
   is refused for as long as KIT_LIMIT / 2 is a broken promise. */
static enum refusal kit_why( PUMS_CONTEXT context, DWORD error, int *refusals, ULONGLONG *limit )
{
    if (error == ERROR_RETRY)
    {
        SwitchToThread();
        return TRY_AGAIN;
    }
    if (kit_flag( context, UmsThreadIsTerminated )) return ENDED;
    if (kit_flag( context, UmsThreadIsSuspended )) return SUSPENDED;
    if (error != ERROR_INVALID_PARAMETER) return REFUSED;
    YieldProcessor();
    if (++*refusals % 10) return TRY_AGAIN;
    SwitchToThread();
    if (!*limit) *limit = GetTickCount64() + KIT_LIMIT / 2;
    return GetTickCount64() < *limit ? TRY_AGAIN : REFUSED;
}

/* Returns only when it failed; the worker then is dealt with. */
void kit_execute( struct kit_sched *sched, struct kit_worker *worker )
{
    PUMS_CONTEXT context = worker->context;
    enum refusal why;
    ULONGLONG limit = 0;
    int refusals = 0;
    DWORD error;

    worker->last = sched;
    InterlockedIncrement( &worker->executes );
    sched->current = worker;
    do
    {
        SetLastError( 0 );
        pExecuteUmsThread( context );
        error = GetLastError();
        if (!error) sched->no_error++;
        if (error == ERROR_RETRY) sched->retries++;
        why = kit_why( context, error, &refusals, &limit );
        if (why == TRY_AGAIN) umstest_refused( error );
        if (why == TRY_AGAIN && error != ERROR_RETRY) sched->refused++;
    }
    while (why == TRY_AGAIN);
    sched->current = NULL;
    InterlockedDecrement( &worker->executes );
    sched->execute_error = error;
    if (why == ENDED) kit_terminated( worker );
    else if (why == SUSPENDED)
    {
        InterlockedIncrement( &worker->suspended );
        worker->next = sched->polled;
        sched->polled = worker;
    }
    else
    {
        sched->bad_error = error;
        if (++sched->bad_executes < 1000 && !limit) kit_push( sched, worker );
    }
}

static void kit_poll( struct kit_sched *sched )
{
    struct kit_worker *worker = sched->polled, *next;

    sched->polled = NULL;
    for (; worker; worker = next)
    {
        next = worker->next;
        if (kit_flag( worker->context, UmsThreadIsSuspended ))
        {
            worker->next = sched->polled;
            sched->polled = worker;
        }
        else kit_push( sched, worker );
    }
}

static void kit_loop( struct kit_sched *sched )
{
    struct kit_worker *worker;
    DWORD ret;

    for (;;)
    {
        if (sched->leave) return;
        kit_sweep( sched );
        kit_poll( sched );
        if ((worker = kit_pop( sched )))
        {
            kit_execute( sched, worker );
            continue;
        }
        ret = WaitForMultipleObjects( 3, sched->events, FALSE, sched->polled ? 1 : KIT_LIMIT );
        switch (ret)
        {
        case WAIT_OBJECT_0:
        case WAIT_OBJECT_0 + 1:
            break;
        case WAIT_OBJECT_0 + 2:
            return;
        case WAIT_TIMEOUT:
            if (sched->polled) break;
            sched->timeouts++;
            return;
        default:
            sched->bad_waits++;
            sched->wait_ret = ret;
            sched->wait_error = GetLastError();
            return;
        }
    }
}

static void kit_note_upcall( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param,
                             ULONG_PTR rsp )
{
    PUMS_CONTEXT self = pGetCurrentUmsThread();

    if (!sched->upcalls) sched->own = self;
    if (!self || self != sched->own || kit_teb() != sched->teb || GetCurrentThreadId() != sched->id)
        sched->bad_identity++;
    if (sched->upcalls < KIT_LOG)
    {
        struct kit_upcall *entry = &sched->log[sched->upcalls];

        entry->reason = reason;
        entry->payload = payload;
        entry->param = param;
        entry->rsp = rsp;
        entry->thread_id = GetCurrentThreadId();
        entry->self = self;
        entry->worker = sched->current;
    }
    if (rsp != sched->log[0].rsp || (rsp & 15) != 8) sched->bad_stacks++;
    sched->upcalls++;
}

void NTAPI kit_scheduler_main( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, PVOID param,
                               ULONG_PTR rsp )
{
    struct kit_sched *sched = TlsGetValue( kit.tls );
    struct kit_worker *worker = sched->current, *yielded = NULL;

    kit_note_upcall( sched, reason, payload, param, rsp );
    sched->current = NULL;
    switch (reason)
    {
    case UmsSchedulerStartup:
        sched->startups++;
        InterlockedExchange( &sched->entered, 1 );
        break;
    case UmsSchedulerThreadBlocked:
        sched->blocked++;
        if (payload > 1 || param) sched->bad_payloads++;
        if (!worker) sched->bad_yields++;
        else
        {
            worker->payload = payload;
            InterlockedIncrement( &worker->blocks );
        }
        break;
    case UmsSchedulerThreadYield:
        sched->yielded++;
        yielded = kit_worker_of( (PUMS_CONTEXT)payload );
        if (!yielded || yielded != worker) sched->bad_yields++;
        if (yielded) InterlockedIncrement( &yielded->yields );
        break;
    default:
        sched->bad_payloads++;
    }

    if (sched->on_upcall && sched->on_upcall( sched, reason, payload, param )) return;
    if (yielded)
    {
        struct kit_sched *goal = yielded->goal;

        yielded->goal = NULL;
        if (goal == kit_nowhere) InterlockedExchange( &yielded->parked, 1 );
        else if (goal && goal != sched) kit_inbox_push( goal, yielded );
        else kit_push( sched, yielded );
    }
    kit_loop( sched );
}
