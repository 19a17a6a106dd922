/*
 * The entry hook: every system call of the process that matters to UMS passes here first.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Two hooks give the same struct ums_call to the same C code: hook_dispatcher.c replaces the
 * pointer through which every thunk of Wine enters the Unix side, and sees all calls by number;
 * hook_stubs.c patches the ntdll stubs of the calls listed in hook_calls.c, which is the only way
 * on Windows.
 */
#ifndef UMS_HOOK_H
#define UMS_HOOK_H

#include "call_key.h"
#include "handle_kinds.h"
#include "native.h"
#include "host/access.h"
#include "private/nttypes.h"

struct ums_context;

/* One system call as it was found at the hook. Lives on the caller's stack. */
struct ums_call
{
    struct call_key key;
    uint64_t  args[4];
    uint64_t *stack;                            /* argument 5 and on, in the caller's frame */
    uintptr_t sp;                               /* the hook's frame */
};

/* How a call is treated. The table says why, row by row. At home the first two are the same:
   nothing has to be told to anybody. */
enum call_class
{
    CALL_LOCAL,                                 /* may be made on the carrier, as the scheduler */
    CALL_QUICK,                                 /* answered at once or never returns; at home */
    CALL_MAY_BLOCK,                             /* the default for unknown calls */
    CALL_WAIT,
    CALL_SPECIAL                                /* its handler does it, for all threads */
};

struct call_row
{
    const char *name;
    uint8_t cls;                                /* enum call_class */
    int8_t  timeout;                            /* WAIT: index of the LARGE_INTEGER *timeout; -1:
                                                   none */
    int8_t  alertable;                          /* WAIT: index of the alertable flag; -1: never */
    uint8_t try_zero;                           /* WAIT: trying with a zero time-out first
                                                   changes nothing */
    int (*local_if)( const struct ums_call *call );           /* LOCAL: only then; NULL: always */
    uint64_t (*handler)( const struct call_row *row, struct ums_call *call,
                         struct ums_context *self );
    int (*handler_if)( const struct ums_call *call );         /* only then; NULL: always */
    const char *reason;
    int (*here)( const struct call_row *row, struct ums_call *call, struct ums_context *self,
                 uint64_t *ret );               /* where ums_waits_here: for all threads if it is
                                                   LOCAL; 1: this was it, 0: as its class wants */
    uint8_t makes;                              /* enum object_kind: what its first argument then
                                                   points at a handle of */
    uint8_t closes;                             /* enum call_closes */
};

enum call_closes
{
    CLOSES_NOTHING,
    CLOSES_FIRST,                               /* NtClose: the handle that is its first argument */
    CLOSES_SECOND                               /* NtDuplicateObject: perhaps that; and makes one */
};

extern const struct call_row ums_call_rows[];
extern const unsigned int ums_call_row_count;

/* The row of a call, ums_default_row if it has none. */
extern const struct call_row ums_default_row;
const struct call_row *ums_call_row( const struct ums_call *call );

/* All arguments in one array. How many a call has is not known, so as many as any has are copied. */
#define UMS_MAX_ARGS 20
void ums_call_args( const struct ums_call *call, uint64_t *args );

/* WAIT: would it return at once, because it has a time-out of zero? */
int ums_wait_is_poll( const struct call_row *row, const uint64_t *args );

/* Somebody may have put another dispatcher in our place: put the hook before it. */
void ums_hook_dispatcher_again( void );

/* See where APCs begin: 0 if this ntdll's entry for them is not known, or cannot be written; then the
   APCs of a worker run when they come, beside its scheduler. When the hook is installed. */
int ums_hook_apc_install( void );

/* Is any listed call made by a system-call stub of a known kind? */
int ums_hook_stubs_known( void );

/* Two hooks, in two steps each: find out whether it fits, after which ums_call_native works; and
   install it, when the engine is known. Nothing is changed on failure; *why says in a few words
   what does not fit. */
int ums_hook_dispatcher_find( const char **why );
int ums_hook_dispatcher_install( const char **why );
int ums_hook_stubs_find( const char **why );
int ums_hook_stubs_install( const char **why );

/* Calls that are no system calls; the same, in one step. Without it nobody can be carried, and
   workers that are handed off block their schedulers in such calls. */
int ums_hook_unix_install( const char **why );

/* HOOK_* of a row. */
uint8_t ums_hook_class( const struct call_row *row );

/* hook.c, called from assembly: do the call as its class wants, return what goes to rax. */
uint64_t ums_hook_call( struct ums_call *call );
/* Make the call for real, with these arguments: args[0..3] and the stack ones, of which count
   are handed on. */
uint64_t ums_call_native( const struct ums_call *call, const uint64_t *args );

/* Is a worker's call, whose frame is here, made inside another call of its own? */
int ums_call_is_nested( struct ums_context *self, uintptr_t here );
/* Nobody comes to the end of the call that this worker's thread is in: it is over. It may return on a
   carrier. */
void ums_abandon_call( struct ums_context *self );
/* Is this stack pointer of the home thread itself, while its worker is away? */
int ums_is_parked_thread( const struct ums_context *self, uintptr_t sp );

/* Around a call that a carried worker makes on its carrier, as the scheduler. */
void ums_local_begin( struct ums_context *self );
void ums_local_end( struct ums_context *self );

/* hook.c, called from assembly: where an APC of this thread begins. */
void ums_apc_begins( void );

/* Read the arguments of a WAIT, and make the call if that cannot block: with its own time-out of zero,
   or as a try. 1: *ret is its result. 0: it has to be made, and will block. worker: NULL, or the
   calling thread's, which goes home first. */
int ums_wait_try( const struct call_row *row, const struct ums_call *call, uint64_t *args,
                  struct ums_context *worker, uint64_t *ret );
/* A wait of a worker, as its row says. */
uint64_t ums_call_wait( const struct call_row *row, const struct ums_call *call,
                        struct ums_context *self );

/* without the kernel, hook_alerts.c */
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
/* Around the close of a handle whose entry was before; now: the table says that it is being closed. */
void ums_object_closing( uint64_t now, uint64_t before, struct ums_context *self, uintptr_t sp );
void ums_object_closed( uint64_t now, uint64_t before, struct ums_context *self, uintptr_t sp );
/* Before the caller ends all other threads of the process, and behind that. */
void ums_objects_last_thread( int begins );
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

/* handlers, hook_handles.c. Does the call name a handle that the table of handles knows? */
int ums_is_handle_of_ours( const struct ums_call *call );
uint64_t ums_special_close( const struct call_row *row, struct ums_call *call,
                            struct ums_context *self );
/* NtClose of what has a kind, by a worker that is in no other call; carried, it stays so if it can. 1:
   this was it. */
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

/* hook_hands.c: a call that is not special, by a hand that is no UMS worker. */
struct ums_hand;
uint64_t ums_hand_call( struct ums_hand *h, const struct call_row *row, struct ums_call *call );

/* These registers are, or will be, its thread's own. */
void ums_note_breakpoints( struct ums_context *w, const void *context );
/* The id of a thread of this process, or 0. The scheduler or live worker behind a handle, or NULL.
   Both enter the kernel. */
uint32_t ums_thread_id( void *thread );
struct ums_context *ums_context_of_handle( void *thread, struct ums_context *self );

/* hook_sigsys.c: once, when the hook is in place */
void ums_hook_sigsys_install( void );

/* ---- hook_x86_64.S ---- */

extern uint8_t  ums_call_class[];               /* HOOK_* by call_key_index; written before the hook
                                                   is installed */
extern void    *ums_dispatcher;                 /* Wine's own */
extern void    *ums_unix_dispatcher;            /* Wine's own, for Unix calls */
extern void     ums_unix_hook( void );
extern uint64_t ums_unix_plain( uint64_t library, uint32_t code, void *args );
extern void    *ums_stub_native[];              /* private copies of the stubs, by row */
extern void     ums_dispatcher_hook( void );
extern void     ums_apc_hook( void );           /* in place of ntdll's KiUserApcDispatcher */
extern void    *ums_apc_go_on;                  /* what that was: a copy of its beginning */
extern void     ums_stub_hook( void );          /* entered from an island with the row in eax */
/* Behind the hooks, when the call is for C. */
extern void     ums_dispatcher_frame( void );
extern void     ums_stub_frame( void );
extern void     ums_dispatcher_look( void );
extern void     ums_stub_look( void );
/* In place of the function in r11: that one without the trap flag, which is set on return. */
extern void     ums_step_over( void );
uint64_t ums_call_dispatcher( uint64_t nr, const uint64_t *args );
uint64_t ums_call_stub( void *stub, const uint64_t *args );

#endif /* UMS_HOOK_H */
