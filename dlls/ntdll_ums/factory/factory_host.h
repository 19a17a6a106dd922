/*
 * Worker factories under Wine and Windows: handles and threads.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_FACTORY_HOST_H
#define UMS_FACTORY_HOST_H

#include <windows.h>
#include <winternl.h>
#include "factory.h"
#include "workerfactory.h"

#define FACTORY_VALID_ACCESS 0x000f00ff         /* [seen] */
#define FACTORY_BATCH 64                        /* maximum number of packets that one wait returns */

/* ---- factory_handle.c ---- */

int ums_handles_init( void );
/* Get a reference to the factory behind a handle that grants this access, or an error. Enters the kernel
   for a handle that another process has put into this one. */
NTSTATUS ums_factory_of_handle( HANDLE handle, ACCESS_MASK access, struct ums_factory **f );
/* Make a copy of any handle, with the same access. The copy is one of the shim's own handles. */
NTSTATUS ums_handle_copy( HANDLE handle, HANDLE *copy, ACCESS_MASK *access );
/* Ask the host which factory a handle belongs to: a reference, or NULL. */
struct ums_factory *ums_factory_of_object( HANDLE handle );
/* Map generic rights, and drop those that factories do not have. */
ACCESS_MASK ums_factory_access( ACCESS_MASK access );
/* Note a new handle of a factory. 0: the last handle has been closed already. */
int ums_handle_is_factory( HANDLE handle, struct ums_factory *f, ACCESS_MASK access );
/* Note a new handle of the shim's own; close one. */
void ums_handle_own( HANDLE handle );
void ums_handle_close_own( HANDLE handle );
/* The concurrency with which a port was made; 0: unknown */
uint32_t ums_handle_concurrency( HANDLE port );
/* Manager only: if this process has no handle of the factory, check whether others still have one. */
void ums_factory_look_abroad( struct ums_factory *f );

int ums_is_this_process( HANDLE process );

/* ---- for the entry hook ---- */

enum handle_kind
{
    ENTRY_NONE,
    ENTRY_FACTORY,
    ENTRY_PORT,
    ENTRY_OWN,                                  /* the shim's own: invalid for the program */
    ENTRY_CLOSING,
    ENTRY_OBJECT                                /* a local object's: core/objects.h */
};

/* The entry of a handle in the table; below, what it says. */
uint64_t ums_handle_entry( HANDLE handle );
enum handle_kind ums_entry_kind( uint64_t entry );
struct ums_factory *ums_entry_factory( uint64_t entry );
uint32_t ums_entry_value( uint64_t entry );
/* Called before NtClose: sets the entry to "is being closed" and returns it; *before is what it was.
   Returns 0 if the handle has no entry. */
uint64_t ums_handle_closing( HANDLE handle, uint64_t *before );
void ums_handle_closed( HANDLE handle, uint64_t now, uint64_t before, NTSTATUS status );
/* handle is a copy of what has this entry. It has the access that it was really given. */
void ums_handle_copied( HANDLE handle, uint64_t entry );
/* A new local object's; its index. 0: memory is short. */
int ums_handle_is_object( HANDLE handle, uint32_t index );
/* A new port with that concurrency. */
void ums_handle_is_port( HANDLE handle, uint32_t concurrency );

/* ---- factory_foreign.c ---- */

enum ums_foreign { FOREIGN_RELEASE, FOREIGN_SET, FOREIGN_SHUTDOWN, FOREIGN_QUERY,
                   FOREIGN_WAIT };

/* Make the section that stands for a factory in the host; write into it what other processes need.
   The second returns 0 if memory is short. */
NTSTATUS ums_factory_object( const OBJECT_ATTRIBUTES *attributes, HANDLE *object );
int ums_factory_show( struct ums_factory *f, HANDLE object );
/* Does this section stand for a factory that this process has made? */
int ums_factory_was_shown( HANDLE object );
/* Make the call in the process that has made the factory, and wait for it. STATUS_OBJECT_TYPE_MISMATCH:
   the handle is not a factory's. */
NTSTATUS ums_factory_foreign( HANDLE handle, ACCESS_MASK access, enum ums_foreign what,
                              ULONG info_class, uint64_t *value,
                              WORKER_FACTORY_BASIC_INFORMATION *info );
NTSTATUS ums_factory_foreign_wait( HANDLE handle, struct ums_packet *packets, uint32_t count,
                                   uint32_t *n );

/* ---- factory_nt.c ---- */

void ums_factory_fill( struct ums_factory *f, WORKER_FACTORY_BASIC_INFORMATION *info );
/* Set a value. If it asks for threads, they exist when this returns. */
NTSTATUS ums_factory_set_and_wait( struct ums_factory *f, ULONG info_class, uint64_t value );
/* Wait with the calling thread. The factory need not have made it. */
NTSTATUS ums_factory_wait( struct ums_factory *f, struct ums_packet *packets, uint32_t count,
                           uint32_t *n );

/* ---- factory_threads.c ---- */

/* A word of the TEB: the thread's hand, or NULL, and HAND_PASSES (ums_pass_on). Only the thread itself writes it, and
   only whoever has stopped that thread reads it from outside. */
extern uint32_t ums_hand_offset;                /* access_x86_64.S; 0 before the first factory */

#define HAND_PASSES ((uint64_t)1)

/* That of the calling thread; one load. */
static inline uint64_t ums_hand_word( void )
{
    uint64_t word, offset = ums_hand_offset;

    if (!offset) return 0;
    __asm__ volatile( "movq %%gs:(%1), %0" : "=r" (word) : "r" (offset) );
    return word;
}

/* The calling thread's hand, or NULL. */
static inline struct ums_hand *ums_hand_current( void )
{
    return (struct ums_hand *)(ums_hand_word() & ~HAND_PASSES);
}

/* Mark the calling thread, or take the mark away; not before the first factory. */
void ums_hand_passes( uint64_t mark );

void ums_set_hand( struct ums_hand *h );
int ums_manager_init( void );
/* This thread, which stands still in a call, is the manager, and the call is its sleep. It may be terminated there. */
int ums_manager_sleeps( uint32_t tid );
/* A thread was terminated by this process. If it was the manager, another one takes its place. The caller holds itself. */
void ums_manager_killed( uint32_t tid );
/* Wait until the manager has done one whole round: it has then handled what it was woken for. */
void ums_manager_wait( void );
/* If nobody serves the port any more: put back into it what was fetched and given to no hand. Enters the
   kernel. */
void ums_queue_return( struct ums_queue *q );
/* The hand of a thread, or NULL. */
struct ums_hand *ums_hand_of_thread( uint32_t tid );

#endif /* UMS_FACTORY_HOST_H */
