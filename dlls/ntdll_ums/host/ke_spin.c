/*
 * Where the host's own code has a spin lock.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Wine's RtlWaitOnAddress, and the calls that wake, have a lock for each queue of waiters, and spin until they get it [seen: Wine 8.0
 * and 10.0]. SRW locks, condition variables and critical sections use them. A worker that was stopped with that lock and is off its
 * scheduler needs a scheduler to release it. If each scheduler has a worker that spins for it, none is ever executed again. On Windows
 * nobody spins there, and a worker may be stopped anywhere [guess]. So here it is let go on, as in a section of our own: the section
 * is some hundred instructions, enters no kernel, and calls nothing; but for a wake-up of more than 255 waiters at once, which makes
 * calls with the lock.
 *
 * A thread that spins for the lock looks the same. So it is let go on as well, for a limited time: whoever has the lock may be gone.
 */

#include <windows.h>
#include "ke_win32.h"

static const char *const names[] = { "RtlWaitOnAddress", "RtlWakeAddressSingle", "RtlWakeAddressAll" };

static struct
{
    uint64_t begin, length;
} code[ARRAYSIZE( names )];                     /* written before the hook is in place, whose handlers and signals are the
                                                   only readers; length 0: nothing is known */

/* At start, because RtlLookupFunctionEntry takes a lock. A host that splits a function has the rest elsewhere: what is there is not found. */
void ke_spin_start( void )
{
    HMODULE ntdll = GetModuleHandleA( "ntdll.dll" );
    const RUNTIME_FUNCTION *function;
    DWORD64 base, address;
    size_t i;

    for (i = 0; i < ARRAYSIZE( names ); i++)
    {
        if (!(address = (DWORD64)(ULONG_PTR)GetProcAddress( ntdll, names[i] )) ||
            !(function = RtlLookupFunctionEntry( address, &base, NULL ))) continue;
        code[i].begin  = base + function->BeginAddress;
        code[i].length = function->EndAddress - function->BeginAddress;
    }
}

int ke_may_spin( uint64_t rip )
{
    size_t i;

    for (i = 0; i < ARRAYSIZE( names ); i++)
        if (rip - code[i].begin < code[i].length) return 1;
    return 0;
}
