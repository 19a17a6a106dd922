/*
 * instrumented: a program that sets an instrumentation callback (NtSetInformationProcess) after the shim has started.
 * Then a worker waits; another worker of the same scheduler must run meanwhile, and ends the wait.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Wine 10 keeps such a callback by replacing the dispatcher of system calls, where our hook is. Wine 8.0 has no such
 * callbacks: there this is an ordinary wait.
 */
#include "waker.h"

#define INSTRUMENTATION_CALLBACK 40             /* PROCESSINFOCLASS [seen: Wine 10] */

static LONG (NTAPI *set_process)( HANDLE, ULONG, void *, ULONG );
static LONG set_status = -1;

/* It is entered where a call returns, and r10 is its return address. */
void callback( void );
__asm__( ".globl callback\ncallback:\n\tlock incl callback_calls(%rip)\n\tjmp *%r10" );
volatile LONG callback_calls;

static LONG set_callback( void *to )
{
    struct { ULONG version, reserved; void *callback; } info = { 0, 0, to };

    return set_process( GetCurrentProcess(), INSTRUMENTATION_CALLBACK, &info, sizeof(info) );
}

static DWORD WINAPI sleeper( void *arg )
{
    (void)arg;
    set_status = set_callback( (void *)callback );
    inside = 1;
    WaitForSingleObject( event, INFINITE );
    inside = 2;
    set_callback( NULL );
    return 0;
}

int main( void )
{
    LONG host_status;

    set_process = (void *)GetProcAddress( GetModuleHandleA( "ntdll.dll" ), "NtSetInformationProcess" );
    event = CreateEventA( NULL, FALSE, FALSE, NULL );
    host_status = set_callback( (void *)callback );     /* without the shim; Wine has it from 10.0 on [seen] */
    set_callback( NULL );
    load_shim();
    run_round( sleeper, NULL, waker, give_up );
    end_round();
    ok( set_status == host_status, "status %lx, without the shim %lx", set_status, host_status );
    printf( "status %lx, %ld calls of the callback\n", set_status, callback_calls );
    return test_end();
}
