/*
 * System calls that a program makes by itself, with an instruction of its own. docs/wine.md
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Since 11.5 Wine has Linux trap such an instruction (SIGSYS), and its handler makes the NT call of
 * that number, past ntdll's stubs and past our hook. Made so on a carrier the call would be the
 * scheduler's; made so at home nobody would be told that it blocks. So a handler of ours stands in
 * front: a thread whose calls matter goes on behind the hook, as if it had come through a stub. On a
 * host without such a handler there is nothing to stand in front of.
 *
 * The handler makes no call and takes no lock. It only changes where its thread goes on.
 */

#include <windows.h>
#include "core/ums_core.h"
#include "hook.h"
#include "host/asm_offsets.h"
#include "host/ke_win32.h"
#include "host/linux_signal.h"
#include "factory/factory_host.h"

#define LINUX_SIGSYS 31

static struct linux_action wine_sys;            /* written before ours is in place */

/* Does the call matter to us? The threads of hook_x86_64.S's MATTERS, whatever the call: C decides. */
static int matters( struct call_key key )
{
    return ke_current() || ums_hand_current() || (ums_call_class[call_key_index( key )] & HOOK_ALL);
}

/*
 * The stack as a thunk has it that calls the dispatcher: the instruction behind the program's own
 * `syscall` is returned to.
 *
 *      rsp+0x00  frame->rip
 *          0x08  what was on top: the return address of the program's own stub
 *          0x10  home space
 *          0x30  argument 5 ...
 *
 * Arguments 1 to 4 are in r10, rdx, r8, r9 by the convention of the instruction. A program that steps
 * goes on stepping behind the call.
 */
static void go_to_hook( struct linux_context *frame, struct call_key key )
{
    uint64_t hook;

    frame->rsp -= 8;
    *(uint64_t *)frame->rsp = frame->rip;
    frame->rax = key.bits;
    frame->rcx = frame->rsp + 0x30;
    hook = (uint64_t)(frame->rsp & 8 ? ums_stub_frame : ums_dispatcher_frame);
    if (frame->eflags & EFLAGS_TF)
    {
        frame->eflags &= ~(uint64_t)EFLAGS_TF;
        frame->r11 = hook;
        hook = (uint64_t)ums_step_over;
    }
    frame->rip = hook;
}

/* info: a number, an error, and why; a positive reason is one of Linux' own. */
static void __attribute__((sysv_abi)) on_sys( int sig, void *info, struct linux_context *frame )
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
