/*
 * raw: makes a Linux call of its own (getpid), and lives. Under the traps it must not: so they are
 * set.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <windows.h>
#include <stdio.h>

int main( void )
{
    long long ret = 39;
    void *fiber_data;

    __asm__( "movq %%gs:0x20,%0" : "=r" (fiber_data) );
    printf( "FiberData %p\n", fiber_data );
    fflush( stdout );
    __asm__ volatile( "syscall" : "+a" (ret) : : "rcx", "r11", "memory" );
    printf( "alive, %lld\n", ret );
    return 0;
}
