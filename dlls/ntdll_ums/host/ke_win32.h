/*
 * Declarations for the Windows side of ntdll_ums beyond ke.h.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_KE_WIN32_H
#define UMS_KE_WIN32_H

#include <windows.h>
#include <winternl.h>
#include <stdint.h>
#include "umsnt.h"
#include "private/nttypes.h"

struct ke_sleeper;
struct ums_context;
struct ums_scheduler;

/* ThreadBasicInformation of NtQueryInformationThread, which mingw-w64 leaves out [sdk] */
struct thread_basic_info
{
    NTSTATUS  status;
    void     *teb;                              /* NULL until the thread has run, on Wine */
    HANDLE    pid, tid;
    ULONG_PTR affinity;
    LONG      priority, base_priority;
};

/* Reserve a word in the TEB of every thread. Returns its offset; the word is zero in all threads. 0: there
   is none. Call it once for each. */
enum teb_word { TEB_CONTEXT, TEB_HAND };
uint32_t ums_teb_word( enum teb_word which );

int ke_init( const char **why );                /* 0: the host does not fit, *why says why */
const char *ke_park_name( void );
const char *ke_no_futex( void );                /* NULL, or why ke_wait is no futex */
extern const OBJECT_ATTRIBUTES ke_plain_object; /* for events of our own: never local */
int ke_parks_outside( void );                   /* ke_wait makes no NT call */

/* ke_sleeper.c. Before and after RtlWaitOnAddress; ends does not return if the thread was told to end meanwhile. */
struct ke_sleeper *ke_sleep_begins( _Atomic uint32_t *word );
void ke_sleep_ends( struct ke_sleeper *sleeper );
/* If the thread sleeps in RtlWaitOnAddress, tell it to end itself, because it must not be terminated there. It stands still, or is a
   worker that is not executed. thread: a handle with which it can be waited for and resumed; it is resumed until it is not suspended
   any more. 1: it has ended, with this status. 0: it does not sleep like this, or has not ended in time; it may run, unless it is
   suspended by another thread. Enters the kernel. */
int ke_end_sleeper( uint32_t tid, void *thread, uint32_t status );

/* probe.c: NULL, or why workers cannot be carried here; with if_faster also why they should not be. Once,
   when the hook knows how to make calls and before anybody runs under UMS. */
const char *ke_probe_carry( int if_faster );

/* The user part that switch_x86_64.S draws; w->sp points at it. */
struct ke_user_part
{
    M128A    xmm6_15[10];
    uint32_t mxcsr;
    uint16_t control_word, pad;
    uint64_t r15, r14, r13, r12, rdi, rsi, rbx, rbp, rip;
};
_Static_assert( sizeof(struct ke_user_part) == 0xf0, "switch_x86_64.S" );

/* mitigations.c. NULL, or what keeps UMS from working in this process; once, at start. Does the
   process have shadow stacks, as far as Windows says? */
const char *ums_forbidden( void );
int ums_shadow_stacks( void );

/* ke_carry.c */
uint32_t ke_scheduler_tid( struct ums_scheduler *s );         /* 0: it is no thread's */
int ke_is_our_memory( ULONG_PTR address );      /* of this DLL, or a copy of a stub */
/* The same for a thread that stands still there; also 1 if it makes a Linux call of ours. */
int ke_is_our_code( ULONG_PTR rip, ULONG_PTR rsp );
int ke_is_user_code( uint64_t rip );            /* Windows memory, and not ours */
int ke_is_asleep( const CONTEXT *context );     /* a thread that was stopped there is in ke_wait, or
                                                   in a Unix call of its program */

/* ke_unwind.c. The registers of a thread that stands still are those of our code, or of the host's that ours has called: those with which
   the thread goes on when it has left both. */
struct ke_unwound
{
    CONTEXT   context;                          /* if frames is not 0 */
    uintptr_t returns;                          /* it leaves a call that came through the hook, with that stack pointer; or 0 */
    int       frames;                           /* of ours */
};
void ke_unwind_start( void );                   /* once */
void ke_unwind( const CONTEXT *registers, struct ke_unwound *out );

void ke_fault_start( void );                    /* ke_fault.c; once */

/* ke_alerts.c, for alerts by thread id. An alert of the program's is noted before the host's call is made; take: was one noted since the
   last take? is_noted: the same, and it stays. Any thread. Between enter and leave the calls about alerts that this thread makes are the shim's. */
void ke_alert_note( uint32_t tid );
int ke_alert_take( uint32_t tid );
int ke_alert_is_noted( uint32_t tid );
void ke_alerts_enter( void );
void ke_alerts_leave( void );
int ke_alerts_are_ours( void );

/* ke_spin.c */
void ke_spin_start( void );                     /* once */
/* Is this where the host has, or waits for, a spin lock? A thread that stands still there must not stay: others may spin until it has
   released the lock. It may never leave, so whoever waits for that has a limit. Any thread, in a signal handler as well. */
int ke_may_spin( uint64_t rip );

/* ke_exception.c; once, where the host is Linux. 0: its handlers are not known, nothing is changed. */
int ke_exceptions_start( void );
int ke_exceptions_seen( void );                 /* is it in place? */

/* ke_context.c; thread: a handle of the worker's. The registers that context's flags ask for, of a
   worker that is held where it stands still (HOLD_STILL: what is unwound must not be a stack that is
   in use); context already holds those of its home thread. */
void ke_worker_context( struct ums_context *w, void *thread, CONTEXT *context );
/* Set the registers that context's flags name. The worker must stand still, be off its carrier, and not be
   executable. context is a copy of given, which is the program's, and has an XSTATE behind it if the flags say so. */
ums_status ke_set_worker_context( struct ums_context *w, void *thread, const CONTEXT *context, const CONTEXT *given );

/* Get all registers of a worker that is parked or was preempted, and that cannot be executed. */
void ke_kept_registers( const struct ums_context *w, CONTEXT *context );
void ke_keep_registers( struct ums_context *w, CONTEXT *all );

/* On the worker's thread, when it is executed for the first time: was it sent elsewhere, then this does not return. */
void ke_go_where_sent( struct ums_context *w );

/* From assembly, when registers are kept for the end of a call: another call begins; one with that result returns. */
void ke_call_begins( struct ums_context *w, uintptr_t returns );
uint64_t ke_call_over( uint64_t result, uintptr_t returns );

/* ke_xstate.c: what lies behind a CONTEXT with CONTEXT_XSTATE, of a worker whose registers are kept; of others, nothing.
   The contexts are the program's memory. */
int  ke_has_xstate( const CONTEXT *context );
void ke_get_xstate( void *thread, CONTEXT *context );
void ke_get_kept_xstate( const struct ums_context *w, CONTEXT *context );
void ke_set_kept_xstate( struct ums_context *w, const CONTEXT *context );

/* ke_signal.c: once, when the host is known */
void ke_signal_start( void );
int ke_guards_threads( void );                  /* does it, and the warden? */

/* ke_warden.c. Once, behind ke_signal_start. */
void ke_warden_start( void );
/* The context's thread has been ended by this process; before anybody can see that the context is free. */
void ke_thread_ended( struct ums_context *context );

/* Another process has done something to the thread of a worker; for its signal handler, which can make
   no call itself. */
enum ke_question
{
    KE_PARKED,                                  /* is it suspended? it sleeps in its parking place */
    KE_RUNNING,                                 /* the same of one that runs at home */
    KE_RESUMED                                  /* it goes to its list, if it was taken off */
};

enum ke_answer
{
    KE_LEAVE_IT,                                /* not suspended by others, or nobody knows */
    KE_HELD,                                    /* it is, and off its scheduler */
    KE_HELD_IN_CALL                             /* the same; its registers are no worker's now */
};

enum ke_answer ke_warden_ask( struct ums_context *w, enum ke_question question, uint64_t rip );
/* Somebody may be about to end, without a call. From a signal handler. */
void ke_warden_hurry( void );
/* The calling thread, a context's or a plain one, is about to end, or asks whether it is the last. If
   it is, the warden ends first: it must not be the last thread of the process. status: the thread's. */
void ke_warden_dismiss( struct ums_context *self, uint32_t status );
/* The calling thread, which may be the warden, is about to stand still, or goes on. */
void ke_warden_stops( uint32_t thread, int stops );

#define LINUX_SIGQUIT  3
#define LINUX_SIGUSR1  10
#define LINUX_GETTID   186
#define LINUX_FUTEX    202
#define LINUX_FUTEX_WAIT_PRIVATE 128

/* switch_x86_64.S */
int32_t ke_switch_home( struct ums_context *w,
                         void (*parked)( struct ums_context *w, void *arg ), void *arg );
void ke_preempted( void );                      /* where a suspender puts the carrier */
extern char ke_proc_returns[];                  /* where SchedulerProc returns to, and a call that it jumps into */
void ke_scheduler_stack_back( struct ums_scheduler *s );        /* called from assembly only */
_Noreturn void ke_load_preempted( struct ums_context *w, void *teb );
int32_t ke_switch_in_place( struct ums_context *w,
                            void (*parked)( struct ums_context *w, void *arg ), void *arg );
void ke_call_rbx( void );                       /* where a user part made by hand begins */
extern uint64_t ums_xsave_mask;                 /* what of the extended state is saved then */
extern uint32_t ums_gs_by_syscall;              /* GS cannot be written by wrgsbase */
/* Put another TEB into GS; where that takes a system call, one to the Linux kernel. */
void ums_set_teb( void *teb );
/* Read the GS base and write it back. 0 if the processor or the kernel does not allow it. */
int ums_try_gs( uint64_t *base );

/* ke_context.c: raises STATUS_STACK_OVERFLOW in the calling thread. */
void ums_stack_overflow( void );

/* ke_linux.c. NULL, or why no Linux calls can be made: then none must be. Looks once; first called
   while the DLL starts. */
const char *ke_find_linux( void );
/* A thread that stands still at rip, its stack pointer at rsp. The address in front of which the call
   to libc's code is that it is in, whoever has made it; 0: it is elsewhere. */
uint64_t ke_linux_caller( uint64_t rip, uint64_t rsp );
/* Is it in ums_linux_syscall, or in libc's code from there? */
int ke_in_linux_call( uint64_t rip, uint64_t rsp );

/* ke_win32.c: as ke_wait and ke_wake, whatever those are. Only where there are Linux calls; good in a
   signal handler. */
void ke_linux_wait( _Atomic uint32_t *word, uint32_t value, const int64_t *timeout );
void ke_linux_wake( _Atomic uint32_t *word, int all );

/* ke_win32.c: a thread was suspended in a place where it must not stay, and resumed. Before it may be
   suspended again, let it run: it has to come out of the signal handler in which it was stopped, and get a
   CPU. Otherwise it is stopped again where it was, however often. Sleeps 50 us, or what the system makes
   of that. */
void ke_let_advance( void );

/* linux_x86_64.S: a Linux call, past Wine. -ENOSYS where there are none. */
uint64_t ums_linux_syscall( uint64_t nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d );
extern void *ums_linux_gate;

#endif /* UMS_KE_WIN32_H */
