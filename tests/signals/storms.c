/*
 * What the workers do: one kind of thing each, so that a signal hits them there, and check that
 * nothing of it is lost, done twice or done by another thread.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "signals.h"

#define BLOCK 700                       /* bytes written or read at most at once */
#define PAGE  0x1000
#define DEPTH 40                        /* pages of stack */

/* What a pair of workers share; the even one begins. */
static struct pair
{
    HANDLE turn[2];                     /* semaphores */
    HANDLE pipe[2];
    volatile LONG ball, last;
    volatile LONG64 written;
} pairs[WORKERS / 2];

void storm_setup( void )
{
    char name[64];
    int i, j;

    for (i = 0; i < WORKERS / 2; i++)
    {
        for (j = 0; j < 2; j++) pairs[i].turn[j] = CreateSemaphoreA( NULL, 0, 1, NULL );
        snprintf( name, sizeof(name), "\\\\.\\pipe\\ums.signals.%lu.%d", GetCurrentProcessId(), i );
        pairs[i].pipe[0] = CreateNamedPipeA( name, PIPE_ACCESS_OUTBOUND | FILE_FLAG_OVERLAPPED,
                                             PIPE_TYPE_BYTE, 1, BLOCK, BLOCK, 0, NULL );
        pairs[i].pipe[1] = CreateFileA( name, GENERIC_READ, 0, NULL, OPEN_EXISTING,
                                        FILE_FLAG_OVERLAPPED, NULL );
    }
}

static int sometimes( struct worker *worker, uint32_t one_in )
{
    return next_random( &worker->random ) % one_in == 0;
}

/* ---- nothing but switches ---- */

static void switch_body( struct worker *worker )
{
    while (!ending) yield( worker, sometimes( worker, 256 ) );
}

/* ---- nothing but calls that are answered so quickly that most of the time is the hook's ---- */

static void hook_body( struct worker *worker )
{
    LARGE_INTEGER last = { 0 }, now;
    int i;

    while (!ending)
    {
        for (i = 0; i < 64; i++)
        {
            QueryPerformanceCounter( &now );
            if (now.QuadPart < last.QuadPart) mistake( WRONG_DATA );
            last = now;
        }
        yield( worker, sometimes( worker, 64 ) );
    }
}

/* ---- nothing but yields at home: a worker with breakpoints of its own is not carried ---- */

static void never_called( void )
{
}

static void set_breakpoint( BOOL on )
{
    CONTEXT context;

    memset( &context, 0, sizeof(context) );
    context.ContextFlags = CONTEXT_DEBUG_REGISTERS;
    context.Dr0 = on ? (ULONG_PTR)never_called : 0;
    context.Dr7 = on;
    if (!SetThreadContext( GetCurrentThread(), &context )) mistake( WRONG_CALL );
}

static void home_body( struct worker *worker )
{
    set_breakpoint( TRUE );
    SleepEx( 0, TRUE );
    while (!ending) yield( worker, sometimes( worker, 16 ) );
    set_breakpoint( FALSE );
}

/* ---- nothing but local calls ---- */

static void local_body( struct worker *worker )
{
    HANDLE semaphore = CreateSemaphoreA( NULL, 0, 0x7fffffff, NULL );
    LONG count = 0, before;

    while (!ending)
    {
        if (!ReleaseSemaphore( semaphore, 1, &before )) mistake( WRONG_CALL );
        if (before != count++) mistake( WRONG_COUNT );
        if (sometimes( worker, 16 )) yield( worker, sometimes( worker, 2 ) );
    }
    CloseHandle( semaphore );
}

/* ---- nothing but the call that is local and no system call; with control words of its own ---- */

static void clock_body( struct worker *worker )
{
    uint32_t mxcsr = 0x1f80 | (uint32_t)(worker->slot & 3) << 13, mxcsr_now;
    uint16_t x87 = 0x27f | (uint16_t)((worker->slot & 3) << 10), x87_now;
    FILETIME time;
    int i;

    __asm__ __volatile__( "ldmxcsr %0\n\tfldcw %1" : : "m" (mxcsr), "m" (x87) );
    while (!ending)
    {
        for (i = 0; i < 64; i++)
        {
            GetSystemTimePreciseAsFileTime( &time );
            __asm__ __volatile__( "stmxcsr %0\n\tfnstcw %1" : "=m" (mxcsr_now), "=m" (x87_now) );
            if ((mxcsr_now & ~0x3fu) == mxcsr && x87_now == x87) continue;
            mistake( WRONG_CONTROL );
            __asm__ __volatile__( "ldmxcsr %0\n\tfldcw %1" : : "m" (mxcsr), "m" (x87) );
        }
        yield( worker, sometimes( worker, 64 ) );
    }
}

/* ---- nothing but calls that go home ---- */

static void use_file( struct worker *worker, HANDLE file )
{
    uint32_t out[16], in[16];
    DWORD size;
    int i;

    for (i = 0; i < 16; i++) out[i] = next_random( &worker->random );
    SetFilePointer( file, 0, NULL, FILE_BEGIN );
    if (!WriteFile( file, out, sizeof(out), &size, NULL ) || size != sizeof(out))
        mistake( WRONG_CALL );
    SetFilePointer( file, 0, NULL, FILE_BEGIN );
    if (!ReadFile( file, in, sizeof(in), &size, NULL ) || size != sizeof(in))
        mistake( WRONG_CALL );
    if (memcmp( in, out, sizeof(in) )) mistake( WRONG_DATA );
}

static HANDLE open_file( void )
{
    char folder[MAX_PATH], name[MAX_PATH];

    GetTempPathA( sizeof(folder), folder );
    GetTempFileNameA( folder, "ums", 0, name );
    return CreateFileA( name, GENERIC_READ | GENERIC_WRITE, 0, NULL, CREATE_ALWAYS,
                        FILE_FLAG_DELETE_ON_CLOSE, NULL );
}

static void calls_body( struct worker *worker )
{
    HANDLE mutex = CreateMutexA( NULL, FALSE, NULL ), file = open_file();

    while (!ending)
    {
        if (WaitForSingleObject( mutex, 0 ) != WAIT_OBJECT_0) mistake( WRONG_COUNT );
        yield( worker, sometimes( worker, 4 ) );
        if (!ReleaseMutex( mutex )) mistake( WRONG_THREAD );
        use_file( worker, file );
        if (sometimes( worker, 4 )) SleepEx( 0, TRUE );
    }
    CloseHandle( file );
    CloseHandle( mutex );
}

/* ---- waits ---- */

static void wait_body( struct worker *worker )
{
    struct pair *pair = &pairs[worker->slot / 2];
    int me = worker->slot % 2, last;
    LONG round = 0;

    do
    {
        if (me)
        {
            /* an APC ends an alertable wait */
            while (WaitForSingleObjectEx( pair->turn[1], INFINITE, TRUE ) == WAIT_IO_COMPLETION) ;
            if (pair->ball != ++round) mistake( WRONG_COUNT );
            last = pair->last;
            if (!ReleaseSemaphore( pair->turn[0], 1, NULL )) mistake( WRONG_COUNT );
        }
        else
        {
            pair->last = last = ending;
            pair->ball = ++round;
            if (!ReleaseSemaphore( pair->turn[1], 1, NULL )) mistake( WRONG_COUNT );
            if (WaitForSingleObject( pair->turn[0], INFINITE )) mistake( WRONG_CALL );
            if (sometimes( worker, 8 )) SleepEx( 0, TRUE );
        }
        yield( worker, sometimes( worker, 4 ) );
    }
    while (!last);
}

/* ---- overlapped reads and writes ---- */

struct transfer
{
    OVERLAPPED overlapped;              /* first */
    DWORD tid, size, error;
    volatile LONG completions;
};

static void CALLBACK completed( DWORD error, DWORD size, OVERLAPPED *overlapped )
{
    struct transfer *transfer = (struct transfer *)overlapped;

    if (GetCurrentThreadId() != transfer->tid) mistake( WRONG_THREAD );
    transfer->size = size;
    transfer->error = error;
    if (++transfer->completions != 1) mistake( WRONG_APC );
}

static BOOL start( HANDLE pipe, int write, char *data, DWORD size, struct transfer *transfer,
                   int apc )
{
    if (write && apc) return WriteFileEx( pipe, data, size, &transfer->overlapped, completed );
    if (apc) return ReadFileEx( pipe, data, size, &transfer->overlapped, completed );
    if (write) return WriteFile( pipe, data, size, NULL, &transfer->overlapped );
    return ReadFile( pipe, data, size, NULL, &transfer->overlapped );
}

/* One read or write, in one of three ways to wait for it. The number of bytes; 0 at the end. */
static DWORD do_transfer( struct worker *worker, HANDLE pipe, HANDLE event, int write, char *data,
                          DWORD size )
{
    struct transfer transfer = { .tid = GetCurrentThreadId() };
    int way = next_random( &worker->random ) % 3;

    if (way) transfer.overlapped.hEvent = event;
    if (!start( pipe, write, data, size, &transfer, !way ) && GetLastError() != ERROR_IO_PENDING)
    {
        if (GetLastError() != ERROR_BROKEN_PIPE) mistake( WRONG_CALL );
        return 0;
    }
    if (!way)
    {
        while (!transfer.completions) SleepEx( INFINITE, TRUE );
        if (transfer.error && transfer.error != ERROR_BROKEN_PIPE) mistake( WRONG_CALL );
        return transfer.error ? 0 : transfer.size;
    }
    if (way == 1) while (!HasOverlappedIoCompleted( &transfer.overlapped ))
        yield( worker, sometimes( worker, 2 ) );
    if (!GetOverlappedResult( pipe, &transfer.overlapped, &transfer.size, TRUE ))
    {
        if (GetLastError() != ERROR_BROKEN_PIPE) mistake( WRONG_CALL );
        return 0;
    }
    return transfer.size;
}

/* The byte at each place of the stream is known. */
static char stream( LONG64 place )
{
    return (char)(place * 131 + (place >> 8));
}

static void io_body( struct worker *worker )
{
    struct pair *pair = &pairs[worker->slot / 2];
    HANDLE pipe = pair->pipe[worker->slot % 2], event = CreateEventA( NULL, TRUE, FALSE, NULL );
    int write = worker->slot % 2 == 0;
    char data[BLOCK];
    LONG64 place = 0;
    DWORD size, i;

    for (;;)
    {
        if (write && ending) break;
        size = next_random( &worker->random ) % BLOCK + 1;
        if (write) for (i = 0; i < size; i++) data[i] = stream( place + i );
        if (!(i = do_transfer( worker, pipe, event, write, data, size ))) break;
        if (write && i != size) mistake( WRONG_COUNT );
        size = i;
        if (!write) for (i = 0; i < size; i++) if (data[i] != stream( place + i ))
        {
            mistake( WRONG_DATA );
            break;
        }
        place += size;
        yield( worker, sometimes( worker, 4 ) );
    }
    if (write)
    {
        if (!ending) mistake( WRONG_CALL );
        pair->written = place;
    }
    else if (pair->written != place) mistake( WRONG_COUNT );
    CloseHandle( pipe );
    CloseHandle( event );
}

/* ---- a stack that grows ---- */

static __attribute__((noinline)) uint32_t grow( struct worker *worker, int depth )
{
    volatile uint32_t page[PAGE / 4];
    uint32_t mark = next_random( &worker->random ), sum;
    int i;

    for (i = PAGE / 4 - 1; i >= 0; i -= 64) page[i] = mark + i;
    if (sometimes( worker, 16 )) yield( worker, sometimes( worker, 2 ) );
    sum = mark + (depth ? grow( worker, depth - 1 ) : 0);
    for (i = PAGE / 4 - 1; i >= 0; i -= 64) if (page[i] != mark + i) mistake( WRONG_DATA );
    return sum;
}

/* Wine commits stacks whole. Here all but the top is committed again by faults, as on Windows. */
static __attribute__((noinline)) void shrink_stack( void )
{
    char *teb, *bottom, *limit = (char *)(((ULONG_PTR)&teb - 4 * PAGE) & ~(ULONG_PTR)(PAGE - 1));
    DWORD old;

    __asm__ __volatile__( "movq %%gs:0x30,%0" : "=r" (teb) );
    bottom = *(char **)(teb + 0x1478);                  /* DeallocationStack */
    VirtualFree( bottom, limit - bottom, MEM_DECOMMIT );
    VirtualAlloc( limit - PAGE, PAGE, MEM_COMMIT, PAGE_READWRITE );
    VirtualProtect( limit - PAGE, PAGE, PAGE_READWRITE | PAGE_GUARD, &old );
    ((NT_TIB *)teb)->StackLimit = limit;
}

/* After some rounds it leaves its place to a new one. */
static void stack_body( struct worker *worker )
{
    int i;

    for (i = 0; i < 50; i++)
    {
        shrink_stack();
        yield( worker, sometimes( worker, 2 ) );
        grow( worker, DEPTH );
    }
    if (!ending && !spawn_worker( worker->slot, worker->storm )) mistake( WRONG_CALL );
}

DWORD WINAPI storm_body( void *arg )
{
    static void (*const bodies[STORMS])( struct worker * ) =
        { switch_body, hook_body, local_body, clock_body, calls_body, home_body, wait_body, io_body,
          stack_body };
    struct worker *worker = arg;

    bodies[worker->storm]( worker );
    return 0;
}
