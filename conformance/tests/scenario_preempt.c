/*
 * Scenarios: workers that are stopped in the middle of their code, at any instruction, and go on
 * maybe elsewhere.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: B7, B8, B28, D1; section 5, "suspended" and "VolatileContext": a worker that was interrupted
 * has its whole register image restored.
 */
#include <cpuid.h>
#include <string.h>
#include "../umslib.h"
#include "scenario_kit.h"

/* ---- every register, the volatile ones and the flags too ---- */

#define GENERAL 13                              /* all but rsp, rcx and the one that is counted in */
#define VECTORS 16

/* Offsets are known to the assembly below. */
struct image
{
    volatile LONG stop;                         /* 0x00 */
    volatile LONG count;                        /* 0x04 */
    LONG    avx;                                /* 0x08 */
    LONG    pad;
    ULONG64 general[GENERAL];                   /* 0x10 rax rbx rdx rsi rdi rbp r8 .. r14 */
    ULONG64 spare;                              /* 0x78 */
    BYTE    vectors[VECTORS][32];               /* 0x80 */
    BYTE    x87[10], pad2[6];                   /* 0x280 */
};
C_ASSERT( FIELD_OFFSET( struct image, general ) == 0x10 );
C_ASSERT( FIELD_OFFSET( struct image, vectors ) == 0x80 );
C_ASSERT( FIELD_OFFSET( struct image, x87 ) == 0x280 );

/* Load everything from the image, count in r15 until stop is set, store everything. Returns 0 if a
   flag or the counter was lost meanwhile. */
int spin_with_image( struct image *image );
__asm__( ".text\n"
         ".globl spin_with_image\n"
         ".def spin_with_image; .scl 2; .type 32; .endef\n"
         ".seh_proc spin_with_image\n"
         "spin_with_image:\n\t"
         "pushq %rbx\n\t.seh_pushreg %rbx\n\t"
         "pushq %rbp\n\t.seh_pushreg %rbp\n\t"
         "pushq %rdi\n\t.seh_pushreg %rdi\n\t"
         "pushq %rsi\n\t.seh_pushreg %rsi\n\t"
         "pushq %r12\n\t.seh_pushreg %r12\n\t"
         "pushq %r13\n\t.seh_pushreg %r13\n\t"
         "pushq %r14\n\t.seh_pushreg %r14\n\t"
         "pushq %r15\n\t.seh_pushreg %r15\n\t"
         "subq $0xa8, %rsp\n\t.seh_stackalloc 0xa8\n\t"
         ".seh_endprologue\n\t"
         ".irp n, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n\t"
         "movups %xmm\\n, 16 * (\\n - 6)(%rsp)\n\t"
         ".endr\n\t"
         "fldt 0x280(%rcx)\n\t"
         "cmpl $0, 8(%rcx)\n\t"
         "je 1f\n\t"
         ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n\t"
         "vmovups 0x80 + 32 * \\n(%rcx), %ymm\\n\n\t"
         ".endr\n\t"
         "jmp 2f\n"
         "1:\n\t"
         ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n\t"
         "movups 0x80 + 32 * \\n(%rcx), %xmm\\n\n\t"
         ".endr\n"
         "2:\n\t"
         "movq 0x10(%rcx), %rax\n\t"
         "movq 0x18(%rcx), %rbx\n\t"
         "movq 0x20(%rcx), %rdx\n\t"
         "movq 0x28(%rcx), %rsi\n\t"
         "movq 0x30(%rcx), %rdi\n\t"
         "movq 0x38(%rcx), %rbp\n\t"
         "movq 0x40(%rcx), %r8\n\t"
         "movq 0x48(%rcx), %r9\n\t"
         "movq 0x50(%rcx), %r10\n\t"
         "movq 0x58(%rcx), %r11\n\t"
         "movq 0x60(%rcx), %r12\n\t"
         "movq 0x68(%rcx), %r13\n\t"
         "movq 0x70(%rcx), %r14\n\t"
         "xorl %r15d, %r15d\n"
         "3:\n\t"
         "cmpl %r15d, 4(%rcx)\n\t"
         "jne 9f\n\t"
         "stc\n\t"                              /* two instructions of which one knows the other */
         "jnc 9f\n\t"
         "incq %r15\n\t"
         "movl %r15d, 4(%rcx)\n\t"
         "cmpl $0, (%rcx)\n\t"
         "je 3b\n\t"
         "movq %rax, 0x10(%rcx)\n\t"
         "movq %rbx, 0x18(%rcx)\n\t"
         "movq %rdx, 0x20(%rcx)\n\t"
         "movq %rsi, 0x28(%rcx)\n\t"
         "movq %rdi, 0x30(%rcx)\n\t"
         "movq %rbp, 0x38(%rcx)\n\t"
         "movq %r8, 0x40(%rcx)\n\t"
         "movq %r9, 0x48(%rcx)\n\t"
         "movq %r10, 0x50(%rcx)\n\t"
         "movq %r11, 0x58(%rcx)\n\t"
         "movq %r12, 0x60(%rcx)\n\t"
         "movq %r13, 0x68(%rcx)\n\t"
         "movq %r14, 0x70(%rcx)\n\t"
         "cmpl $0, 8(%rcx)\n\t"
         "je 4f\n\t"
         ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n\t"
         "vmovups %ymm\\n, 0x80 + 32 * \\n(%rcx)\n\t"
         ".endr\n\t"
         "vzeroupper\n\t"
         "jmp 5f\n"
         "4:\n\t"
         ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n\t"
         "movups %xmm\\n, 0x80 + 32 * \\n(%rcx)\n\t"
         ".endr\n"
         "5:\n\t"
         "movl $1, %eax\n\t"
         "jmp 6f\n"
         "9:\n\t"
         "xorl %eax, %eax\n"
         "6:\n\t"
         "fstpt 0x280(%rcx)\n\t"
         ".irp n, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n\t"
         "movups 16 * (\\n - 6)(%rsp), %xmm\\n\n\t"
         ".endr\n\t"
         "addq $0xa8, %rsp\n\t"
         "popq %r15\n\t"
         "popq %r14\n\t"
         "popq %r13\n\t"
         "popq %r12\n\t"
         "popq %rsi\n\t"
         "popq %rdi\n\t"
         "popq %rbp\n\t"
         "popq %rbx\n\t"
         "ret\n\t"
         ".seh_endproc\n" );

#define STOPS 60

static struct image images[2];
static volatile LONG flags_kept[2], other_work;

static BOOL has_avx(void)
{
    unsigned int eax, ebx, ecx, edx;

    return __get_cpuid( 1, &eax, &ebx, &ecx, &edx ) && (ecx & bit_OSXSAVE) && (ecx & bit_AVX);
}

static void fill( struct image *image, int seed )
{
    BYTE *bytes = (BYTE *)image->general;
    size_t i;

    for (i = 0; i < sizeof(image->general); i++) bytes[i] = (BYTE)(i * 13 + seed * 57 + 1);
    bytes = image->vectors[0];
    for (i = 0; i < sizeof(image->vectors); i++)
        bytes[i] = image->avx || i % 32 < 16 ? (BYTE)(i * 29 + seed * 83 + 5) : 0;
    memcpy( image->x87, "\x35\xc2\x68\x21\xa2\xda\x0f\xc9\x00\x40", 10 );         /* pi */
    image->x87[0] ^= (BYTE)seed;
}

static DWORD image_body( struct kit_worker *worker )
{
    kit_yield( worker, NULL );
    flags_kept[worker->index] = spin_with_image( &images[worker->index] );
    return 0;
}

/* Uses all the registers in between, on the same processor. */
static DWORD spoil_body( struct kit_worker *worker )
{
    double x = 1;

    while (!images[0].stop || !images[1].stop)
    {
        x = x * 1.5 + other_work;
        if (x > 1e100) x = 1;
        InterlockedIncrement( &other_work );
        kit_yield( worker, NULL );
    }
    return (DWORD)x & 0;
}

/* Waits until it stands still [guess]: SuspendThread may return before. */
static BOOL stop( HANDLE thread )
{
    CONTEXT context;

    context.ContextFlags = CONTEXT_CONTROL;
    return SuspendThread( thread ) != ~0u && GetThreadContext( thread, &context );
}

/* Suspended anywhere in a loop that has a value in every register, and resumed, many times.
   Whenever one is off, another worker of its scheduler uses the registers. */
START_TEST( scenario_preempt_registers )
{
    struct kit_sched *scheds[2];
    struct image want[2];
    struct kit_worker *workers[2];
    int i, w, failed = 0, stuck = 0, starved = 0;
    LONG count;

    if (!kit_open()) return;
    for (w = 0; w < 2; w++)
    {
        scheds[w] = kit_add_sched( NULL );
        images[w].avx = has_avx();
        fill( &images[w], w + 1 );
        want[w] = images[w];
        workers[w] = kit_add_worker( scheds[w]->list, image_body, NULL );
    }
    kit_add_worker( scheds[0]->list, spoil_body, NULL );
    kit_start();
    for (w = 0; w < 2; w++)
        while (!images[w].count && !scheds[w]->timeouts) Sleep( 1 );
    for (i = 0; i < STOPS; i++)
    {
        w = i & 1;
        if (!stop( workers[w]->thread )) failed++;
        count = images[w].count;
        if (!w && !kit_moves( &other_work )) starved++;
        if (i % 4 >= 2) Sleep( 1 );
        if (images[w].count != count && images[w].count != count + 1) stuck++;
        if (ResumeThread( workers[w]->thread ) == ~0u) failed++;
        if (i % 4 == 3) Sleep( 1 );
    }
    for (w = 0; w < 2; w++) images[w].stop = 1;
    kit_finish();
    ok( !failed, "%d calls to suspend or resume failed\n", failed );
    for (w = 0; w < 2; w++)
    {
        push( "worker %d", w );
        ok( flags_kept[w], "5: a flag or r15 was lost\n" );
        for (i = 0; i < GENERAL; i++)
            ok( images[w].general[i] == want[w].general[i],
                "5: general register %d is %llx, was %llx\n", i, images[w].general[i],
                want[w].general[i] );
        for (i = 0; i < VECTORS; i++)
            ok( !memcmp( images[w].vectors[i], want[w].vectors[i], 32 ),
                "5: vector register %d is not as it was\n", i );
        ok( !memcmp( images[w].x87, want[w].x87, 10 ), "5: the x87 stack is not as it was\n" );
        pop();
    }
    ok( !stuck, "5: a suspended worker ran %d times\n", stuck );
    ok( !starved, "B10: nobody else had the registers %d times\n", starved );
    kit_check();
}

/* ---- at any instruction of a yield and of a move ---- */

#define STEPS 10                                /* yields between two moves */

static volatile LONG moves_stop;

static DWORD move_body( struct kit_worker *worker )
{
    int i, k;

    for (i = 0; !moves_stop; i++)
    {
        for (k = 1; k < STEPS; k++) kit_yield( worker, NULL );
        kit_migrate( worker, &kit.scheds[i & 1] );
    }
    return 0;
}

/* Three workers hop between two schedulers and are stopped all the time. Whatever the suspension
   meets, they arrive; kit_check does the sums. */
START_TEST( scenario_preempt_moves )
{
    struct kit_worker *workers[3];
    int i, failed = 0, stands = 0;

    if (!kit_open()) return;
    kit_add_sched( NULL );
    kit_add_sched( NULL );
    for (i = 0; i < 3; i++) workers[i] = kit_add_worker( kit.scheds[i & 1].list, move_body, NULL );
    kit_start();
    for (i = 0; i < 3; i++) ok( kit_leaves( &workers[i]->yields_made, 0 ), "worker %d did not start\n", i );
    for (i = 0; i < 400 && !stands; i++)        /* each finds it among its yields and moves */
    {
        struct kit_worker *worker = workers[i % 3];

        if (SuspendThread( worker->thread ) == ~0u) failed++;
        if (i & 1) SwitchToThread();
        if (ResumeThread( worker->thread ) == ~0u) failed++;
        if (!kit_moves( &worker->yields_made )) stands++;
    }
    moves_stop = 1;
    kit_finish();
    ok( !failed, "%d calls to suspend or resume failed\n", failed );
    ok( !stands, "B8: a worker did not go on after a resume\n" );
    for (i = 0; i < 3; i++)
        ok( workers[i]->yields == workers[i]->yields_made, "B28: worker %d: %ld Yield upcalls of %ld\n", i,
            workers[i]->yields, workers[i]->yields_made );
    kit_check();
}

/* ---- in the middle of calls that are answered at once ---- */

#define CALL_STOPS 300

static volatile LONG calls_stop, calls_made, calls_wrong;
static HANDLE calls_event;

static DWORD calls_body( struct kit_worker *worker )
{
    LARGE_INTEGER counter, last = { .QuadPart = 0 };
    char *mem;

    kit_yield( worker, NULL );
    while (!calls_stop)
    {
        if (!SetEvent( calls_event )) calls_wrong++;
        if (!QueryPerformanceCounter( &counter ) || counter.QuadPart < last.QuadPart) calls_wrong++;
        last = counter;
        mem = VirtualAlloc( NULL, 0x10000, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE );
        if (!mem || (mem[0x8000] = 1) != 1 || !VirtualFree( mem, 0, MEM_RELEASE )) calls_wrong++;
        if (!ResetEvent( calls_event )) calls_wrong++;
        if (GetCurrentThreadId() != worker->id) calls_wrong++;
        calls_made++;
    }
    return 0;
}

static DWORD beside_body( struct kit_worker *worker )
{
    while (!calls_stop) kit_yield( worker, NULL );
    return 0;
}

/* A suspension is not lost and does no harm, wherever in such a call it comes. */
START_TEST( scenario_preempt_calls )
{
    struct kit_sched *sched;
    struct kit_worker *worker;
    int i, failed = 0, ran = 0;
    LONG count;

    if (!kit_open()) return;
    calls_event = CreateEventW( NULL, TRUE, FALSE, NULL );
    sched = kit_add_sched( NULL );
    worker = kit_add_worker( sched->list, calls_body, NULL );
    kit_add_worker( sched->list, beside_body, NULL );
    kit_start();
    while (!calls_made && !sched->timeouts) Sleep( 1 );
    for (i = 0; i < CALL_STOPS; i++)
    {
        if (!stop( worker->thread )) failed++;
        count = calls_made;
        if (i % 16 == 15) Sleep( 1 );
        else SwitchToThread();
        if (calls_made != count) ran++;
        if (ResumeThread( worker->thread ) == ~0u) failed++;
        while (calls_made == count && !sched->timeouts) SwitchToThread();
    }
    calls_stop = 1;
    kit_finish();
    ok( !failed, "%d calls to suspend or resume failed\n", failed );
    ok( !ran, "5: a suspended worker ran %d times\n", ran );
    ok( !calls_wrong, "%ld calls gave a wrong result\n", calls_wrong );
    kit_check();
    CloseHandle( calls_event );
}

/* ---- a worker that is in a call nearly all the time ---- */

#define INCESSANT_STOPS 20

static struct kit_worker *incessant;
static volatile LONG incessant_calls, incessant_wrong, incessant_turns, incessant_stop;
static LONG incessant_failed, incessant_ran, incessant_starved, incessant_lost;
static HANDLE incessant_event, incessant_round;

static DWORD incessant_body( struct kit_worker *worker )
{
    LARGE_INTEGER counter;

    kit_yield( worker, NULL );
    while (!incessant_stop)
    {
        if (!SetEvent( incessant_event )) incessant_wrong++;
        if (!QueryPerformanceCounter( &counter )) incessant_wrong++;
        if (!ResetEvent( incessant_event )) incessant_wrong++;
        incessant_calls++;
    }
    return 0;
}

static DWORD incessant_beside_body( struct kit_worker *worker )
{
    while (!incessant_stop)
    {
        incessant_turns++;
        kit_yield( worker, NULL );
    }
    return 0;
}

/* FALSE if the count has not moved after KIT_LIMIT. */
static BOOL moves_on( volatile LONG *count )
{
    ULONGLONG limit = clock_ms() + KIT_LIMIT;
    LONG was = *count;

    while (*count == was && clock_ms() < limit) SwitchToThread();
    return *count != was;
}

static DWORD WINAPI incessant_suspender( void *arg )
{
    CONTEXT context;
    LONG calls;
    int i;

    (void)arg;
    for (i = 0; i < INCESSANT_STOPS && !incessant_stop; i++)
    {
        if (SuspendThread( incessant->thread ) == ~0u) incessant_failed++;
        ReleaseSemaphore( incessant_round, 1, NULL );
        context.ContextFlags = CONTEXT_CONTROL;                 /* it stands still after that */
        if (!GetThreadContext( incessant->thread, &context )) incessant_failed++;
        calls = incessant_calls;
        if (!incessant_stop && !moves_on( &incessant_turns )) incessant_starved++;
        if (i % 4 == 3) Sleep( 2 );
        if (incessant_calls != calls) incessant_ran++;
        if (ResumeThread( incessant->thread ) == ~0u) incessant_failed++;
        if (!incessant_stop && !moves_on( &incessant_calls )) incessant_lost++;
    }
    return 0;
}

/* SuspendThread returns, though there is hardly an instruction of the worker's own to stop it at.
   A thread of its own calls it: so the worker can be let go if it does not. */
START_TEST( scenario_preempt_incessant )
{
    HANDLE suspender;
    int i;

    if (!kit_open()) return;
    incessant_event = CreateEventW( NULL, TRUE, FALSE, NULL );
    incessant_round = CreateSemaphoreW( NULL, 0, INCESSANT_STOPS, NULL );
    kit_add_sched( NULL );
    incessant = kit_add_worker( kit.scheds[0].list, incessant_body, NULL );
    kit_add_worker( kit.scheds[0].list, incessant_beside_body, NULL );
    kit_start();
    ok( incessant && moves_on( &incessant_calls ), "the worker did not start\n" );
    suspender = CreateThread( NULL, 0, incessant_suspender, NULL, 0, NULL );
    for (i = 0; i < INCESSANT_STOPS; i++)
        if (WaitForSingleObject( incessant_round, KIT_LIMIT )) break;
    ok( i == INCESSANT_STOPS, "5: SuspendThread number %d did not return within %d ms\n", i + 1,
        KIT_LIMIT );
    if (i < INCESSANT_STOPS) incessant_stop = 1;
    ok( !WaitForSingleObject( suspender, KIT_LIMIT ), "no end of the suspender in %d ms\n",
        KIT_LIMIT );
    incessant_stop = 1;
    kit_finish();
    ok( !incessant_failed, "%ld calls to suspend or resume failed\n", incessant_failed );
    ok( !incessant_ran, "5: a suspended worker ran %ld times\n", incessant_ran );
    ok( !incessant_starved, "B10: the other worker got no turn %ld times\n", incessant_starved );
    ok( !incessant_lost, "B8: the worker did not go on %ld times\n", incessant_lost );
    ok( !incessant_wrong, "%ld calls gave a wrong result\n", incessant_wrong );
    kit_check();
    CloseHandle( suspender );
    CloseHandle( incessant_round );
    CloseHandle( incessant_event );
}

/* ---- by a handle that is good for nothing else ---- */

#define LIMITED_STOPS 20

static volatile LONG limited_count, limited_turns, limited_stop;

static DWORD limited_body( struct kit_worker *worker )
{
    kit_yield( worker, NULL );
    while (!limited_stop) limited_count++;
    return 0;
}

static DWORD limited_beside_body( struct kit_worker *worker )
{
    while (!limited_stop)
    {
        limited_turns++;
        kit_yield( worker, NULL );
    }
    return 0;
}

/* THREAD_SUSPEND_RESUME alone is enough to stop a worker in the middle of its code: its scheduler
   is told, with payload 0, and it goes on when it is resumed. */
START_TEST( scenario_preempt_limited_handle )
{
    int i, failed = 0, ran = 0, starved = 0, payloads = 0, lost = 0;
    struct kit_worker *worker;
    HANDLE limited = NULL;
    LONG count;

    if (!kit_open()) return;
    kit_add_sched( NULL );
    worker = kit_add_worker( kit.scheds[0].list, limited_body, NULL );
    kit_add_worker( kit.scheds[0].list, limited_beside_body, NULL );
    kit_start();
    ok( worker && moves_on( &limited_count ), "the worker did not start\n" );
    ok( DuplicateHandle( GetCurrentProcess(), worker->thread, GetCurrentProcess(), &limited,
                         THREAD_SUSPEND_RESUME, FALSE, 0 ),
        "DuplicateHandle failed, error %lu\n", GetLastError() );
    for (i = 0; i < LIMITED_STOPS && !starved && !lost; i++)
    {
        worker->payload = POISON;
        if (SuspendThread( limited ) == ~0u) failed++;
        if (!moves_on( &limited_turns )) starved++;
        else if (worker->payload) payloads++;
        count = limited_count;                  /* somebody else has had the processor */
        Sleep( i % 4 );
        if (!starved && limited_count != count) ran++;
        if (starved && moves_on( &limited_count )) ran++;
        if (ResumeThread( limited ) == ~0u) failed++;
        if (!moves_on( &limited_count )) lost++;
    }
    limited_stop = 1;
    kit_finish();
    ok( !failed, "%d calls to suspend or resume failed\n", failed );
    ok( !ran, "5: a suspended worker ran %d times\n", ran );
    ok( !starved, "B10: the scheduler did not get control within %d ms\n", KIT_LIMIT );
    ok( !payloads, "B10: %d Blocked upcalls without payload 0\n", payloads );
    ok( !lost, "B8: the worker did not go on within %d ms\n", KIT_LIMIT );
    kit_check();
    CloseHandle( limited );
}
