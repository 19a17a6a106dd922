/*
 * Process mitigations of Windows, which may forbid code that is made at run time, return addresses that
 * do not match the shadow stack, and calls to addresses where no function begins.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * This was never run on a real Windows, and Wine has no mitigations. The tests replace the host's
 * answers (tests/win11).
 *
 * Control Flow Guard needs nothing from us: the pages that we make executable are valid targets of
 * guarded calls as a whole, because that is how VirtualAlloc and VirtualProtect mark them if not told
 * otherwise [doc], and so is a DLL that was linked without it.
 */

#include <windows.h>
#include "ke_win32.h"
#include "private/trace.h"

/* PROCESS_MITIGATION_POLICY [doc]; each policy is a DWORD of flags. */
enum policy { POLICY_DYNAMIC_CODE = 2, POLICY_CFG = 7, POLICY_SHADOW_STACK = 15 };

#define DYNAMIC_CODE_PROHIBITED    0x01
#define CFG_ENABLED                0x01
#define CFG_EXPORTS_SUPPRESSED     0x02
#define SHADOW_STACK_ENABLED       0x01
#define SHADOW_STACK_STRICT        0x10

/* 0 if there is no such policy. */
static DWORD policy_flags( enum policy policy )
{
    BOOL (WINAPI *get)( HANDLE, int, void *, SIZE_T ) =
        (void *)GetProcAddress( GetModuleHandleA( "kernel32.dll" ), "GetProcessMitigationPolicy" );
    DWORD flags = 0;

    return get && get( GetCurrentProcess(), policy, &flags, sizeof(flags) ) ? flags : 0;
}

/* With shadow stacks a return must match its call. The frames that an Execute drops never return, so their
   entries stay on the shadow stack, and the return from EnterUmsSchedulingMode does not match. If the
   policy is not "strict", Windows allows this in DLLs that were not built for shadow stacks, as ours. */
int ums_shadow_stacks( void )
{
    return (policy_flags( POLICY_SHADOW_STACK ) & SHADOW_STACK_ENABLED) != 0;
}

/* NULL, or what keeps UMS from working here at all. */
const char *ums_forbidden( void )
{
    DWORD cfg = policy_flags( POLICY_CFG );

    if (policy_flags( POLICY_DYNAMIC_CODE ) & DYNAMIC_CODE_PROHIBITED)
        return "the process may not make code (Arbitrary Code Guard); please turn that off for "
               "this program in Windows' exploit protection";
    if (ums_shadow_stacks() && (policy_flags( POLICY_SHADOW_STACK ) & SHADOW_STACK_STRICT))
        return "the process has strict shadow stacks; please turn \"hardware-enforced stack "
               "protection\" for all modules off for this program in Windows' exploit protection";
    if (cfg & CFG_ENABLED)
        ums_info( "Control Flow Guard is on%s; never tried on a real Windows",
                  cfg & CFG_EXPORTS_SUPPRESSED ? ", exports are suppressed" : "" );
    return NULL;
}
