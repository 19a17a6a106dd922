/*
 * The entry hook: every system call of the process that matters to UMS passes here first.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Two hooks pass the same struct ums_call to the same C code. hook_dispatcher.c replaces the
 * pointer through which every thunk of Wine enters the Unix side, and sees all calls by number.
 * hook_stubs.c patches the ntdll stubs of the calls listed in call_table.c. On Windows it is the
 * only way.
 */
#ifndef UMS_HOOK_H
#define UMS_HOOK_H

#include "syscalls/hook/call_key.h"
#include "syscalls/handles/handle_kinds.h"
#include "syscalls/hook/native.h"
#include "host/access.h"
#include "core/wait.h"
#include "private/nttypes.h"

struct ums_context;

/* One system call as the hook found it. Lives on the caller's stack. */
struct ums_call
{
    struct call_key key;
    uint64_t  args[4];
    uint64_t *stack;                            /* argument 5 and up, in the caller's frame */
    uintptr_t sp;                               /* the hook's frame */
};

/* How a call is treated. The table gives the reason in each row. On the home thread the first two
   classes are the same: the scheduler is not told. */
enum call_class
{
    CALL_LOCAL,                                 /* may be made on the carrier, as the scheduler */
    CALL_QUICK,                                 /* returns at once or never; made at home */
    CALL_MAY_BLOCK,                             /* the default for unknown calls */
    CALL_WAIT,
    CALL_SPECIAL                                /* has a handler, which is called for all threads */
};

struct call_row
{
    const char *name;
    uint8_t cls;                                /* enum call_class */
    int8_t  timeout;                            /* WAIT: index of the LARGE_INTEGER *timeout; -1:
                                                   none */
    int8_t  alertable;                          /* WAIT: index of the alertable flag; -1: never */
    uint8_t try_zero;                           /* WAIT: an unsuccessful try with a zero time-out
                                                   has no effect */
    int (*local_if)( const struct ums_call *call );           /* on the carrier only if it returns 1; NULL: if it is LOCAL */
    uint64_t (*handler)( const struct call_row *row, struct ums_call *call,
                         struct ums_context *self );
    int (*handler_if)( const struct ums_call *call );         /* only if it returns 1; NULL: always */
    const char *reason;
    int (*here)( const struct call_row *row, struct ums_call *call, struct ums_context *self,
                 uint64_t *ret );               /* called if call_is_here; 1: *ret is the result, 0: go
                                                   by the class */
    uint8_t makes;                              /* enum object_kind: on success the first argument
                                                   points at a handle of this kind */
    uint8_t closes;                             /* enum call_closes */
    uint8_t here_flags;                         /* HERE_* */
};

#define HERE_FOR_ALL 1                          /* `here` is called for all threads, not for workers alone */
#define HERE_ALERTS  2                          /* `here` is called if ums_alerts_kept, too, and then for all threads */

enum call_closes
{
    CLOSES_NOTHING,
    CLOSES_FIRST,                               /* NtClose: the handle in its first argument */
    CLOSES_SECOND                               /* NtDuplicateObject: may close the handle in its
                                                   second argument; makes one */
};

/* A thread of this process has had a token of its own, or may have (hook_special.c). It stays set. */
extern _Atomic uint32_t ums_impersonated;

/* Threads that sleep in the shim take the host's alerts, so those of the program are kept (hook_alerts.c). Never together with
   ums_waits_here. Written at start. */
extern int ums_alerts_kept;

static inline int call_is_here( const struct call_row *row )
{
    return row->here && (ums_waits_here || (ums_alerts_kept && (row->here_flags & HERE_ALERTS)));
}

extern const struct call_row ums_call_rows[];
extern const unsigned int ums_call_row_count;

/* The row of a call, ums_default_row if it has none. */
extern const struct call_row ums_default_row;
const struct call_row *ums_call_row( const struct ums_call *call );

/* Copy all arguments into one array. The number of arguments of a call is not known, so this copies
   as many as any call has. */
#define UMS_MAX_ARGS 20
void ums_call_args( const struct ums_call *call, uint64_t *args );

/* WAIT: does the call return at once, because its time-out is zero? */
int ums_wait_is_poll( const struct call_row *row, const uint64_t *args );

/* Another dispatcher may have replaced our hook: install the hook in front of it. */
void ums_hook_dispatcher_again( void );

/* Hook the place where APCs begin. Called when the hook is installed. Returns 0 if the entry for APCs
   in this ntdll is of an unknown kind or cannot be written. In this case the APCs of a worker run as
   soon as they arrive, concurrently with its scheduler. */
int ums_hook_apc_install( void );

/* Does any listed call have a system-call stub of a known kind? */
int ums_hook_stubs_known( void );

/* Each hook has two steps. "find" checks whether the hook fits; after it, ums_call_native works.
   "install" needs to know the engine. They return 0 on failure, and then nothing is changed and
   *why says in a few words what does not fit. */
int ums_hook_dispatcher_find( const char **why );
int ums_hook_dispatcher_install( const char **why );
int ums_hook_stubs_find( const char **why );
int ums_hook_stubs_install( const char **why );

/* The same, in one step, for calls to the Unix side that are not system calls. Without this hook no
   worker can be carried, and a worker that is handed off blocks its scheduler in such calls. */
int ums_hook_unix_install( const char **why );

/* HOOK_* of a row. */
uint8_t ums_hook_class( const struct call_row *row );

/* hook.c, called from assembly: treat the call as its class says; returns the value for rax. */
uint64_t ums_hook_call( struct ums_call *call );
/* Make the call past the hook, with args[0..UMS_MAX_ARGS - 1]; NULL: with the call's own arguments. */
uint64_t ums_call_native( const struct ums_call *call, const uint64_t *args );

/* here: the stack pointer of a call of this worker. Is the call made inside another call of the same
   worker, for example in a callback? */
int ums_call_is_nested( struct ums_context *self, uintptr_t here );
/* The call that this worker's thread is in never reaches its end: count it as over. The worker may go
   on on a carrier. */
void ums_abandon_call( struct ums_context *self );
/* Does this stack pointer belong to the home thread's own code, which runs while its worker is away? */
int ums_is_parked_thread( const struct ums_context *self, uintptr_t sp );

/* Before and after a call that a carried worker makes on its carrier, as the scheduler. */
void ums_local_begin( struct ums_context *self );
void ums_local_end( struct ums_context *self );

/* hook.c, called from assembly: an APC of this thread begins. */
void ums_apc_begins( void );

/* Read the arguments of a WAIT into args, and make the call if it cannot block: with its own time-out
   of zero, or as a try. 1: *ret is its result. 0: the caller has to make it, and it will block.
   worker: NULL, or the worker of the calling thread; it goes home first. */
int ums_wait_try( const struct call_row *row, const struct ums_call *call, uint64_t *args,
                  struct ums_context *worker, uint64_t *ret );
/* A worker makes a WAIT, as its row says. */
uint64_t ums_call_wait( const struct call_row *row, const struct ums_call *call,
                        struct ums_context *self );

/* A call by its class, of a thread for which `here` has nothing to say. */
uint64_t ums_call_by_class( const struct call_row *row, struct ums_call *call,
                            struct ums_context *self );

/* hook_alerts.c. Has the program given the alert that this call waits for? Asked behind the last sleep for the shim before the wait in
   the host, which must not be made then: the host's alert may be gone. */
int ums_alert_was_kept( const struct call_row *row );
/* hook_alerts.c, hook_keyed.c: values of call_row.here */
int ums_here_wait_for_key( const struct call_row *row, struct ums_call *call,
                           struct ums_context *self, uint64_t *ret );
int ums_here_release_key( const struct call_row *row, struct ums_call *call,
                          struct ums_context *self, uint64_t *ret );
int ums_here_wait_for_alert( const struct call_row *row, struct ums_call *call,
                             struct ums_context *self, uint64_t *ret );
int ums_here_alert( const struct call_row *row, struct ums_call *call, struct ums_context *self,
                    uint64_t *ret );
int ums_here_alert_many( const struct call_row *row, struct ums_call *call,
                         struct ums_context *self, uint64_t *ret );
int ums_here_delay( const struct call_row *row, struct ums_call *call, struct ums_context *self,
                    uint64_t *ret );

enum how_long { NOT_AT_ALL, UNTIL, FOR_EVER, NOBODY_KNOWS };
/* 100 ns, to the host: negative: from now on; else since 1601. deadline: as ke_clock. self: a worker that
   is in no call, or NULL. */
enum how_long ums_read_timeout( uint64_t pointer, struct ums_context *self, int64_t *deadline );
/* 0: it is just started, and a worker waits at home until it runs. */
int ums_has_timer( struct ums_context *self, const struct ums_call *call );

/* local objects, hook_objects.c: 1: the call is answered. The second from assembly */
int ums_object_call( struct ums_call *call, struct ums_context *self, uint64_t *ret );
int ums_object_look( struct ums_call *call, uint64_t *ret );
/* Does this call, by the system's number, make one? And has it to be looked at by now? */
int ums_object_creates( uint32_t nr );
int ums_object_looks( uint32_t nr );
/* The first of them is made: from now on calls of all threads are looked at. */
void ums_hook_look_at_all( void );
/* Before the hook is found. 0: memory is short. */
int ums_objects_start( void );
/* Is this the handle of a local object? Takes no lock. */
int ums_object_is_local( HANDLE handle );
/* Around the close of a handle whose entry was before; now: the table says that it is being closed. */
void ums_object_closing( uint64_t now, uint64_t before, struct ums_context *self, uintptr_t sp );
void ums_object_closed( uint64_t now, uint64_t before, struct ums_context *self, uintptr_t sp );
/* Before the caller ends all other threads of the process, and behind that. */
void ums_objects_last_thread( int begins );
/* Called by a thread that is about to end itself. */
void ums_object_thread_ends( struct ums_context *self, uintptr_t sp );
/* Does somebody wait for this thread at the moment, because it makes an owned mutant real, or is a keeper? */
int ums_is_in_transfer( uint32_t tid );
/* Does a keeper own any mutant? Takes no lock. If so: has the process no other threads than those, and
   the calling one? */
int ums_any_kept( void );
int ums_only_keepers_are_left( void );
/* Called by a thread that may be the last one: the keeper in spare ends (mutant_keeper.c). */
void ums_keeper_dismiss( const struct ums_context *self );
/* hook_objects_real.c: before a call that is no system call */
void ums_objects_in_unix_call( void *args, struct ums_context *self, uintptr_t sp );

/* hook_unix.c, called from assembly */
uint64_t ums_unix_look( uint64_t library, uint32_t code, void *args );
uint64_t ums_unix_call( uint64_t library, uint32_t code, void *args );
uint64_t ums_unix_hand_call( uint64_t library, uint32_t code, void *args );

/* handlers, hook_special.c */
uint64_t ums_special_terminate_thread( const struct call_row *row, struct ums_call *call,
                                       struct ums_context *self );
uint64_t ums_special_terminate_process( const struct call_row *row, struct ums_call *call,
                                        struct ums_context *self );
uint64_t ums_special_suspend( const struct call_row *row, struct ums_call *call,
                              struct ums_context *self );
uint64_t ums_special_resume( const struct call_row *row, struct ums_call *call,
                             struct ums_context *self );
uint64_t ums_special_queue_apc( const struct call_row *row, struct ums_call *call, struct ums_context *self );
uint64_t ums_special_query_thread( const struct call_row *row, struct ums_call *call,
                                   struct ums_context *self );
uint64_t ums_special_set_thread( const struct call_row *row, struct ums_call *call,
                                 struct ums_context *self );
uint64_t ums_special_set_process( const struct call_row *row, struct ums_call *call,
                                  struct ums_context *self );
uint64_t ums_special_create_process( const struct call_row *row, struct ums_call *call,
                                     struct ums_context *self );
uint64_t ums_special_continue( const struct call_row *row, struct ums_call *call,
                               struct ums_context *self );
uint64_t ums_special_get_context( const struct call_row *row, struct ums_call *call,
                                  struct ums_context *self );
uint64_t ums_special_set_context( const struct call_row *row, struct ums_call *call,
                                  struct ums_context *self );

/* handlers, hook_handles.c. Does the call name a handle of a worker factory or a port? */
int ums_is_handle_of_ours( const struct ums_call *call );
uint64_t ums_special_close( const struct call_row *row, struct ums_call *call,
                            struct ums_context *self );
/* NtClose of a handle whose kind is known, by a worker that is in no other call. A carried worker
   stays on its carrier if the kind allows it. 1: *ret is the result. */
int ums_close_known( enum object_kind kind, struct ums_call *call, struct ums_context *self,
                     uint64_t *ret );
uint64_t ums_special_duplicate( const struct call_row *row, struct ums_call *call,
                                struct ums_context *self );
uint64_t ums_special_query_object( const struct call_row *row, struct ums_call *call,
                                   struct ums_context *self );
uint64_t ums_special_section( const struct call_row *row, struct ums_call *call,
                              struct ums_context *self );
uint64_t ums_special_create_port( const struct call_row *row, struct ums_call *call,
                                  struct ums_context *self );

/* hook_hands.c: a call whose class is not SPECIAL, by a hand that is not a worker. */
struct ums_hand;
/* A call of the program, made by a thread that is no worker: it may be terminated in it (args: as in ums_call_native). An APC
   ends such a call. */
uint64_t ums_pass_on( const struct ums_call *call, const uint64_t *args );
void ums_passed_call_is_over( struct ums_context *self );
uint64_t ums_hand_call( struct ums_hand *h, const struct call_row *row, struct ums_call *call );

/* context: the registers of the thread of w, or those that it will get. Note whether breakpoints are
   set in them. */
void ums_note_breakpoints( struct ums_context *w, const void *context );
/* The id of a thread, 0 if it does not belong to this process; the scheduler or live worker of a
   thread, NULL if it is neither. Both enter the kernel. *tid: that id. Pass it on with the context, which may be
   another thread's by the time: while the program has the handle open, no other thread has the id. */
uint32_t ums_thread_id( void *thread, struct ums_context *self );
struct ums_context *ums_context_of_handle( void *thread, struct ums_context *self, uint32_t *tid );

/* hook_sigsys.c: once, when the hook is in place */
void ums_hook_sigsys_install( void );

/* ---- hook_x86_64.S ---- */

extern uint8_t  ums_call_class[];               /* HOOK_*, indexed by call_key_index; written before
                                                   the hook is installed */
extern void    *ums_dispatcher;                 /* Wine's own */
extern void    *ums_unix_dispatcher;            /* Wine's own, for Unix calls */
extern void     ums_unix_hook( void );
extern uint64_t ums_unix_plain( uint64_t library, uint32_t code, void *args );
extern void    *ums_stub_native[];              /* private copies of the stubs, by row */
extern void     ums_dispatcher_hook( void );
extern void     ums_apc_hook( void );           /* in place of ntdll's KiUserApcDispatcher */
extern void    *ums_apc_go_on;                  /* a copy of its first instructions */
extern void     ums_stub_hook( void );          /* entered from an island with the row in eax */
/* Entered from the hooks when C code has to see the call. */
extern void     ums_dispatcher_frame( void );
extern void     ums_stub_frame( void );
/* In these two, before and behind the call of ums_hook_call, nothing is to be done that others wait for. */
extern void     ums_dispatcher_look( void );
extern void     ums_stub_look( void );
/* Entered behind a program's own `syscall`, whose address is in r11; the step version with the trap flag to be set again. */
extern void     ums_own_call( void );
extern void     ums_own_call_step( void );
/* Entered in place of the function in r11: calls it with the trap flag clear, and sets the flag on
   return. */
extern void     ums_step_over( void );
/* RtlDequeueUmsCompletionListItems, which is in a layer above this one: another function that a debugger
   steps over. Written by main.c before the hook is installed. */
extern void    *ums_dequeue_door;
uint64_t ums_call_dispatcher( uint64_t nr, const uint64_t *args );
uint64_t ums_call_stub( void *stub, const uint64_t *args );

#endif /* UMS_HOOK_H */
