/*
 * The dispatcher hook: Wine's system-call thunks enter the Unix side through one pointer.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The pointer is in a page of its own at 0x7ffe1000. VirtualQuery does not report that page, but it
 * is writable. One store replaces the pointer. The next call of each thread uses the new one, so
 * the hook sees every NT and win32u call of the process.
 */

#define UMS_CHANNEL LOG_CHANNEL_hook

#include <windows.h>
#include <string.h>
#include "core/wait.h"
#include "syscalls/hook/hook.h"
#include "syscalls/objects/hook_objects.h"
#include "host/asm_offsets.h"
#include "record/record.h"
#include "private/trace.h"

#define DISPATCHER_SLOT ((void **)(ULONG_PTR)0x7ffe1000)

/* mov r10,rcx; mov eax,nr */
static const unsigned char thunk_head[4] = { 0x4c, 0x8b, 0xd1, 0xb8 };
static const unsigned char thunk_test[8] = { 0xf6, 0x04, 0x25, 0x08, 0x03, 0xfe, 0x7f, 0x01 };
static const unsigned char thunk_call[7] = { 0xff, 0x14, 0x25, 0x00, 0x10, 0xfe, 0x7f };

static int is_thunk( const unsigned char *code )
{
    return !memcmp( code, thunk_head, sizeof(thunk_head) ) && !memcmp( code + 8, thunk_test,
                                                                       sizeof(thunk_test) ) &&
           !memcmp( code + 0x18, thunk_call, sizeof(thunk_call) );
}

uint8_t ums_hook_class( const struct call_row *row )
{
    if (row->handler || row->makes || (call_is_here( row ) && (ums_alerts_kept || (row->here_flags & HERE_FOR_ALL))))
        return HOOK_ALL;
    if (ums_recording && row->cls == CALL_WAIT) return HOOK_WORKERS | HOOK_SCHEDULERS;
    switch (row->cls)
    {
    case CALL_LOCAL:
    case CALL_QUICK:   return HOOK_CARRIED;
    default:           return HOOK_WORKERS;
    }
}

int ums_hook_dispatcher_find( const char **why )
{
    HMODULE ntdll = GetModuleHandleA( "ntdll.dll" );
    unsigned int i, known = 0;
    uint64_t dispatcher;

    memset( ums_call_class, HOOK_WORKERS, CALL_NUMBERS );
    for (i = 0; i < ums_call_row_count; i++)
    {
        const unsigned char *code = (void *)GetProcAddress( ntdll, ums_call_rows[i].name );
        unsigned int nr;

        if (!code) continue;                    /* this host's version does not have the call */
        if (!is_thunk( code ))
        {
            *why = "ntdll's system-call thunks have another shape";
            return 0;
        }
        nr = code[4] | code[5] << 8;
        if (code[6] || code[7] || nr >= CALL_NUMBERS)
        {
            *why = "system-call numbers are out of range";
            return 0;
        }
        known++;
        call_key_learn( nr, i );
        ums_call_class[nr] = ums_hook_class( &ums_call_rows[i] );
        if (ums_objects_on && ums_object_creates( nr )) ums_call_class[nr] |= HOOK_LOOK;
    }
    if (!ums_try_load( DISPATCHER_SLOT, &dispatcher ) || !dispatcher)
    {
        *why = "there is no dispatcher at 0x7ffe1000";
        return 0;
    }
    ums_dispatcher = (void *)dispatcher;        /* before the hook can be entered */
    ums_trace( "dispatcher %p; %u of %u listed calls have a number", ums_dispatcher, known,
               ums_call_row_count );
    return 1;
}

/* Threads that are in a call see the change at their next call. Rows that the stub hook adds later (win32u)
   are added with this flag. */
void ums_hook_look_at_all( void )
{
    uint32_t i, count = call_keys_by_row() ? STUB_ROWS : CALL_NUMBERS;

    for (i = 0; i < count; i++)
    {
        struct call_key key = call_keys_by_row() ? call_key_of_row( i ) : call_key_of_number( i );

        if (call_keys_by_row() && !ums_stub_native[i]) continue;
        if (ums_object_call_kind( call_key_number( key ) ) != CALL_HARMLESS)
            ums_call_class[i] |= HOOK_LOOK;
    }
}

int ums_hook_dispatcher_install( const char **why )
{
    if (!ums_try_store( DISPATCHER_SLOT, (uint64_t)(ULONG_PTR)ums_dispatcher_hook ))
    {
        *why = "the dispatcher's pointer cannot be written";
        return 0;
    }
    return 1;
}

void ums_hook_dispatcher_again( void )
{
    void *now = *DISPATCHER_SLOT;

    if (call_keys_by_row() || now == (void *)ums_dispatcher_hook) return;
    ums_dispatcher = now;
    *DISPATCHER_SLOT = (void *)ums_dispatcher_hook;
}
