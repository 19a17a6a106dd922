/*
 * Handles of worker factories.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * In the host a factory is a section (factory_foreign.c says what is in it): a real object, so its
 * handles are closed, duplicated, inherited and named like any others, and each has its own access.
 * A table says which factory a handle belongs to. It is right at any moment, because the entry hook
 * sees each NtClose and NtDuplicateObject of the process:
 *
 *  - Before a handle is closed its entry says so. Afterwards the entry is emptied, unless the value
 *    was reused meanwhile: then the entry has another number.
 *  - While the entry says so, and for handles that other processes have put here, the host is asked
 *    each time which factory it is: the table would not learn when those are closed.
 *
 * Not seen: a handle that another process takes out of this one (DUPLICATE_CLOSE_SOURCE).
 *
 * Handles of completion ports are in the table with their concurrency, which Wine does not keep;
 * and so are the shim's own handles, so that a program which uses a closed value does not hit one
 * of them.
 */

#define WIN32_NO_STATUS
#include <windows.h>
#undef WIN32_NO_STATUS
#include <ntstatus.h>
#include <winternl.h>
#include "core/section.h"
#include "factory_host.h"
#include "host/ke_win32.h"
#include "workerfactory.h"

#define MAX_HANDLES 0x400000                    /* entries; a handle is an index times 4 */
#define PAGE_ENTRIES 512

/* An entry: its kind, a value, and a number that each change increments. */
#define ENTRY_KIND    ((uint64_t)7)
#define ENTRY_NUMBER  ((uint64_t)1 << 31)
#define ENTRY_VALUE( entry ) ((uint32_t)((entry) >> 3) & 0xfffffff)

static _Atomic uint64_t *entries;
static _Atomic uint8_t committed[MAX_HANDLES / PAGE_ENTRIES];

static NTSTATUS (NTAPI *compare_objects)( HANDLE, HANDLE );

NTSTATUS NTAPI NtDuplicateObject( HANDLE, HANDLE, HANDLE, HANDLE *, ACCESS_MASK, ULONG, ULONG );

int ums_handles_init( void )
{
    compare_objects = (void *)GetProcAddress( GetModuleHandleA( "ntdll.dll" ), "NtCompareObjects" );
    entries = ke_reserve( MAX_HANDLES * sizeof(*entries) );
    return entries != NULL;
}

/* ---- the table ---- */

static enum handle_kind entry_kind( uint64_t entry )
{
    return (enum handle_kind)(entry & ENTRY_KIND);
}

static _Atomic uint64_t *entry_at( HANDLE handle, int make )
{
    size_t index = (ULONG_PTR)handle >> 2;

    if (index >= MAX_HANDLES || !entries) return NULL;
    if (!atomic_load_explicit( &committed[index / PAGE_ENTRIES], memory_order_acquire ))
    {
        if (!make || !ke_commit( (void *)&entries[index & ~(size_t)(PAGE_ENTRIES - 1)],
                                 PAGE_ENTRIES * sizeof(*entries) )) return NULL;
        atomic_store( &committed[index / PAGE_ENTRIES], 1 );
    }
    return &entries[index];
}

static uint64_t entry_load( HANDLE handle )
{
    _Atomic uint64_t *entry = entry_at( handle, 0 );

    return entry ? atomic_load( entry ) : ENTRY_NONE;
}

static uint64_t next_entry( uint64_t entry, enum handle_kind kind, uint32_t value )
{
    return ((entry & ~(ENTRY_NUMBER - 1)) + ENTRY_NUMBER) | (uint64_t)value << 3 | kind;
}

/* A factory's handle can have twelve bits of access. */
static uint32_t factory_value( const struct ums_factory *f, ACCESS_MASK access )
{
    return ums_pool_index( &ums_factory_pool, f ) | (access & 0xff) << 14 |
           (access >> 16 & 0xf) << 22;
}

static ACCESS_MASK entry_access( uint64_t entry )
{
    uint32_t value = ENTRY_VALUE( entry );

    return (value >> 14 & 0xff) | (value >> 22 & 0xf) << 16;
}

static struct ums_factory *entry_factory( uint64_t entry )
{
    return ums_pool_any( &ums_factory_pool, ENTRY_VALUE( entry ) & (MAX_FACTORIES - 1) );
}

static void handle_gone( struct ums_factory *f );

/* A new handle: what the table has for this value is obsolete. */
static void entry_set( HANDLE handle, enum handle_kind kind, uint32_t value )
{
    _Atomic uint64_t *entry = entry_at( handle, 1 );
    uint64_t old;

    if (!entry) return;
    old = atomic_load( entry );
    while (!atomic_compare_exchange_weak( entry, &old, next_entry( old, kind, value ) )) ;
    if (entry_kind( old ) == ENTRY_FACTORY) handle_gone( entry_factory( old ) );
}

int ums_handle_is_factory( HANDLE handle, struct ums_factory *f, ACCESS_MASK access )
{
    uint32_t handles = atomic_load( &f->handles );

    do if (handles & FACTORY_CLOSED) return 0;
    while (!atomic_compare_exchange_weak( &f->handles, &handles, handles + 1 ));
    entry_set( handle, ENTRY_FACTORY, factory_value( f, access ) );
    return 1;
}

void ums_handle_own( HANDLE handle )
{
    entry_set( handle, ENTRY_OWN, 0 );
}

void ums_handle_close_own( HANDLE handle )
{
    entry_set( handle, ENTRY_NONE, 0 );
    NtClose( handle );
}

uint32_t ums_handle_concurrency( HANDLE port )
{
    uint64_t entry = entry_load( port );

    return entry_kind( entry ) == ENTRY_PORT ? ENTRY_VALUE( entry ) : 0;
}

/* ---- which factory? ---- */

static NTSTATUS query_basic( HANDLE handle, OBJECT_BASIC_INFORMATION *info )
{
    return NtQueryObject( handle, ObjectBasicInformation, info, sizeof(*info), NULL );
}

/* Ask the host: is it one of ours, under a handle that the table does not have? Our handle may be closed
   meanwhile, and its value may stand for another object. If it is stored still, it was ours all the time: it
   is stored once. */
struct ums_factory *ums_factory_of_object( HANDLE handle )
{
    uint32_t i, made = ums_pool_made( &ums_factory_pool );

    for (i = 0; compare_objects && i < made; i++)
    {
        struct ums_factory *f = ums_pool_any( &ums_factory_pool, i );
        HANDLE object;

        if (!ums_factory_hold( f )) continue;
        if ((object = atomic_load( &f->object )) && !compare_objects( handle, object ) &&
            atomic_load( &f->object ) == object) return f;
        ums_factory_unref( f );
    }
    return NULL;
}

/* The object and the access of a handle are queried one after the other, and between the two the
   value may be reused. So a copy is queried, which nobody else can close. */
NTSTATUS ums_handle_copy( HANDLE handle, HANDLE *copy, ACCESS_MASK *access )
{
    OBJECT_BASIC_INFORMATION info;
    NTSTATUS status;

    status = NtDuplicateObject( GetCurrentProcess(), handle, GetCurrentProcess(), copy, 0, 0,
                                DUPLICATE_SAME_ACCESS );
    if (status) return status;
    ums_handle_own( *copy );
    if ((status = query_basic( *copy, &info ))) ums_handle_close_own( *copy );
    else *access = info.GrantedAccess;
    return status;
}

/* The answer is not put into the table: the hook sees the end of only those handles whose beginning
   it has seen. */
static NTSTATUS ask_host( HANDLE handle, ACCESS_MASK access, struct ums_factory **ret )
{
    struct ums_factory *f;
    ACCESS_MASK granted;
    NTSTATUS status;
    HANDLE copy;

    if ((status = ums_handle_copy( handle, &copy, &granted ))) return status;
    f = ums_factory_of_object( copy );
    ums_handle_close_own( copy );
    if (!f) return STATUS_OBJECT_TYPE_MISMATCH;
    ums_factory_look_abroad( f );               /* the copy may have looked like a handle */
    if ((granted & access) == access)
    {
        *ret = f;
        return STATUS_SUCCESS;
    }
    ums_factory_unref( f );
    return STATUS_ACCESS_DENIED;
}

/* The reference is taken first, then the entry is read again: while a handle is in the table its
   factory exists. */
NTSTATUS ums_factory_of_handle( HANDLE handle, ACCESS_MASK access, struct ums_factory **ret )
{
    struct ums_factory *f;
    uint64_t entry;

    for (;;)
    {
        entry = entry_load( handle );
        if (entry_kind( entry ) == ENTRY_PORT) return STATUS_OBJECT_TYPE_MISMATCH;
        if (entry_kind( entry ) == ENTRY_OWN) return STATUS_INVALID_HANDLE;
        if (entry_kind( entry ) != ENTRY_FACTORY) return ask_host( handle, access, ret );
        if ((entry_access( entry ) & access) != access) return STATUS_ACCESS_DENIED;
        f = entry_factory( entry );
        if (!ums_factory_hold( f )) continue;
        if (entry_load( handle ) == entry) break;
        ums_factory_unref( f );
    }
    *ret = f;
    return STATUS_SUCCESS;
}

ACCESS_MASK ums_factory_access( ACCESS_MASK access )
{
    if (access & GENERIC_READ)    access |= 0x00020008;         /* [seen] */
    if (access & GENERIC_WRITE)   access |= 0x00020004;
    if (access & GENERIC_EXECUTE) access |= 0x00020003;
    if (access & (GENERIC_ALL | MAXIMUM_ALLOWED)) access |= FACTORY_VALID_ACCESS;
    return access & FACTORY_VALID_ACCESS;
}

/* ---- the last handle ---- */

/* A handle may have been made since the caller looked: then it is counted, or will be and is refused. Our
   handle goes at once, although threads of the factory may run on: the name goes with it. */
static void close_factory( struct ums_factory *f )
{
    uint32_t none = 0;

    if (!atomic_compare_exchange_strong( &f->handles, &none, FACTORY_CLOSED )) return;
    ums_factory_shutdown( f );
    ums_handle_close_own( atomic_exchange( &f->object, NULL ) );
    ums_factory_unref( f );
}

/* If one handle is left it is ours, and no process has one. */
static void close_if_unused( struct ums_factory *f )
{
    OBJECT_BASIC_INFORMATION info;

    if (!query_basic( atomic_load( &f->object ), &info ) && info.HandleCount <= 1) close_factory( f );
}

void ums_factory_look_abroad( struct ums_factory *f )
{
    if (atomic_load( &f->abroad ) && !atomic_load( &f->handles )) close_if_unused( f );
}

/* The factory still exists: its handles together hold a reference, which is dropped here at the
   earliest. If other processes have handles left, the manager watches them, from when abroad is set. The
   caller has looked before that, so the manager is not in the middle of closing the factory when the caller
   returns, unless abroad is set from an earlier time. Nor is another thread, unless it has closed a handle that
   was made since. For both the factory is shut down here once more, or its packets would still count as
   served; its name may then stay a moment longer. The manager itself never comes here: its
   own handles are in the table as ENTRY_OWN, so it does not wait for itself. */
static void handle_gone( struct ums_factory *f )
{
    struct ums_context *self = ke_current();
    struct ums_section section;
    int closed = 0;

    ums_section_begin( &section );
    ums_hold_self( self, 1 );                   /* a hand would be terminated in one of its calls */
    if (!ums_factory_hold( f ))
    {
        ums_hold_self( self, -1 );
        ums_section_end( &section );
        return;
    }
    if (atomic_fetch_sub( &f->handles, 1 ) == 1)
    {
        close_if_unused( f );
        if ((closed = (atomic_load( &f->handles ) & FACTORY_CLOSED) != 0)) ums_factory_shutdown( f );
        else
        {
            atomic_store( &f->abroad, 1 );
            ke_manager_wake();
        }
    }
    ums_hold_self( self, -1 );
    ums_section_end( &section );
    if (closed) ums_queue_return( f->queue );
    ums_factory_drop( f );
}

/* ---- for the entry hook, which sees handles come and go ---- */

uint64_t ums_handle_entry( HANDLE handle )
{
    return entry_load( handle );
}

enum handle_kind ums_entry_kind( uint64_t entry )
{
    return entry_kind( entry );
}

uint32_t ums_entry_value( uint64_t entry )
{
    return ENTRY_VALUE( entry );
}

struct ums_factory *ums_entry_factory( uint64_t entry )
{
    return entry_factory( entry );
}

uint64_t ums_handle_closing( HANDLE handle, uint64_t *before )
{
    _Atomic uint64_t *entry = entry_at( handle, 0 );
    uint64_t now = 0;

    *before = entry ? atomic_load( entry ) : ENTRY_NONE;
    do
    {
        if (entry_kind( *before ) == ENTRY_NONE || entry_kind( *before ) == ENTRY_CLOSING) return 0;
        now = next_entry( *before, ENTRY_CLOSING, 0 );
    }
    while (!atomic_compare_exchange_weak( entry, before, now ));
    return now;
}

void ums_handle_closed( HANDLE handle, uint64_t now, uint64_t before,
                        NTSTATUS status )
{
    _Atomic uint64_t *entry = entry_at( handle, 0 );
    uint64_t then;

    if (!now) return;
    if (status == STATUS_INVALID_HANDLE) status = STATUS_SUCCESS;      /* another thread has closed it meanwhile */
    then = status ? next_entry( now, entry_kind( before ), ENTRY_VALUE( before ) )
                  : next_entry( now, ENTRY_NONE, 0 );
    atomic_compare_exchange_strong( entry, &now, then );
    if (!status && entry_kind( before ) == ENTRY_FACTORY) handle_gone( entry_factory( before ) );
}

/* The handle may lack the right to query: then a copy is queried. */
int ums_is_this_process( HANDLE process )
{
    DWORD id = process == GetCurrentProcess() ? GetCurrentProcessId() : GetProcessId( process );
    HANDLE copy;

    if (!id && DuplicateHandle( GetCurrentProcess(), process, GetCurrentProcess(), &copy,
                                PROCESS_QUERY_LIMITED_INFORMATION, FALSE, 0 ))
    {
        id = GetProcessId( copy );
        CloseHandle( copy );
    }
    return id == GetCurrentProcessId();
}

void ums_handle_copied( HANDLE handle, uint64_t entry )
{
    OBJECT_BASIC_INFORMATION info;

    if (entry_kind( entry ) == ENTRY_PORT) entry_set( handle, ENTRY_PORT, ENTRY_VALUE( entry ) );
    else if (entry_kind( entry ) == ENTRY_FACTORY && !query_basic( handle, &info ))
        ums_handle_is_factory( handle, entry_factory( entry ), info.GrantedAccess );
}

int ums_handle_is_object( HANDLE handle, uint32_t index )
{
    if (!entry_at( handle, 1 )) return 0;
    entry_set( handle, ENTRY_OBJECT, index );
    return 1;
}

void ums_handle_is_port( HANDLE handle, uint32_t concurrency )
{
    entry_set( handle, ENTRY_PORT, concurrency > 0xfffffff ? 0xfffffff : concurrency );
}
