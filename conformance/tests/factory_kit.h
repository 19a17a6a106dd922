/*
 * What the tests of worker factories share: a port, a factory on it, and its workers.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows are those of worker_factory.md. What its labels DOC, OBS and HDR say is an ok; GUESS, EMU
 * and RE (somebody else's implementation, a claim without a source) are unverified. Workers count,
 * the main thread checks. Every wait is bounded by WAIT_BOUND.
 */
#ifndef FACTORY_KIT_H
#define FACTORY_KIT_H

#include "../umslib.h"

#ifndef STATUS_ABANDONED_WAIT_0
#define STATUS_ABANDONED_WAIT_0      ((NTSTATUS)0x00000080)
#endif
#define STATUS_OBJECT_NAME_EXISTS    ((NTSTATUS)0x40000000)
#undef STATUS_ACCESS_VIOLATION
#define STATUS_ACCESS_VIOLATION      ((NTSTATUS)0xC0000005)
#define STATUS_OBJECT_TYPE_MISMATCH  ((NTSTATUS)0xC0000024)
#define STATUS_OBJECT_NAME_INVALID   ((NTSTATUS)0xC0000033)
#define STATUS_OBJECT_NAME_COLLISION ((NTSTATUS)0xC0000035)

#define FACTORY_WORKERS 64              /* remembered one by one; all are counted */
#define FACTORY_CLASSES 16              /* since Windows 10 1809 */

#define STATUS_IS( row, expr, expected ) \
    do \
    { \
        NTSTATUS s_ = (expr); \
        ok( s_ == (expected), row " %s: expected %08lx, got %08lx\n", #expr, (ULONG)( expected ), \
            (ULONG)s_ ); \
    } while (0)

#define UNVERIFIED_STATUS_IS( row, expr, expected ) \
    do \
    { \
        NTSTATUS s_ = (expr); \
        unverified ok( s_ == (expected), row " %s: expected %08lx, got %08lx\n", #expr, \
                       (ULONG)( expected ), (ULONG)s_ ); \
    } while (0)

typedef WORKER_FACTORY_BASIC_INFORMATION factory_info;
typedef FILE_IO_COMPLETION_INFORMATION factory_packet;

struct factory;

struct factory_worker
{
    struct factory *factory;
    int index;                          /* in order of their start */
    DWORD id;
    HANDLE thread;                      /* full access; signalled when it has ended */
    SIZE_T stack;                       /* reserved */
    void *start;                        /* the address, as its thread tells it */
    int priority;                       /* when it started */
    volatile NTSTATUS ready;            /* of NtWorkerFactoryWorkerReady */
    volatile NTSTATUS last;             /* of the wait that gave no packet */
    volatile LONG packets;
};

struct factory
{
    /* set before factory_open, or leave zero */
    void (*start)( struct factory_worker *worker );     /* before it gets ready; may be NULL */
    void (*packet)( struct factory_worker *worker, const factory_packet *packet );
    ULONG batch;                        /* packets asked for in one wait; 0: 16 */
    ULONG max;                          /* MaxThreadCount; 0: 20 */
    ULONG concurrency;                  /* of the port; 0: a hundred, so that it does not matter */
    SIZE_T reserve, commit;
    void *arg;

    HANDLE port, handle;
    HANDLE gate;                        /* manual reset, for callbacks that block */
    struct factory_worker workers[FACTORY_WORKERS];
    volatile LONG started;              /* workers that run, or did */
    volatile LONG ready;                /* ... and have said so */
    volatile LONG ended;                /* workers that left by themselves */
    volatile LONG packets;              /* taken */
    volatile LONG released;             /* ... with KeyContext 0 */
    volatile LONG handled;              /* ... whose callback has returned */
    volatile LONG running, most;        /* callbacks at a time, by factory_enter and _leave */
    volatile LONG entered;              /* callbacks that have begun */
    volatile LONG beside, first_beside; /* ... beside another one, and the number of the first of them */
    volatile LONG shut;                 /* set before a shutdown: Ready may fail from now on */
    volatile LONG bad;                  /* broken promises seen by workers */
};

/* FALSE after need() has said that the implementation lacks something. */
BOOL factory_needs( void );
/* How many arguments NtWaitForWorkViaWorkerFactory has here: 2, 4 or 5, by the version that the
   process sees. */
int factory_wait_form( void );
/* Wait for work in that form; *returned is set in each. */
NTSTATUS factory_wait( HANDLE handle, factory_packet *packets, ULONG count, ULONG *returned );

/* A port and a factory. FALSE after a failed ok. */
BOOL factory_open( struct factory *factory );
/* The start routine that factory_open gives; its argument is the struct factory. */
void NTAPI factory_start( void *factory );
/* Shut it down, wait for all workers, check that nothing bad was seen, close everything. */
void factory_close( struct factory *factory );

/* The same, and so many workers wait. */
BOOL factory_open_with( struct factory *factory, int count );
/* To its port: so many bytes, one more as the key, 0x1000 more as the overlapped. */
void factory_post( struct factory *factory, int number );

/* A bare port, and a bare factory with all rights on it; NULL after a failed ok. */
HANDLE factory_port( ULONG concurrency );
HANDLE factory_create( HANDLE port, void *start, void *param, ULONG max );

/* After a failed ok: all bits set. */
factory_info factory_query( HANDLE handle );
NTSTATUS factory_set( HANDLE handle, WORKERFACTORYINFOCLASS info_class, ULONG value );
NTSTATUS factory_set_time( HANDLE handle, WORKERFACTORYINFOCLASS info_class, LONGLONG value );
/* With exactly these rights; NULL after a failed ok. */
HANDLE factory_duplicate( HANDLE handle, ACCESS_MASK access );
ACCESS_MASK factory_access( HANDLE handle );
/* NtQueryObject */
NTSTATUS factory_query_object( HANDLE handle, ULONG info_class, void *buffer, ULONG length );

/* Any thread. Poll until *value is at least that; FALSE when the time is over. */
BOOL factory_reach( volatile LONG *value, LONG wanted );
/* Poll until so many workers wait, and there are so many (-1: any number) in all; FALSE when the
   time is over. */
BOOL factory_settle( HANDLE handle, LONG waiting, LONG total );
/* Poll until all workers that there are wait. */
BOOL factory_rest( HANDLE handle );
/* Poll until the threads of the first count workers have ended. */
BOOL factory_gone( struct factory *factory, LONG count );
/* TRUE if *value stays what it is for a while. Catches what comes too much, if it comes soon. */
BOOL factory_stays( volatile LONG *value, LONG wanted );

/* In callbacks: count who is inside. */
void factory_enter( struct factory *factory );
void factory_leave( struct factory *factory );
/* Checks that no callback began beside another one. If some did, it says how many and where that began: one alone was let go
   for a moment, all of them run with another concurrency. */
void factory_ran_singly( struct factory *factory );
/* A packet callback that waits for the gate. */
void factory_block( struct factory_worker *worker, const factory_packet *packet );

/* Pages that cannot be read, or only that. */
void *factory_no_access( void );
void *factory_read_only( void );

/* This program once more, without having run yet; ended and closed by factory_end_child. */
BOOL factory_new_child( PROCESS_INFORMATION *child );
void factory_end_child( PROCESS_INFORMATION *child );

#endif /* FACTORY_KIT_H */
