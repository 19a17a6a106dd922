/*
 * The model of what the core must do, for one actor at a time.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include "../ke_fake.h"

#define MODELS 10
#define LISTS  4
#define SLOTS  2

#define NO_UPCALL 99                            /* reason: none is to come */

enum model_state
{
    NOTHING,                                    /* no thread */
    QUEUED,
    READY,
    EXECUTED,                                   /* by slot */
    BLOCKED,                                    /* at its gate */
    STOPPED,                                    /* suspended while it ran */
    DEAD_QUEUED,
    DEAD
};

struct model
{
    int index;
    struct ums_context *context;                /* NULL: never made, or the slot is another's now */
    struct fake_worker worker;
    int alive;                                  /* the handle is valid */
    _Atomic int state;                          /* enum model_state */
    int terminated;                             /* what IsTerminated says */
    int suspended;
    int self_suspended;
    int list;                                   /* where it is queued next */
    _Atomic int slot;
    int joined;
    uint64_t user;
    _Atomic int gate;
    struct model *next;                         /* on its list */
};

/* One of the two threads, and the upcall that it must get next. */
struct slot
{
    pthread_t thread;
    int started;
    _Atomic int gone;
    int list;                                   /* when it is a scheduler */
    uint32_t reason;
    uintptr_t payload;
    void *param;
};

/* Says what is wrong, and aborts. */
void fuzz_expect( int fine, const char *what, long long a, long long b );

void model_reset( void );
struct model *model_at( int index );
struct model *model_free( void );               /* to be made anew; NULL: none */
void model_new( struct model *m, struct ums_context *context );
void model_forget( const struct ums_context *context );     /* an old handle is valid again, as another's */
void model_born( struct model *m, int list );

int  model_free_list( void );                   /* -1: none */
void model_list_new( int index, struct ums_list *list );
void model_list_deleted( int index );
void model_list_forget( int index );
int  model_list_alive( int index );             /* no such list: 0 */
int  some_list_of( int index, void **handle );  /* dead or alive; -1: never made */
struct model *model_take( int list );           /* in the order of a chain */

void model_arrives( struct model *m );          /* at its list, which may be deleted */
void model_executed( struct model *m, int slot, int list );
void model_yields( struct model *m, struct slot *s, void *param );
void model_blocks( struct model *m, struct slot *s, uintptr_t payload );
void model_stopped( struct model *m, struct slot *s );
void model_ends( struct model *m, struct slot *s );

/* core.c: the bytes, the baton, the gates. */
extern const uint8_t *fuzz_bytes, *fuzz_bytes_end;
extern int fuzz_finishing;
extern _Atomic int fuzz_baton;
extern struct slot fuzz_slots[SLOTS];
unsigned int fuzz_take( unsigned int below );
void fuzz_wait_queued( struct model *m, int deleted );
void fuzz_open_gate( struct model *m );
void fuzz_worker_body( void *arg );

/* calls.c */
void *some_context( struct model **m );
int some_list( void **handle );
void call_delete_context( void *handle, struct model *m );
void call_delete_list( int list, void *handle );
void call_dequeue( int list, void *handle );
void call_release( struct model *m );
void call_resume( struct model *m );
int common_call( unsigned int what );
int fuzz_more( void );

int LLVMFuzzerTestOneInput( const uint8_t *data, size_t size );

#endif /* TESTS_FUZZ_H */
