/*
 * System calls that a program makes with its own `syscall` instruction. docs/wine.md
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Since Wine 11.5 Linux traps such an instruction (SIGSYS), and Wine's handler makes the NT call of
 * that number. That call bypasses ntdll's stubs and our hook: on a carrier it would be the
 * scheduler's call, and at home the scheduler would not learn that it blocks. So our handler runs
 * before Wine's: a thread whose calls matter continues behind the hook, as if it had come through a
 * stub. A host without a handler of its own gets none of ours.
 *
 * The handler makes no call and takes no lock. It only changes where its thread continues.
 */

#include <windows.h>
#include "core/ums_core.h"
#include "syscalls/hook/hook.h"
#include "host/asm_offsets.h"
#include "host/ke_win32.h"
#include "host/linux_signal.h"
#include "factory/factory_host.h"

#define LINUX_SIGSYS 31

static struct linux_action wine_sys;            /* written before ours is in place */

/* Does the call matter to us? For the threads that MATTERS in hook_x86_64.S selects, each call
   does; C decides about it. */
static int matters( struct call_key key )
{
    return ke_current() || ums_hand_current() || (ums_call_class[call_key_index( key )] & HOOK_ALL);
}

/* The thread goes on in user mode with what a stub would do (hook_x86_64.S). Nothing is written to its stack here: the
   next word may be the first of a page that was never used, which only the thread itself can get. r11 is free, as behind
   each `syscall`. A program that steps goes on stepping behind the call. */
static void go_to_hook( struct linux_context *frame, struct call_key key )
{
    frame->rax = key.bits;
    frame->r11 = frame->rip;
    frame->rip = (uint64_t)(frame->eflags & EFLAGS_TF ? ums_own_call_step : ums_own_call);
    frame->eflags &= ~(uint64_t)EFLAGS_TF;
}

/* info: a number, an error, and why; a positive reason is one of Linux' own. */
static void on_sys( int sig, void *info, struct linux_context *frame )
{
    struct call_key key = CALL_KEY_NONE;

    if (((const int *)info)[2] > 0) key = call_key_numbered( (uint32_t)frame->rax );
    if (!call_key_is_none( key ) && matters( key )) go_to_hook( frame, key );
    else linux_signal_call( &wine_sys, sig, info, frame );
}

void ums_hook_sigsys_install( void )
{
    if (ke_find_linux() || !linux_signal_get( LINUX_SIGSYS, &wine_sys )) return;
    linux_signal_put( LINUX_SIGSYS, on_sys, &wine_sys );
}
