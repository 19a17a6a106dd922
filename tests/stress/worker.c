/*
 * What a worker does, a random step after the other, and what it finds after each: itself.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <stdio.h>
#include <string.h>
#include "stress.h"

#define CANARY_WORDS 64
#define TOKENS       2
#define ROUNDS       4000                       /* of a computation: some 10 us */

volatile LONG lock_sum, apc_sum, token_sum;
LONG lock_wanted, apc_wanted, token_wanted;

static CRITICAL_SECTION lock;
static HANDLE pipe_out, pipe_in;                /* TOKENS bytes go round */
static char key_name[40];                       /* of the current user, not kept */
static volatile LONG in_lock;
static unsigned long long right_result;

/* ---- registers over a yield ---- */

/* UmsThreadYield( param ) with pattern + 1.. in the general registers that a call keeps, the same in xmm6-15, rounding
   modes in mxcsr and the x87 control word. Returns how many are different afterwards. */
unsigned int yield_with_registers( void *param, unsigned long long pattern );
__asm__( ".text\n"
         ".globl yield_with_registers\n"
         "yield_with_registers:\n\t"
         ".irp r, rbx, rbp, rsi, rdi, r12, r13, r14, r15\n\t"
         "pushq %\\r\n\t"
         ".endr\n\t"
         "subq $0xd8, %rsp\n\t"
         ".irp n, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n\t"
         "movups %xmm\\n, 0x20+(\\n-6)*16(%rsp)\n\t"
         ".endr\n\t"
         "movq %rdx, 0xc0(%rsp)\n\t"
         "stmxcsr 0xc8(%rsp)\n\t"
         "fnstcw 0xcc(%rsp)\n\t"
         "movl %edx, %eax\n\t"
         "andl $0x6000, %eax\n\t"
         "orl $0x1f80, %eax\n\t"
         "movl %eax, 0xd0(%rsp)\n\t"
         "ldmxcsr 0xd0(%rsp)\n\t"
         "shrl $3, %eax\n\t"
         "andl $0xc00, %eax\n\t"
         "orl $0x37f, %eax\n\t"
         "movl %eax, 0xd4(%rsp)\n\t"
         "fldcw 0xd4(%rsp)\n\t"
         ".set k, 1\n\t"
         ".irp r, rbx, rbp, rsi, rdi, r12, r13, r14, r15\n\t"
         "leaq k(%rdx), %\\r\n\t"
         ".set k, k + 1\n\t"
         ".endr\n\t"
         ".irp n, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n\t"
         "leaq \\n*16(%rdx), %rax\n\t"
         "movq %rax, %xmm\\n\n\t"
         "punpcklqdq %xmm\\n, %xmm\\n\n\t"
         ".endr\n\t"
         "call UmsThreadYield\n\t"
         "xorl %ecx, %ecx\n\t"
         "cmpl $1, %eax\n\t"
         "setne %cl\n\t"
         "movq 0xc0(%rsp), %rdx\n\t"
         ".macro differs\n\t"
         "setne %al\n\t"
         "movzbl %al, %eax\n\t"
         "addl %eax, %ecx\n\t"
         ".endm\n\t"
         ".set k, 1\n\t"
         ".irp r, rbx, rbp, rsi, rdi, r12, r13, r14, r15\n\t"
         "leaq k(%rdx), %rax\n\t"
         "cmpq %rax, %\\r\n\t"
         "differs\n\t"
         ".set k, k + 1\n\t"
         ".endr\n\t"
         ".irp n, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n\t"
         "leaq \\n*16(%rdx), %rax\n\t"
         "movq %rax, %xmm0\n\t"
         "punpcklqdq %xmm0, %xmm0\n\t"
         "pcmpeqb %xmm\\n, %xmm0\n\t"
         "pmovmskb %xmm0, %eax\n\t"
         "cmpl $0xffff, %eax\n\t"
         "differs\n\t"
         ".endr\n\t"
         "movl 0xd0(%rsp), %edx\n\t"
         "stmxcsr 0xd0(%rsp)\n\t"
         "cmpl %edx, 0xd0(%rsp)\n\t"
         "differs\n\t"
         "movzwl 0xd4(%rsp), %edx\n\t"
         "fnstcw 0xd4(%rsp)\n\t"
         "cmpw %dx, 0xd4(%rsp)\n\t"
         "differs\n\t"
         "ldmxcsr 0xc8(%rsp)\n\t"
         "fldcw 0xcc(%rsp)\n\t"
         "movl %ecx, %eax\n\t"
         ".irp n, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n\t"
         "movups 0x20+(\\n-6)*16(%rsp), %xmm\\n\n\t"
         ".endr\n\t"
         "addq $0xd8, %rsp\n\t"
         ".irp r, r15, r14, r13, r12, rdi, rsi, rbp, rbx\n\t"
         "popq %\\r\n\t"
         ".endr\n\t"
         "ret\n" );

/* ---- itself ---- */

static void go_out( struct task *task, char at )
{
    task->at = at;
    InterlockedDecrement( &task->inside );
}

static void come_in( struct task *task, const unsigned long long *canary )
{
    int i;

    if (InterlockedIncrement( &task->inside ) != 1)
        promise_broken( "runs on two threads", task, 0, 0 );
    if (task->frozen) promise_broken( "runs while it is suspended", task, 0, 0 );
    if (GetCurrentThreadId() != task->tid)
        promise_broken( "wrong thread id", task, GetCurrentThreadId(), task->tid );
    if (TlsGetValue( tls ) != task)
        promise_broken( "wrong TLS", task, (ULONG_PTR)TlsGetValue( tls ), 0 );
    if (GetCurrentUmsThread() != task->context)
        promise_broken( "wrong context", task, (ULONG_PTR)GetCurrentUmsThread(), 0 );
    for (i = 0; i < CANARY_WORDS; i++)
        if (canary[i] != (task->tid ^ (unsigned long long)i << 32))
            promise_broken( "its stack was written", task, (ULONG_PTR)i, canary[i] );
    InterlockedIncrement( &progress );
    task->at = 'r';
}

/* From here on it may be killed, to the end of the window. */
static void window( struct task *task )
{
    if (allowed( 'k' )) InterlockedExchange( &task->killable, KILLABLE );
}

static void no_window( struct task *task )
{
    if (InterlockedCompareExchange( &task->killable, NOT_KILLABLE, KILLABLE ) != DOOMED) return;
    for (;;) Sleep( INFINITE );
}

/* ---- steps ---- */

static void yield( struct task *task, const unsigned long long *canary, char at )
{
    DWORD error = task->seed;
    unsigned int different;

    SetLastError( error );
    go_out( task, at );
    if (allowed( 'r' ))
    {
        if ((different = yield_with_registers( task, task->seed * 0x9e3779b97f4a7c15ull )))
            promise_broken( "registers over a yield", task, different, 0 );
    }
    else if (!UmsThreadYield( task )) promise_broken( "a yield failed", task, GetLastError(), 0 );
    if (GetLastError() != error)
        promise_broken( "last error over a yield", task, GetLastError(), error );
    come_in( task, canary );
}

/* All that a compiler finds to keep in registers, among it what a call does not keep. */
static unsigned long long compute( void )
{
    unsigned long long a = 1, b = 2, c = 3, d = 4, bits;
    double x = 1, y = 2, z = 3;
    int i;

    for (i = 0; i < ROUNDS; i++)
    {
        a = a * 6364136223846793005ull + b;
        b ^= a >> 13 | c << 5;
        c += b * (d | 1);
        d = (d << 7 | d >> 57) ^ a;
        x = x * 0.75 + (double)(a >> 40);
        y = y * 0.5 + x;
        z = z * 0.25 - y * 0.125;
    }
    x += y * 3 + z * 5;
    memcpy( &bits, &x, sizeof(bits) );
    return a ^ b ^ c ^ d ^ bits;
}

static void step_compute( struct task *task, const unsigned long long *canary )
{
    unsigned long long result;

    go_out( task, 'c' );
    window( task );
    result = compute();
    no_window( task );
    come_in( task, canary );
    if (result != right_result) promise_broken( "a wrong result", task, result, right_result );
}

static void step_wait( struct task *task, const unsigned long long *canary )
{
    HANDLE events[2] = { task->event, tasks[pick( &task->seed, (unsigned int)slot_count )].event };
    unsigned int how = pick( &task->seed, 4 ), ms = pick( &task->seed, 4 );

    go_out( task, 'w' );
    window( task );
    if (how == 0) Sleep( ms );
    else if (how == 1) WaitForMultipleObjects( events[0] == events[1] ? 1 : 2, events, FALSE, ms );
    else WaitForSingleObject( task->event, ms );
    no_window( task );
    come_in( task, canary );
}

static void step_lock( struct task *task, const unsigned long long *canary )
{
    InterlockedIncrement( &lock_wanted );
    InterlockedExchange( &task->fragile, 1 );   /* waits.c */
    go_out( task, 'l' );
    EnterCriticalSection( &lock );
    if (InterlockedIncrement( &in_lock ) != 1) promise_broken( "two in the lock", task, 0, 0 );
    lock_sum = lock_sum + 1;
    come_in( task, canary );
    InterlockedExchange( &task->fragile, 0 );
    if (!pick( &task->seed, 3 )) yield( task, canary, 'L' );
    InterlockedExchange( &task->fragile, 1 );
    go_out( task, 'u' );
    InterlockedDecrement( &in_lock );
    LeaveCriticalSection( &lock );
    come_in( task, canary );
    InterlockedExchange( &task->fragile, 0 );
}

static void step_pipe( struct task *task, const unsigned long long *canary )
{
    DWORD size = 0;
    char token = 0;

    InterlockedIncrement( &token_wanted );
    go_out( task, 'p' );
    if (!ReadFile( pipe_out, &token, 1, &size, NULL ) || size != 1 || token != 'T')
        promise_broken( "not read", task, GetLastError(), size );
    InterlockedIncrement( &token_sum );
    come_in( task, canary );
    if (!pick( &task->seed, 2 )) yield( task, canary, 'P' );
    go_out( task, 'q' );
    if (!WriteFile( pipe_in, &token, 1, &size, NULL ) || size != 1)
        promise_broken( "not written", task, GetLastError(), size );
    come_in( task, canary );
}

static void WINAPI apc( ULONG_PTR param )
{
    if (TlsGetValue( tls ) != (void *)param) promise_broken( "another one's APC", (void *)param, 0, 0 );
    InterlockedIncrement( &apc_sum );
}

static void step_apc( struct task *task, const unsigned long long *canary )
{
    InterlockedIncrement( &apc_wanted );
    go_out( task, 'a' );
    if (!QueueUserAPC( apc, GetCurrentThread(), (ULONG_PTR)task ))
        promise_broken( "no APC", task, GetLastError(), 0 );
    SleepEx( pick( &task->seed, 2 ), TRUE );
    come_in( task, canary );
}

static void step_calls( struct task *task, const unsigned long long *canary )
{
    LARGE_INTEGER now;

    go_out( task, 'n' );
    SwitchToThread();
    SetEvent( tasks[pick( &task->seed, (unsigned int)slot_count )].event );
    QueryPerformanceCounter( &now );
    FlushProcessWriteBuffers();
    come_in( task, canary );
}

/* A key is opened, written, read and closed: calls that stay on the carrier. */
static void step_key( struct task *task, const unsigned long long *canary )
{
    DWORD written = pick( &task->seed, 1 << 24 ), read = 0, size = sizeof(read);
    char name[16];
    HKEY key;

    InterlockedExchange( &task->fragile, 1 );
    go_out( task, 'k' );
    snprintf( name, sizeof(name), "%d", (int)task->index );
    if (RegOpenKeyExA( HKEY_CURRENT_USER, key_name, 0, KEY_READ | KEY_SET_VALUE, &key ) ||
        RegSetValueExA( key, name, 0, REG_DWORD, (const BYTE *)&written, sizeof(written) ) ||
        RegQueryValueExA( key, name, NULL, NULL, (BYTE *)&read, &size ) || RegCloseKey( key ) || read != written)
        promise_broken( "its value in the registry is another one", task, (LONG)read, (LONG)written );
    come_in( task, canary );
    InterlockedExchange( &task->fragile, 0 );
}

static void step_sleep_suspended( struct task *task, const unsigned long long *canary )
{
    if (!allowed( 's' )) return;
    go_out( task, 'z' );
    InterlockedExchange( &task->asleep, 1 );
    SuspendThread( GetCurrentThread() );
    InterlockedExchange( &task->asleep, 0 );
    come_in( task, canary );
}

/* Only those with a higher index, so that there is no ring of workers that have suspended each other. While it holds
   one it may be killed: whoever gets it as terminated lets that one go. */
static void step_suspend( struct task *task, const unsigned long long *canary )
{
    struct task *other = &tasks[pick( &task->seed, (unsigned int)slot_count )];

    if (!allowed( 's' ) || other->index <= task->index || !task_meddle( other )) return;
    go_out( task, 's' );
    if (!task_hold( other ))
    {
        task_leave_alone( other );
        come_in( task, canary );
        return;
    }
    come_in( task, canary );
    task->held = other;
    window( task );
    yield( task, canary, 'H' );
    no_window( task );
    task->held = NULL;
    go_out( task, 't' );
    task_let_go( other );
    come_in( task, canary );
}

static void step_kill( struct task *task, const unsigned long long *canary )
{
    struct task *other = &tasks[pick( &task->seed, (unsigned int)slot_count )];

    if (!allowed( 'k' ) || pick( &task->seed, 3 ) || other == task || !task_meddle( other )) return;
    go_out( task, 'k' );
    task_kill( other );
    task_leave_alone( other );
    come_in( task, canary );
}

/* Its own, perhaps. Somebody else has to run it then. */
static void step_kill_scheduler( struct task *task, const unsigned long long *canary )
{
    if (sched_count < 2) return;
    InterlockedExchange( &task->fragile, 1 );
    go_out( task, 'T' );
    sched_kill( &scheds[pick( &task->seed, (unsigned int)sched_count )] );
    come_in( task, canary );
    InterlockedExchange( &task->fragile, 0 );
}

static void step_new( struct task *task, const unsigned long long *canary )
{
    if (!allowed( 'n' )) return;
    InterlockedExchange( &task->fragile, 1 );
    go_out( task, 'm' );
    task_new( &task->seed );
    come_in( task, canary );
    InterlockedExchange( &task->fragile, 0 );
}

/* Any thread may look into a list; what it finds others execute. */
static void step_dequeue( struct task *task, const unsigned long long *canary )
{
    PUMS_CONTEXT chain = NULL;

    InterlockedExchange( &task->fragile, 1 );
    go_out( task, 'd' );
    InterlockedIncrement( &task->dequeues );
    if (!DequeueUmsCompletionListItems( scheds[pick( &task->seed, (unsigned int)sched_count )].list,
                                        0, &chain ))
        promise_broken( "a worker cannot dequeue", task, GetLastError(), 0 );
    task_deliver_all( chain );
    InterlockedIncrement( &task->dequeues );
    come_in( task, canary );
    InterlockedExchange( &task->fragile, 0 );
}

/* A token, and perhaps a yield with it. */
static void step_token( struct task *task, const unsigned long long *canary, BOOL at_gate )
{
    InterlockedExchange( &task->fragile, 1 );
    go_out( task, at_gate ? 'v' : 'o' );
    if (at_gate) wait_take_gate( task );
    else wait_take_address( task );
    come_in( task, canary );
    InterlockedExchange( &task->fragile, 0 );
    if (!pick( &task->seed, 2 )) yield( task, canary, 'V' );
    InterlockedExchange( &task->fragile, 1 );
    go_out( task, at_gate ? 'w' : 'O' );
    if (at_gate) wait_leave_gate();
    else wait_leave_address();
    come_in( task, canary );
    InterlockedExchange( &task->fragile, 0 );
}

/* A token of an event or a semaphore, or of two. */
static void step_object( struct task *task, const unsigned long long *canary )
{
    unsigned int which;

    InterlockedExchange( &task->fragile, 1 );
    go_out( task, 'j' );
    which = wait_take_object( task );
    come_in( task, canary );
    InterlockedExchange( &task->fragile, 0 );
    if (!pick( &task->seed, 2 )) yield( task, canary, 'J' );
    InterlockedExchange( &task->fragile, 1 );
    go_out( task, 'r' );
    wait_leave_object( task, which );
    come_in( task, canary );
    InterlockedExchange( &task->fragile, 0 );
}

/* An event that is open or closed for all, and one that is pulsed. */
static void step_door( struct task *task, const unsigned long long *canary )
{
    unsigned int what = pick( &task->seed, 4 );

    go_out( task, 'D' );
    if (what == 0) close_door( task );
    else if (what == 1) pulse( task );
    else
    {
        window( task );
        if (what == 2) wait_at_door( task );
        else wait_for_pulse( task );
        no_window( task );
    }
    come_in( task, canary );
    if (what) return;
    yield( task, canary, 'C' );
    go_out( task, 'D' );
    open_door( task );
    come_in( task, canary );
}

static void step_alert( struct task *task, const unsigned long long *canary )
{
    unsigned int what = pick( &task->seed, 4 );

    go_out( task, 'A' );
    if (what == 3) wait_for_key( task );
    else if (what) wait_for_alert( task );
    else
    {
        window( task );
        wait_for_nothing( task );
        no_window( task );
    }
    come_in( task, canary );
}

/* One that is waiting for it, or anybody who has that id. */
static void step_send_alert( struct task *task, const unsigned long long *canary )
{
    struct task *other = &tasks[pick( &task->seed, (unsigned int)slot_count )];

    go_out( task, 'S' );
    if (!pick( &task->seed, 4 )) alert_anybody( other );
    else if (other != task && task_meddle( other ))
    {
        alert_task( other );
        task_leave_alone( other );
    }
    come_in( task, canary );
}

static void step( struct task *task, const unsigned long long *canary )
{
    unsigned int what = pick( &task->seed, allowed( 'a' ) ? 54 : 40 );

    if (what < 12) yield( task, canary, 'y' );
    else if (what < 17)
    {
        task->goal = (LONG)pick( &task->seed, (unsigned int)sched_count );
        yield( task, canary, 'g' );
    }
    else if (what < 19)
    {
        window( task );
        yield( task, canary, 'Y' );
        no_window( task );
    }
    else if (what < 23) step_compute( task, canary );
    else if (what < 26) allowed( 'w' ) ? step_wait( task, canary ) : (void)0;
    else if (what < 28) step_lock( task, canary );
    else if (what < 30) step_pipe( task, canary );
    else if (what < 31) step_apc( task, canary );
    else if (what < 32) step_calls( task, canary );
    else if (what < 33) step_key( task, canary );
    else if (what < 34) step_sleep_suspended( task, canary );
    else if (what < 36) step_suspend( task, canary );
    else if (what < 37) pick( &task->seed, 16 ) ? step_kill( task, canary ) : step_kill_scheduler( task, canary );
    else if (what < 38) step_new( task, canary );
    else if (what < 40) step_dequeue( task, canary );
    else if (what < 44) step_token( task, canary, what < 42 );
    else if (what < 46) step_alert( task, canary );
    else if (what < 48) step_send_alert( task, canary );
    else if (what < 51) step_object( task, canary );
    else step_door( task, canary );
}

/* Half of them see to it that nobody meddles with them at the end: their context is deleted the moment it is
   delivered. */
static void close_up( struct task *task, const unsigned long long *canary )
{
    while (InterlockedCompareExchange( &task->meddlers, -1, 0 )) yield( task, canary, 'e' );
    task->closed = 1;
}

DWORD WINAPI worker_life( void *arg )
{
    unsigned long long canary[CANARY_WORDS];
    struct task *task = arg;
    DWORD id = GetCurrentThreadId();
    int i;

    TlsSetValue( tls, task );
    if (task->first_apcs) promise_broken( "it began without its APCs", task, task->first_apcs, 0 );
    while (!task->thread) UmsThreadYield( task );       /* its creator is about to store id and handle */
    if (task->tid != id) promise_broken( "told another id", task, id, task->tid );
    for (i = 0; i < CANARY_WORDS; i++) canary[i] = id ^ (unsigned long long)i << 32;
    come_in( task, canary );
    InterlockedExchange( &task->fragile, 0 );
    for (i = 0; i < task->wanted_steps; i++, task->steps++) step( task, canary );
    if (task->steps != task->wanted_steps) promise_broken( "lost a step", task, task->steps, 0 );
    InterlockedExchange( &task->fragile, 1 );
    if (pick( &task->seed, 2 )) close_up( task, canary );
    go_out( task, 'E' );
    if (pick( &task->seed, 4 )) return ENDED_WELL;
    ExitThread( ENDED_WELL );
}

/* ---- sums ---- */

BOOL worker_init( void )
{
    static const char tokens[TOKENS + 1] = "TT";
    DWORD size;
    HKEY key;

    lock_sum = apc_sum = token_sum = 0;
    lock_wanted = apc_wanted = token_wanted = 0;
    right_result = compute();
    InitializeCriticalSection( &lock );
    snprintf( key_name, sizeof(key_name), "Software\\umsstress_%lu", GetCurrentProcessId() );
    if (RegCreateKeyExA( HKEY_CURRENT_USER, key_name, 0, NULL, REG_OPTION_VOLATILE, KEY_ALL_ACCESS, NULL, &key, NULL ))
        return FALSE;
    RegCloseKey( key );
    return waits_init() && CreatePipe( &pipe_out, &pipe_in, NULL, 64 ) &&
           WriteFile( pipe_in, tokens, TOKENS, &size, NULL ) && size == TOKENS;
}

void worker_free( void )
{
    DeleteCriticalSection( &lock );
    CloseHandle( pipe_out );
    CloseHandle( pipe_in );
    RegDeleteKeyA( HKEY_CURRENT_USER, key_name );
}

BOOL worker_sums_fit( void )
{
    DWORD left = 0;

    return waits_sums_fit() && lock_sum == lock_wanted && apc_sum == apc_wanted && token_sum == token_wanted &&
           !in_lock && PeekNamedPipe( pipe_out, NULL, 0, NULL, &left, NULL ) && left == TOKENS;
}
