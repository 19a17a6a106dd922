/*
 * The traps of newer hosts, put on any Wine: a library for LD_PRELOAD. TRAPS names them:
 *
 *   filter   no Linux call from below 0x700000000000, where Windows memory is, as Proton does: who
 *            makes one is killed
 *   dispatch Syscall User Dispatch, as Wine 11 has it: a call from anywhere but libc, and what was
 *            loaded before Wine's own libraries, is a SIGSYS, which nobody handles here
 *   nt       with dispatch: such a call is made the NT call of its number, by a handler of SIGSYS, as
 *            Wine 11 does it
 *   fiber    TEB.FiberData of a plain thread is 0x1e00
 *   nogate   libc has no "syscall; ret" any more
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Wine sets GS in each thread with a call of libc's syscall(), before the first Windows code runs
 * there: that call tells the TEB, and that this is a process of Wine. Nothing else is looked at.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define ARCH_SET_GS      0x1001
#define WINDOWS_END_HIGH 0x7000                 /* of an address: bits 32 to 63 */
#define TEB_SELF         0x30
#define TEB_FIBER_DATA   0x20
#define DISPATCHER       ((void **)0x7ffe1000) /* where Wine's stubs find it */

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_ON 1
#endif

static long (*libc_syscall)( long, ... );
static const char *traps;
static char selector = 1;                       /* block */

static void give_up( const char *what )
{
    fprintf( stderr, "traps: %s does not work here\n", what );
    _exit( 99 );
}

static void begin_filter( void )
{
    struct sock_filter code[] =
    {
        BPF_STMT( BPF_LD | BPF_W | BPF_ABS, offsetof( struct seccomp_data, instruction_pointer ) + 4 ),
        BPF_JUMP( BPF_JMP | BPF_JGE | BPF_K, WINDOWS_END_HIGH, 0, 1 ),
        BPF_STMT( BPF_RET | BPF_K, SECCOMP_RET_ALLOW ),
        BPF_STMT( BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS ),
    };
    struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

    if (prctl( PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0 ) ||
        prctl( PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0 )) give_up( "filter" );
}

static int find_lowest( struct dl_phdr_info *info, size_t size, void *arg )
{
    uint64_t *lowest = arg;

    (void)size;
    if ((strstr( info->dlpi_name, "/libc.so.6" ) || strstr( info->dlpi_name, "/ld-linux" )) &&
        info->dlpi_addr < *lowest) *lowest = info->dlpi_addr;
    return 0;
}

/* ---- nt ---- */

static void *dispatcher;                        /* Wine's own: written before the first program runs */

/* The dispatcher takes the return address off the stack and subtracts 0xb: that leads from behind a
   stub's call of it to behind the `syscall` before. */
static void on_sys( int sig, siginfo_t *info, void *context )
{
    greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

    (void)sig; (void)info;
    regs[REG_RSP] -= 8;
    *(uint64_t *)regs[REG_RSP] = regs[REG_RIP] + 0xb;
    regs[REG_RIP] = (greg_t)(uintptr_t)dispatcher;
}

static void begin_nt( void )
{
    struct sigaction action = { .sa_sigaction = on_sys, .sa_flags = SA_SIGINFO | SA_ONSTACK };

    if (!(dispatcher = *DISPATCHER)) give_up( "nt" );
    sigaddset( &action.sa_mask, SIGUSR1 );
    sigaddset( &action.sa_mask, SIGQUIT );
    if (sigaction( SIGSYS, &action, NULL )) give_up( "nt" );
}

/* The loader of Linux, and the kernel's own page, lie above libc: they make calls as well. */
static void begin_dispatch( void )
{
    uint64_t from = UINT64_MAX;

    dl_iterate_phdr( find_lowest, &from );
    if (prctl( PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, from, (1ull << 47) - from,
               &selector )) give_up( "dispatch" );
}

static void take_gate( const char *name )
{
    static const unsigned char gate[3] = { 0x0f, 0x05, 0xc3 }, none[4] = { 0x0f, 0x05, 0x90, 0xc3 };
    unsigned char *code = dlsym( RTLD_NEXT, name ), *at;
    void *page = (void *)((uintptr_t)code & ~0xfffull);

    if (!code || !(at = memmem( code, 32, gate, sizeof(gate) ))) give_up( "nogate" );
    if (mprotect( page, 0x2000, PROT_READ | PROT_WRITE | PROT_EXEC )) give_up( "nogate" );
    memcpy( at, none, sizeof(none) );           /* what is behind a function's end is padding */
    mprotect( page, 0x2000, PROT_READ | PROT_EXEC );
}

static void begin_process( void )
{
    static const char *const plain[] = { "getppid", "getpid", "getuid", "geteuid", "getgid" };
    static int begun;
    unsigned int i;

    if (begun++) return;
    if (strstr( traps, "nogate" ))
        for (i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) take_gate( plain[i] );
    if (strstr( traps, "filter" )) begin_filter();
    if (strstr( traps, "nt" )) begin_nt();
}

static void begin_thread( char *teb )
{
    if (!traps && !(traps = getenv( "TRAPS" ))) return;
    if (*(void **)(teb + TEB_SELF) != teb) return;
    begin_process();
    if (strstr( traps, "fiber" )) *(uint64_t *)(teb + TEB_FIBER_DATA) = 0x1e00;
    if (strstr( traps, "dispatch" )) begin_dispatch();
}

long syscall( long nr, ... )
{
    uint64_t arg[6];
    va_list args;
    long ret;
    int i;

    va_start( args, nr );
    for (i = 0; i < 6; i++) arg[i] = va_arg( args, uint64_t );
    va_end( args );
    if (!libc_syscall) libc_syscall = dlsym( RTLD_NEXT, "syscall" );
    ret = libc_syscall( nr, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5] );
    if (nr == SYS_arch_prctl && arg[0] == ARCH_SET_GS && !ret) begin_thread( (char *)arg[1] );
    return ret;
}
