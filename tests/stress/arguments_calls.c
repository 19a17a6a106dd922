/*
 * One call of an exported function with random arguments, and whether what it did is allowed (arguments.c).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <stdio.h>
#include <string.h>
#include "arguments.h"

#define POISON       0xdeadbeef
#define BAD_POINTER  0xbadbadbadbadull          /* what a guarded call gives when it has raised */

unsigned int random_seed = 1;

static unsigned int pick( unsigned int below )
{
    random_seed = random_seed * 1664525 + 1013904223;
    return (unsigned int)(((unsigned long long)(random_seed >> 8) * below) >> 24);
}

void say( const char *fmt, ... )
{
    char text[256];
    va_list args;
    DWORD size;

    va_start( args, fmt );
    vsnprintf( text, sizeof(text), fmt, args );
    va_end( args );
    WriteFile( GetStdHandle( STD_OUTPUT_HANDLE ), text, (DWORD)strlen( text ), &size, NULL );
}

/* ---- a call that may raise ---- */

struct guard
{
    void *sp;                                   /* 0x00: while a call is under way */
    unsigned long long args[8];                 /* 0x08 */
};

unsigned long long guarded_call( struct guard *guard, void *function );
void guarded_return( void );
__asm__( ".text\n"
         ".globl guarded_call\n"
         ".globl guarded_return\n"
         ".seh_proc guarded_call\n"
         "guarded_call:\n\t"
         ".irp r, rbx, rbp, rsi, rdi, r12, r13, r14, r15\n\t"
         "pushq %\\r\n\t"
         ".seh_pushreg %\\r\n\t"
         ".endr\n\t"
         "subq $0x48, %rsp\n\t"
         ".seh_stackalloc 0x48\n\t"
         ".seh_endprologue\n\t"
         "movq %rcx, 0x40(%rsp)\n\t"
         "movq %rsp, (%rcx)\n\t"
         "movq %rdx, %rax\n\t"
         "movq %rcx, %r10\n\t"
         "movq 0x28(%r10), %rdx\n\tmovq %rdx, 0x20(%rsp)\n\t"
         "movq 0x30(%r10), %rdx\n\tmovq %rdx, 0x28(%rsp)\n\t"
         "movq 0x38(%r10), %rdx\n\tmovq %rdx, 0x30(%rsp)\n\t"
         "movq 0x40(%r10), %rdx\n\tmovq %rdx, 0x38(%rsp)\n\t"
         "movq 0x08(%r10), %rcx\n\t"
         "movq 0x10(%r10), %rdx\n\t"
         "movq 0x18(%r10), %r8\n\t"
         "movq 0x20(%r10), %r9\n\t"
         "call *%rax\n"
         "guarded_return:\n\t"
         "movq 0x40(%rsp), %rcx\n\t"
         "movq $0, (%rcx)\n\t"
         "addq $0x48, %rsp\n\t"
         ".irp r, r15, r14, r13, r12, rdi, rsi, rbp, rbx\n\t"
         "popq %\\r\n\t"
         ".endr\n\t"
         "ret\n\t"
         ".seh_endproc\n" );

static DWORD tls;
static BOOL may_raise;                          /* a pointer that must be valid is not */
const char *calling = "nothing";

static LONG WINAPI on_exception( EXCEPTION_POINTERS *info )
{
    struct guard *guard = TlsGetValue( tls );

    if (info->ExceptionRecord->ExceptionCode == DBG_PRINTEXCEPTION_C ||
        info->ExceptionRecord->ExceptionCode == 0x40010006) return EXCEPTION_CONTINUE_SEARCH;
    if (info->ExceptionRecord->ExceptionCode == EXCEPTION_ACCESS_VIOLATION && guard && guard->sp &&
        may_raise)
    {
        info->ContextRecord->Rip = (ULONG_PTR)guarded_return;
        info->ContextRecord->Rsp = (ULONG_PTR)guard->sp;
        info->ContextRecord->Rax = BAD_POINTER;
        return EXCEPTION_CONTINUE_EXECUTION;
    }
    say( "%s: exception %#lx at %p\n", calling, info->ExceptionRecord->ExceptionCode,
         info->ExceptionRecord->ExceptionAddress );
    TerminateProcess( GetCurrentProcess(), OTHER_CRASH );
    return EXCEPTION_CONTINUE_SEARCH;
}

/* ---- arguments ---- */

PUMS_COMPLETION_LIST list;
static PUMS_COMPLETION_LIST dead_list;
PUMS_CONTEXT context;
static PUMS_CONTEXT dead_context;
static HANDLE event;
static BYTE *readable, *nothing, *last_bytes;   /* pages; the end of one before one that is not there */
static UMS_SCHEDULER_STARTUP_INFO info_for_all;

enum kind { NO_HANDLE, A_LIST, A_CONTEXT };

/* mingw-w64's NtCurrentTeb trips -Warray-bounds */
static void *thread_block( void )
{
    void *teb;

    __asm__ __volatile__( "movq %%gs:0x30, %0" : "=r" (teb) );
    return teb;
}

static void *bad_pointer( void )
{
    static DWORD_PTR zeroes[256];

    switch (pick( 18 ))
    {
    case 0:  return (void *)(LONG_PTR)-1;
    case 1:  return (void *)(ULONG_PTR)(1 + pick( 0x1000 ));
    case 2:  return (BYTE *)list + 1 + pick( 64 );
    case 3:  return (BYTE *)context + 1 + pick( 0x600 );
    case 4:  return (BYTE *)context - 8 * (1 + pick( 64 ));
    case 5:  return readable + pick( 0xff8 );
    case 6:  return nothing + pick( 0xff8 );
    case 7:  return last_bytes + 0xfff - pick( 8 );
    case 8:  return (void *)(0xffff800000000000 + ((ULONG_PTR)pick( 1 << 24 ) << 12));
    case 9:  return (void *)(0x1234567800000000 + pick( 1 << 24 ));
    case 10: return (void *)bad_pointer;
    case 11: return zeroes + pick( 128 );
    case 12: return &random_seed;
    case 13: return event;
    case 14: return (void *)(((ULONG_PTR)pick( 1 << 24 ) << 40) ^ ((ULONG_PTR)pick( 1 << 24 ) << 20) ^
                             pick( 1 << 24 ));
    case 15: return thread_block();
    case 16: return (BYTE *)list + 4 + ((ULONG_PTR)1 << (6 + pick( 20 )));
    default: return (BYTE *)context + 4 + ((ULONG_PTR)1 << (6 + pick( 24 )));
    }
}

static void *handle( enum kind *kind )
{
    *kind = NO_HANDLE;
    switch (pick( 8 ))
    {
    case 0: return NULL;
    case 1: *kind = A_LIST; return list;
    case 2: *kind = A_CONTEXT; return context;
    case 3: return dead_list;
    case 4: return dead_context;
    default: return bad_pointer();
    }
}

/* Memory that the function reads or writes: good, none, or bad. Not what others keep things in. */
static void *memory( void *good )
{
    switch (pick( 8 ))
    {
    case 0: return NULL;
    case 1: may_raise = TRUE; return nothing + pick( 0xff8 );
    case 2: may_raise = TRUE; return readable + pick( 0xff8 );
    case 3: may_raise = TRUE; return last_bytes + 0xfff - pick( 8 );
    case 4: may_raise = TRUE; return (void *)(ULONG_PTR)(1 + pick( 0x1000 ));
    case 5: may_raise = TRUE; return (void *)(0xffff800000000000 + pick( 1 << 24 ));
    default: return good;
    }
}

/* ---- functions ---- */

enum what { CREATE_LIST, DELETE_LIST, EVENT, DEQUEUE, NEXT, CREATE_CONTEXT, DELETE_CONTEXT, QUERY, SET, CURRENT,
            ENTER, EXECUTE, YIELD, KIND_OF_THREAD, CREATE_THREAD, INITIALIZE, UPDATE, WHATS };

static const struct function
{
    const char *win32, *native;
} functions[WHATS] =
{
    { "CreateUmsCompletionList", "RtlCreateUmsCompletionList" },
    { "DeleteUmsCompletionList", "RtlDeleteUmsCompletionList" },
    { "GetUmsCompletionListEvent", "RtlGetUmsCompletionListEvent" },
    { "DequeueUmsCompletionListItems", "RtlDequeueUmsCompletionListItems" },
    { "GetNextUmsListItem", "RtlGetNextUmsListItem" },
    { "CreateUmsThreadContext", "RtlCreateUmsThreadContext" },
    { "DeleteUmsThreadContext", "RtlDeleteUmsThreadContext" },
    { "QueryUmsThreadInformation", "RtlQueryUmsThreadInformation" },
    { "SetUmsThreadInformation", "RtlSetUmsThreadInformation" },
    { "GetCurrentUmsThread", "RtlGetCurrentUmsThread" },
    { "EnterUmsSchedulingMode", "RtlEnterUmsSchedulingMode" },
    { "ExecuteUmsThread", "RtlExecuteUmsThread" },
    { "UmsThreadYield", "RtlUmsThreadYield" },
    { "GetUmsSystemThreadInformation", "NtUmsThreadYield" },
    { "CreateRemoteThreadEx", "ZwUmsThreadYield" },
    { "InitializeProcThreadAttributeList", NULL },
    { "UpdateProcThreadAttribute", NULL },
};

static void *win32_of[WHATS], *native_of[WHATS];

static BOOL look_up( void )
{
    HMODULE kernel32 = GetModuleHandleA( "kernel32_ums.dll" ), ntdll = GetModuleHandleA( "ntdll_ums.dll" );
    int i;

    for (i = 0; i < WHATS; i++)
    {
        win32_of[i] = (void *)GetProcAddress( kernel32, functions[i].win32 );
        if (!win32_of[i]) return FALSE;
        if (!functions[i].native) continue;
        native_of[i] = (void *)GetProcAddress( ntdll, functions[i].native );
        if (!native_of[i]) return FALSE;
    }
    return TRUE;
}

static DWORD WINAPI return_zero( void *arg )
{
    (void)arg;
    return 0;
}

static void WINAPI leave_at_once( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, PVOID param )
{
    (void)reason; (void)payload; (void)param;
}

/* An attribute list of ours, with random contents; a worker is made in no case, so at least one is wrong. */
static void *attributes( void )
{
    static DWORD_PTR space[64];
    static UMS_CREATE_THREAD_ATTRIBUTES ums;
    LPPROC_THREAD_ATTRIBUTE_LIST opaque = (LPPROC_THREAD_ATTRIBUTE_LIST)space;
    SIZE_T size = sizeof(space);
    enum kind first, second;
    void *value;

    ums.UmsVersion = pick( 4 ) ? UMS_VERSION : pick( 1 << 24 );
    ums.UmsContext = handle( &first );
    ums.UmsCompletionList = handle( &second );
    if (ums.UmsVersion == UMS_VERSION && first == A_CONTEXT && second == A_LIST) ums.UmsVersion = 0;
    InitializeProcThreadAttributeList( opaque, 1, 0, &size );
    UpdateProcThreadAttribute( opaque, 0, PROC_THREAD_ATTRIBUTE_UMS_THREAD, &ums, sizeof(ums), NULL, NULL );
    value = memory( &ums );
    if (value) space[5] = (DWORD_PTR)value;     /* of the first entry; that it is not NULL Update has seen to */
    return space;
}

struct one_call
{
    enum what what;
    BOOL native;
    BOOL must_fail;                             /* with ERROR_INVALID_PARAMETER; a thread's kind may come first */
    BOOL made_list, made_context, killed_list, killed_context;
};

static unsigned long long out[8];
static LARGE_INTEGER timeout;

static unsigned long long some_timeout( BOOL native, BOOL endless )
{
    static const int ms[] = { 0, 0, 0, 1, 2 };
    int choice = ms[pick( 5 )];

    if (!native) return endless && !pick( 4 ) ? INFINITE : (DWORD)choice;
    timeout.QuadPart = pick( 4 ) ? choice * -10000LL : 1;
    if (endless && !pick( 4 )) return 0;
    if (!pick( 6 ))
    {
        may_raise = TRUE;
        return (unsigned long long)nothing;
    }
    return (unsigned long long)&timeout;
}

/* Choose the arguments. 0: not this time. */
static int choose( struct one_call *call, unsigned long long *args )
{
    enum kind kind = NO_HANDLE;
    void *p;

    switch (call->what)
    {
    case CREATE_LIST: case CREATE_CONTEXT:
        args[0] = (unsigned long long)memory( out );
        call->must_fail = !args[0];
        break;
    case DELETE_LIST:
        args[0] = (unsigned long long)handle( &kind );
        call->must_fail = kind != A_LIST;
        call->killed_list = kind == A_LIST;
        break;
    case EVENT:
        args[0] = (unsigned long long)handle( &kind );
        args[1] = (unsigned long long)memory( out );
        call->must_fail = kind != A_LIST || !args[1];
        break;
    case DEQUEUE:
        args[0] = (unsigned long long)handle( &kind );
        args[2] = (unsigned long long)memory( out );
        call->must_fail = kind != A_LIST || !args[2];
        args[1] = some_timeout( call->native, kind != A_LIST );
        break;
    case NEXT:
        args[0] = (unsigned long long)handle( &kind );
        args[1] = (unsigned long long)memory( out );
        call->must_fail = kind != A_CONTEXT;
        break;
    case DELETE_CONTEXT:
        args[0] = (unsigned long long)handle( &kind );
        call->must_fail = kind != A_CONTEXT;
        call->killed_context = kind == A_CONTEXT;
        break;
    case QUERY: case SET:
        args[0] = (unsigned long long)handle( &kind );
        args[1] = pick( 10 ) ? pick( 9 ) : pick( 1 << 24 );
        args[2] = (unsigned long long)memory( out );
        args[3] = pick( 2 ) ? 8 : pick( 2 ) ? 1 : pick( 1 << 24 );
        args[4] = (unsigned long long)memory( out + 4 );
        call->must_fail = kind != A_CONTEXT || !args[2];
        break;
    case CURRENT:
        args[0] = (unsigned long long)memory( out );
        break;
    case ENTER:
        info_for_all.UmsVersion = pick( 3 ) ? UMS_VERSION : pick( 1 << 24 );
        info_for_all.CompletionList = handle( &kind );
        info_for_all.SchedulerProc = pick( 4 ) ? leave_at_once : NULL;
        p = memory( &info_for_all );
        args[0] = (unsigned long long)p;
        call->must_fail = !p;
        if (p == &info_for_all)
            call->must_fail = info_for_all.UmsVersion != UMS_VERSION || kind != A_LIST ||
                              !info_for_all.SchedulerProc;
        break;
    case EXECUTE:
        args[0] = (unsigned long long)handle( &kind );
        call->must_fail = TRUE;                 /* nothing here has a thread */
        break;
    case YIELD:
        args[0] = (unsigned long long)bad_pointer();
        break;
    case KIND_OF_THREAD:
        if (call->native)
        {
            args[0] = (unsigned long long)bad_pointer();
            break;
        }
        out[0] = pick( 4 ) ? UMS_VERSION : pick( 1 << 24 );
        args[0] = (unsigned long long)(pick( 2 ) ? GetCurrentThread() : bad_pointer());
        args[1] = (unsigned long long)memory( out );
        break;
    case CREATE_THREAD:
        if (call->native)
        {
            args[0] = (unsigned long long)bad_pointer();
            break;
        }
        args[0] = (unsigned long long)(pick( 3 ) ? GetCurrentProcess() : pick( 2 ) ? NULL : event);
        args[3] = (unsigned long long)return_zero;
        args[5] = pick( 2 ) ? CREATE_SUSPENDED : 0;
        args[6] = (unsigned long long)attributes();
        args[7] = pick( 2 ) ? 0 : (unsigned long long)out;
        call->must_fail = TRUE;
        break;
    case INITIALIZE:
        out[0] = pick( 2 ) ? 0 : sizeof(out);
        args[0] = 0;
        args[1] = pick( 64 );
        args[2] = pick( 2 );
        args[3] = (unsigned long long)out;
        break;
    default:
        args[0] = 0;
        args[2] = PROC_THREAD_ATTRIBUTE_UMS_THREAD;
        args[3] = (unsigned long long)bad_pointer();
        args[4] = pick( 2 ) ? sizeof(UMS_CREATE_THREAD_ATTRIBUTES) : pick( 64 );
        call->must_fail = TRUE;
        break;
    }
    return 1;
}

static void wrong( const struct one_call *call, const struct guard *guard, unsigned long long ret,
                   DWORD error, const char *why )
{
    say( "%s: %s: returned %#llx, error %lu; arguments %#llx %#llx %#llx %#llx %#llx\n", calling, why, ret,
         error, guard->args[0], guard->args[1], guard->args[2], guard->args[3], guard->args[4] );
    (void)call;
    TerminateProcess( GetCurrentProcess(), WRONG );
}

static BOOL succeeded( const struct one_call *call, unsigned long long ret )
{
    if (call->native) return !(ULONG)ret || (ULONG)ret == (ULONG)0x102;
    if (call->what == NEXT || call->what == CURRENT || call->what == CREATE_THREAD) return ret != 0;
    return (BOOL)ret != 0;
}

static void judge( const struct one_call *call, const struct guard *guard, unsigned long long ret,
                   DWORD error )
{
    BOOL fine = succeeded( call, ret ), win32 = !call->native;

    if (ret == BAD_POINTER) return;
    if (fine && call->must_fail) wrong( call, guard, ret, error, "must fail" );
    /* CreateRemoteThreadEx: a process handle that is none is ERROR_INVALID_HANDLE, as the host says */
    if (call->must_fail && win32 && error != ERROR_INVALID_PARAMETER && error != ERROR_NOT_SUPPORTED &&
        !(error == ERROR_INVALID_HANDLE && call->what == CREATE_THREAD) &&
        call->what != UPDATE && call->what != QUERY && call->what != SET)
        wrong( call, guard, ret, error, "another error" );
    if (!fine && win32 && call->what != NEXT && (!error || error == POISON))
        wrong( call, guard, ret, error, "no error" );
}

static void new_handles( const struct one_call *call )
{
    if (call->killed_list)
    {
        dead_list = list;
        if (!CreateUmsCompletionList( &list )) TerminateProcess( GetCurrentProcess(), WRONG );
        if (dead_list == list) dead_list = NULL;
    }
    if (call->killed_context)
    {
        dead_context = context;
        if (!CreateUmsThreadContext( &context )) TerminateProcess( GetCurrentProcess(), WRONG );
        if (dead_context == context) dead_context = NULL;
    }
}

/* What the call has made is given back, or comes in the place of what is dead. */
static void give_back( const struct one_call *call, const struct guard *guard, unsigned long long ret )
{
    if (ret == BAD_POINTER || !succeeded( call, ret )) return;
    if (call->what == CREATE_LIST && guard->args[0] == (unsigned long long)out)
    {
        if ((PUMS_COMPLETION_LIST)out[0] == dead_list) dead_list = NULL;
        DeleteUmsCompletionList( (PUMS_COMPLETION_LIST)out[0] );
    }
    if (call->what == CREATE_CONTEXT && guard->args[0] == (unsigned long long)out)
    {
        if ((PUMS_CONTEXT)out[0] == dead_context) dead_context = NULL;
        DeleteUmsThreadContext( (PUMS_CONTEXT)out[0] );
    }
    if (call->what == EVENT && guard->args[1] == (unsigned long long)out) CloseHandle( (HANDLE)out[0] );
}

void call_once( void )
{
    struct one_call call = { (enum what)pick( WHATS ), FALSE, FALSE, FALSE, FALSE, FALSE, FALSE };
    struct guard guard = { NULL, { 0 } };
    unsigned long long ret;
    DWORD error;

    may_raise = FALSE;
    call.native = native_of[call.what] && pick( 2 );
    calling = call.native ? functions[call.what].native : functions[call.what].win32;
    if (!choose( &call, guard.args )) return;
    TlsSetValue( tls, &guard );
    SetLastError( POISON );
    ret = guarded_call( &guard, call.native ? native_of[call.what] : win32_of[call.what] );
    error = GetLastError();
    TlsSetValue( tls, NULL );
    judge( &call, &guard, ret, error );
    if (succeeded( &call, ret ) || ret == BAD_POINTER) new_handles( &call );
    give_back( &call, &guard, ret );
}

BOOL prepare_calls( void )
{
    DWORD old;

    tls = TlsAlloc();
    if (!look_up()) return FALSE;
    readable = VirtualAlloc( NULL, 0x1000, MEM_COMMIT | MEM_RESERVE, PAGE_READONLY );
    nothing = VirtualAlloc( NULL, 0x1000, MEM_COMMIT | MEM_RESERVE, PAGE_NOACCESS );
    last_bytes = VirtualAlloc( NULL, 0x2000, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE );
    VirtualProtect( last_bytes + 0x1000, 0x1000, PAGE_NOACCESS, &old );
    event = CreateEventA( NULL, FALSE, FALSE, NULL );
    CreateUmsCompletionList( &list );
    CreateUmsThreadContext( &context );
    AddVectoredExceptionHandler( 0, on_exception );
    return TRUE;
}
