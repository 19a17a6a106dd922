/*
 * Calls to the Unix side that are not system calls. Wine's DLLs make them through a pointer that
 * ntdll exports, and that most modules copy when they start.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * For a worker such a call may block: resolving a name can take seconds, and the scheduler is told.
 * It cannot be made on a carrier. It uses the system-call frame of the TEB in GS, which is the
 * worker's, while the home thread may be using the same frame; and what it does with the calling
 * thread it would do with the scheduler. One call is an exception: reading the precise time needs
 * nothing of the thread. It is made where the worker is, on a carrier with the scheduler's TEB.
 *
 * For a hand of a worker factory such a call is one that may block, and needs nothing else.
 */

#include <windows.h>
#include <winternl.h>
#include <string.h>
#include "core/ums_core.h"
#include "syscalls/hook/hook.h"
#include "host/ke_win32.h"
#include "factory/factory_host.h"
#include "record/record.h"

#define MXCSR_CONTROL (~(uint32_t)0x3f)         /* without the sticky exception flags */

typedef uint64_t (WINAPI *unix_call)( uint64_t library, uint32_t code, void *args );

void *ums_unix_dispatcher;                      /* Wine's own; written before any thread can reach
                                                   the hook */

int ums_is_in_unix_call( uint64_t rip )
{
    extern char ums_unix_plain_end[];

    return rip - (uint64_t)(uintptr_t)ums_unix_plain <
           (uint64_t)((uintptr_t)ums_unix_plain_end - (uintptr_t)ums_unix_plain);
}

/* The call that may be made on a carrier. Its library and code were read when the hook was installed. */
static uint64_t local_library;
static uint32_t local_code;

/* Wine's dispatcher of Unix calls does not save the FPU control words. If a signal stops the thread
   inside the call, Wine restores the whole system-call frame, with the control words of the previous
   system call. In plain Wine the same thread made that call, most likely with the same words. Here, a
   scheduler's frame holds the words of any worker, and a worker's frame those of its last call at
   home. So the words are saved here and restored if they differ. */
static uint64_t native( uint64_t library, uint32_t code, void *args )
{
    uint32_t mxcsr, mxcsr_now;
    uint16_t x87, x87_now;
    uint64_t ret;

    __asm__ __volatile__( "stmxcsr %0\n\tfnstcw %1" : "=m" (mxcsr), "=m" (x87) );
    ret = ((unix_call)ums_unix_dispatcher)( library, code, args );
    __asm__ __volatile__( "stmxcsr %0\n\tfnstcw %1" : "=m" (mxcsr_now), "=m" (x87_now) );
    if (((mxcsr ^ mxcsr_now) & MXCSR_CONTROL) || x87 != x87_now)
        __asm__ __volatile__( "fnclex\n\tldmxcsr %0\n\tfldcw %1" : : "m" (mxcsr), "m" (x87) );
    return ret;
}

/* Called from assembly, by a worker or a scheduler. In a callback out of another call, the call is
   part of that one. */
uint64_t ums_unix_call( uint64_t library, uint32_t code, void *args )
{
    struct ums_context *self = ke_current();
    uintptr_t here = (uintptr_t)__builtin_frame_address( 0 );
    uint64_t ret;
    int entered;

    if (self->kind != CONTEXT_WORKER || ums_is_parked_thread( self, here ) ||
        ums_call_is_nested( self, here )) return native( library, code, args );
    ums_worker_give_way( self );
    if (library == local_library && code == local_code)
    {
        int carried = ums_worker_is_carried( self );

        if (carried) ums_local_begin( self );
        ret = native( library, code, args );
        if (carried) ums_local_end( self );
        ums_worker_give_way( self );
        return ret;
    }
    ums_note_call( self, WHY_UNIX_CALL );
    entered = ums_worker_enter_kernel( self );
    inside_enter( &self->inside, here, ke_stack_base() );
    ret = native( library, code, args );
    inside_leave( &self->inside );
    if (entered) ums_worker_back( self );
    return ret;
}

/* Called from assembly, by a hand of a worker factory, or by a thread in a callback of a call that was passed on (its word has
   HAND_PASSES and no hand). The hand counts as blocked if the call takes longer than the grace period, as in a system call. */
uint64_t ums_unix_hand_call( uint64_t library, uint32_t code, void *args )
{
    struct ums_hand *h = ums_hand_current();
    uint64_t ret;
    int entered;

    if (!h || (library == local_library && code == local_code)) return ums_unix_plain( library, code, args );
    entered = ums_hand_enters( h );
    ret = ums_unix_plain( library, code, args );
    if (entered) ums_hand_is_back( h );
    return ret;
}

/* From assembly, by any thread, while there may be local objects: the Unix side may set one, or wait for
   it. */
uint64_t ums_unix_look( uint64_t library, uint32_t code, void *args )
{
    struct ums_context *self = ke_current();
    uintptr_t here = (uintptr_t)__builtin_frame_address( 0 );
    int precise_time = library == local_library && code == local_code;

    if (!precise_time && !(self && self->kind == CONTEXT_WORKER && ums_is_parked_thread( self, here )))
        ums_objects_in_unix_call( args, self, here );
    if (self) return ums_unix_call( library, code, args );
    if (ums_hand_current()) return ums_unix_hand_call( library, code, args );
    return ums_unix_plain( library, code, args );
}

/* For a moment every thread calls note_call; only the call of this thread is noted. */
static uint32_t noting_thread;

static uint64_t WINAPI note_call( uint64_t library, uint32_t code, void *args )
{
    if (ke_thread_id() == noting_thread)
    {
        local_library = library;
        local_code = code;
    }
    return ((unix_call)ums_unix_dispatcher)( library, code, args );
}

/* ---- installation ---- */

/* The value is an address of Wine's Unix side, so nothing else in a module's data can be equal to it.
   Each replacement is one store: a concurrent call goes either way. */
static void replace_copies( char *base )
{
    const IMAGE_NT_HEADERS *nt = (void *)(base + ((IMAGE_DOS_HEADER *)base)->e_lfanew);
    const IMAGE_SECTION_HEADER *section = IMAGE_FIRST_SECTION( nt );
    unsigned int i;

    for (i = 0; i < nt->FileHeader.NumberOfSections; i++, section++)
    {
        void **word = (void **)(base + section->VirtualAddress);
        void **end = word + section->Misc.VirtualSize / sizeof(*word);

        if (!(section->Characteristics & IMAGE_SCN_MEM_WRITE)) continue;
        for (; word < end; word++)
            if (*word == ums_unix_dispatcher) InterlockedExchangePointer( word, ums_unix_hook );
    }
}

/* Modules that were initialized before us have their copies already. Only Wine's own modules do this. */
static void replace_all_copies( void )
{
    static const char signature[] = "Wine builtin DLL";
    const LIST_ENTRY *head, *entry;

    head = &NtCurrentTeb()->ProcessEnvironmentBlock->Ldr->InMemoryOrderModuleList;
    for (entry = head->Flink; entry != head; entry = entry->Flink)
    {
        char *base = CONTAINING_RECORD( entry, LDR_DATA_TABLE_ENTRY, InMemoryOrderLinks )->DllBase;

        if (!memcmp( base + sizeof(IMAGE_DOS_HEADER), signature, sizeof(signature) ))
            replace_copies( base );
    }
}

int ums_hook_unix_install( const char **why )
{
    HMODULE ntdll = GetModuleHandleA( "ntdll.dll" );
    LONGLONG (WINAPI *precise_time)( void ) =
        (void *)GetProcAddress( ntdll, "RtlGetSystemTimePrecise" );
    void **slot = (void **)GetProcAddress( ntdll, "__wine_unix_call_dispatcher" );

    if (ums_unix_dispatcher) return 1;          /* installed for an engine that was then given up */
    if (!slot || !*slot)
    {
        *why = "there is no dispatcher of Unix calls";
        return 0;
    }
    ums_unix_dispatcher = *slot;
    noting_thread = ke_thread_id();
    if (!ums_try_store( slot, (uint64_t)(ULONG_PTR)note_call ))
    {
        ums_unix_dispatcher = NULL;
        *why = "the pointer to the dispatcher of Unix calls cannot be written";
        return 0;
    }
    if (precise_time) precise_time();
    *slot = (void *)ums_unix_hook;
    replace_all_copies();
    return 1;
}
