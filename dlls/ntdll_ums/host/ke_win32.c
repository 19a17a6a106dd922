/*
 * ke.h on Wine and Windows.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The hosts differ in how a thread sleeps on a word. It is a raw futex where the host is Wine on
 * Linux and a trial of it succeeds. Elsewhere it is RtlWaitOnAddress (Windows 8 and later; Wine has
 * it too, so UMS_PARK=address tests under Wine what Windows gets).
 */

#include <windows.h>
#include <winternl.h>
#include "core/ums_core.h"
#include "ke_own.h"
#include "ke_win32.h"
#include "syscalls/hook/native.h"
#define UMS_CHANNEL LOG_CHANNEL_worker
#include "private/trace.h"

#define FUTEX_WAKE_PRIVATE 129
#define LINUX_EAGAIN       11

#define MOMENT 500                              /* 100 ns: 50 us */

NTSTATUS NTAPI NtSetEvent( HANDLE, LONG * );
NTSTATUS NTAPI NtDuplicateObject( HANDLE, HANDLE, HANDLE, HANDLE *, ACCESS_MASK, ULONG, ULONG );
NTSTATUS NTAPI NtCreateEvent( HANDLE *, ACCESS_MASK, const OBJECT_ATTRIBUTES *, ULONG, BOOLEAN );
NTSTATUS NTAPI NtAllocateVirtualMemory( HANDLE, void **, ULONG_PTR, SIZE_T *, ULONG, ULONG );

/* Functions of ntdll that Windows 7 does not have. Written once, at start. */
static NTSTATUS (NTAPI *wait_on_address)( const void *, const void *, SIZE_T,
                                          const LARGE_INTEGER * );
static void (NTAPI *wake_address_all)( const void * );
static void (NTAPI *wake_address_single)( const void * );
static int use_futex;
static const char *no_futex = "nobody has asked";

/* ---- memory ---- */

/* From the top: the low addresses belong to the program. All reservations together are some 300 MB. From below they would
   cover 0x10000000, where many DLLs want to be, and those without relocations cannot be anywhere else. */
void *ke_reserve( size_t size )
{
    return VirtualAlloc( NULL, size, MEM_RESERVE | MEM_TOP_DOWN, PAGE_READWRITE );
}

int ke_commit( void *addr, size_t size )
{
    SIZE_T len = size;

    return !NtAllocateVirtualMemory( GetCurrentProcess(), &addr, 0, &len, MEM_COMMIT,
                                     PAGE_READWRITE );
}

/* ---- sleeping on a word ---- */

void ke_linux_wait( _Atomic uint32_t *word, uint32_t value, const int64_t *timeout )
{
    struct { int64_t sec, nsec; } spec;

    if (timeout)
    {
        spec.sec  = *timeout / 10000000;
        spec.nsec = *timeout % 10000000 * 100;
    }
    ums_linux_syscall( LINUX_FUTEX, (uint64_t)word, LINUX_FUTEX_WAIT_PRIVATE, value,
                       timeout ? (uint64_t)&spec : 0 );
}

/* RtlWaitOnAddress makes a system call, which the hook must ignore: the worker that parks here may be
   executed, and be RUNNING, before its thread sleeps. A worker that waits here for something else is not parked. */
static void address_wait( _Atomic uint32_t *word, uint32_t value, const int64_t *timeout )
{
    struct ums_context *self = ke_current();
    struct ke_sleeper *sleeper;
    struct ums_inside inside = { 0 };
    LARGE_INTEGER rel;

    if (timeout) rel.QuadPart = -*timeout;
    if (self) inside = inside_sleep( &self->inside );
    sleeper = ke_sleep_begins( word );
    ke_alerts_enter();
    wait_on_address( (const void *)word, &value, sizeof(value), timeout ? &rel : NULL );
    ke_alerts_leave();
    ke_sleep_ends( sleeper );
    if (self) inside_wake( &self->inside, inside );
}

void ke_wait( _Atomic uint32_t *word, uint32_t value, const int64_t *timeout )
{
    if (use_futex) ke_linux_wait( word, value, timeout );
    else address_wait( word, value, timeout );
}

/* Is the thread in the futex call, or right before or after it? Its arguments are those of
   ums_linux_syscall. Or is it a hand in a Unix call: the hand is counted, and nothing else is going
   on. */
int ke_is_asleep( const CONTEXT *context )
{

    if (ums_is_in_unix_call( context->Rip )) return 1;
    return use_futex && ke_in_linux_call( context->Rip, context->Rsp ) &&
           context->Rsi == LINUX_FUTEX_WAIT_PRIVATE;
}

void ke_linux_wake( _Atomic uint32_t *word, int all )
{
    ums_linux_syscall( LINUX_FUTEX, (uint64_t)word, FUTEX_WAKE_PRIVATE, all ? INT32_MAX : 1, 0 );
}

void ke_wake( _Atomic uint32_t *word, int all )
{
    if (use_futex)
    {
        ke_linux_wake( word, all );
        return;
    }
    ke_alerts_enter();
    if (all) wake_address_all( (const void *)word );
    else wake_address_single( (const void *)word );
    ke_alerts_leave();
}

/* NULL, or why Linux calls do not work here. This makes some calls and checks their results. */
static const char *try_linux( void )
{
    _Atomic uint32_t word = 1;
    const char *why;
    int64_t result;

    if ((why = ke_find_linux())) return why;
    result = (int64_t)ums_linux_syscall( LINUX_FUTEX, (uint64_t)&word, LINUX_FUTEX_WAIT_PRIVATE, 0, 0 );
    return result == -LINUX_EAGAIN &&
           ums_linux_syscall( LINUX_FUTEX, (uint64_t)&word, FUTEX_WAKE_PRIVATE, 1, 0 ) == 0
           ? NULL : "a trial of it went wrong";
}

static int address_works( void )
{
    HMODULE ntdll = GetModuleHandleA( "ntdll.dll" );

    wait_on_address = (void *)GetProcAddress( ntdll, "RtlWaitOnAddress" );
    wake_address_all = (void *)GetProcAddress( ntdll, "RtlWakeAddressAll" );
    wake_address_single = (void *)GetProcAddress( ntdll, "RtlWakeAddressSingle" );
    return wait_on_address && wake_address_all && wake_address_single;
}

int64_t ke_clock( void )
{
    static LARGE_INTEGER frequency;             /* every thread stores the same value */
    LARGE_INTEGER now;

    if (!frequency.QuadPart) QueryPerformanceFrequency( &frequency );
    QueryPerformanceCounter( &now );
    if (frequency.QuadPart == 10000000) return now.QuadPart;
    return (int64_t)((double)now.QuadPart * 1e7 / (double)frequency.QuadPart);
}

void ke_let_advance( void )
{
    static _Atomic uint32_t never;
    const int64_t moment = MOMENT;

    ke_wait( &never, 0, &moment );
}

void ke_gave_up( const char *awaited )
{
    ums_err( "gave up after waiting too long for %s; the program may hang or fail from here on, "
             "please report this", awaited );
}

/* ---- events ---- */

/* Objects created with these attributes are never local objects: the hook compares the address. */
const OBJECT_ATTRIBUTES ke_plain_object = { .Length = sizeof(ke_plain_object) };

ums_status ke_event_create( void **event )
{
    return NtCreateEvent( event, EVENT_ALL_ACCESS, &ke_plain_object, 1 /* SynchronizationEvent */, FALSE );
}

void ke_event_set( void *event )
{
    NtSetEvent( event, NULL );
}

void ke_event_close( void *event )
{
    NtClose( event );
}

ums_status ke_event_duplicate( void *event, void **copy )
{
    return NtDuplicateObject( GetCurrentProcess(), event, GetCurrentProcess(), copy, 0, 0,
                              DUPLICATE_SAME_ACCESS );
}

/* ---- this thread ---- */

void ke_set_current( struct ums_context *context )
{
    __writegsqword( ums_tls_offset, (uint64_t)context );
}

void *ke_teb( void )
{
    return NtCurrentTeb();
}

uint32_t ke_thread_id( void )
{
    return GetCurrentThreadId();
}

uintptr_t ke_stack_base( void )
{
    return (uintptr_t)((NT_TIB *)NtCurrentTeb())->StackBase;
}

/* Nobody else resumes the worker's thread, and its scheduler waits for it. So if the system is out of
   memory, this tries again until it gets a handle. On Wine a handle is an entry in the wineserver's
   table: no file is opened for it, there or here, so it does not matter if all files are in use. */
void ke_resume_thread( const struct ums_context *w, uint32_t tid )
{
    HANDLE thread;
    DWORD error;

    while (!(thread = OpenThread( THREAD_SUSPEND_RESUME, FALSE, tid )))
    {
        error = GetLastError();
        if (error == ERROR_INVALID_PARAMETER || error == ERROR_ACCESS_DENIED) return;
        SwitchToThread();
    }
    ums_resume_worker( thread, w, NULL );
    CloseHandle( thread );
}

void ke_end_thread( uint32_t status )
{
    for (;;) TerminateThread( GetCurrentThread(), status );
}

/* If a program has taken all TLS slots of the TEB before UMS starts, this uses the two words for the
   register backing store of Itanium, which no x86-64 system uses [seen, phnt and Wine; Windows on Arm64
   uses the first for something else]. In new threads both are zero. */
uint32_t ums_teb_word( enum teb_word which )
{
    static const uint32_t spare[] = { [TEB_CONTEXT] = 0x1790, [TEB_HAND] = 0x1788 };
    DWORD slot = TlsAlloc();

    if (slot < TLS_MINIMUM_AVAILABLE) return 0x1480 + slot * 8;         /* TEB.TlsSlots */
    if (slot != TLS_OUT_OF_INDEXES) TlsFree( slot );
    return __readgsqword( spare[which] ) ? 0 : spare[which];
}

/* The context lives in a word of the TEB itself, so that the hook finds it with one load in any
   thread. */
int ke_init( const char **why )
{
    if (!(ums_tls_offset = ums_teb_word( TEB_CONTEXT )))
    {
        *why = "no free TLS slot among the first 64";
        return 0;
    }
    if (!(no_futex = try_linux()))
    {
        ke_exceptions_start();
        if (ums_setting( SETTING_PARK )) no_futex = "UMS_PARK asks for another";
    }
    use_futex = !no_futex;
    ke_unwind_start();
    ke_fault_start();
    ke_spin_start();
    if (use_futex || address_works()) return 1;
    *why = "there is no way to sleep on a word: Windows before 8 has its own UMS";
    return 0;
}

int ke_parks_outside( void )
{
    return use_futex;
}

const char *ke_park_name( void )
{
    return use_futex ? "futex" : "address";
}

const char *ke_no_futex( void )
{
    return no_futex;
}
