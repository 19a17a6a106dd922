/*
 * Worker factories of other processes, under handles that were inherited or duplicated.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * In the host a factory is a section of one page, in which its process writes its id and the entry
 * point for calls of other processes. A process that does not know a handle checks whether it is
 * such a section, and makes the call in a thread of the factory's process, which gets a copy of the
 * arguments and puts the results into it. So no process has to wait for calls of others. The access
 * of the handle is checked in the process that has the handle.
 *
 * To wait for packets from another process, such a thread waits as a guest, and counts as running
 * only while it is there: the queue does not see what the other process does with the packets.
 */

#define WIN32_NO_STATUS
#include <windows.h>
#undef WIN32_NO_STATUS
#include <ntstatus.h>
#include <winternl.h>
#include <string.h>
#include "factory_host.h"
#include "host/ke_win32.h"
#include "host/thread.h"
#include "workerfactory.h"

#define SECTION_SIZE 0x1000
#define SKIP_THREAD_ATTACH 2                    /* thread.c */
#define VIEW_UNMAP 2                            /* SECTION_INHERIT ViewUnmap [doc] */

NTSTATUS NTAPI NtCreateSection( HANDLE *, ACCESS_MASK, const OBJECT_ATTRIBUTES *,
                                const LARGE_INTEGER *, ULONG, ULONG, HANDLE );
NTSTATUS NTAPI NtMapViewOfSection( HANDLE, HANDLE, void **, ULONG_PTR, SIZE_T, LARGE_INTEGER *,
                                   SIZE_T *, ULONG, ULONG, ULONG );
NTSTATUS NTAPI NtUnmapViewOfSection( HANDLE, void * );
NTSTATUS NTAPI NtDuplicateObject( HANDLE, HANDLE, HANDLE, HANDLE *, ACCESS_MASK, ULONG, ULONG );
NTSTATUS NTAPI NtSetIoCompletion( HANDLE, ULONG_PTR, ULONG_PTR, NTSTATUS, SIZE_T );
NTSTATUS NTAPI NtCreateThreadEx( HANDLE *, ACCESS_MASK, void *, HANDLE, void *, void *, ULONG,
                                 ULONG_PTR, SIZE_T, SIZE_T, void * );

static const char magic[] = "ums worker factory 1: its process, object and code";

struct face                                     /* the page; written once, before there is a handle */
{
    char     magic[sizeof(magic)];
    uint32_t pid;
    uint64_t born;                              /* of the process: ids are used again */
    uint64_t number;                            /* of the factory in it: so are slots */
    void    *factory;
    void    *entry;
};

struct request
{
    void    *factory;
    uint64_t number;
    enum ums_foreign what;
    uint32_t info_class;
    uint64_t value;                             /* Set, Shutdown */
    WORKER_FACTORY_BASIC_INFORMATION info;      /* Query */
    uint32_t count, n;                          /* Wait */
    uint32_t caller;                            /* ... whose thread */
    NTSTATUS status;
    uint32_t done;                              /* it did not end before */
    struct ums_packet packets[FACTORY_BATCH];
};

static _Atomic uint64_t numbers;

static uint64_t time_of_birth( HANDLE process )
{
    FILETIME begin, end, kernel, user;

    if (!GetProcessTimes( process, &begin, &end, &kernel, &user )) return 0;
    return (uint64_t)begin.dwHighDateTime << 32 | begin.dwLowDateTime;
}

/* ---- in the process whose factory it is ---- */

/* Puts back packets that were taken for a thread that has ended. They are the last in the queue
   now. */
static void put_back( struct ums_factory *f, const struct ums_packet *packet )
{
    if (packet->key || packet->apc || packet->status || packet->information)
        NtSetIoCompletion( f->queue->port, packet->key, packet->apc, (NTSTATUS)packet->status,
                           packet->information );
    else if (ums_queue_release( f->queue )) ums_queue_check( f->queue );    /* shut or not */
}

/* This thread waits in place of the other process's thread. It is not told when that one ends, so
   it may keep waiting; what it gets then is put back for others. */
static NTSTATUS wait_for_stranger( struct ums_factory *f, struct request *request )
{
    HANDLE caller = OpenThread( SYNCHRONIZE, FALSE, request->caller );
    struct ums_packet packets[FACTORY_BATCH];
    uint32_t n = 0, i, count = request->count;
    NTSTATUS status;

    if (count > FACTORY_BATCH) count = FACTORY_BATCH;
    if (!caller) return STATUS_INVALID_HANDLE;
    ums_handle_own( caller );
    if (!(status = ums_factory_wait( f, packets, count, &n )))
    {
        const int gone = !WaitForSingleObject( caller, 0 );

        for (i = 0; i < n; i++)
            if (gone) put_back( f, &packets[i] );
            else request->packets[i] = packets[i];
        request->n = n;
    }
    ums_handle_close_own( caller );
    return status;
}

static NTSTATUS serve( struct ums_factory *f, struct request *request )
{
    switch (request->what)
    {
    case FOREIGN_RELEASE:
        return ums_factory_release( f );
    case FOREIGN_SET:
        return ums_factory_set_and_wait( f, request->info_class, request->value );
    case FOREIGN_SHUTDOWN:
        request->value = ums_factory_shutdown( f );
        ums_queue_return( f->queue );
        return STATUS_SUCCESS;
    case FOREIGN_WAIT:
        return wait_for_stranger( f, request );
    default:
        ums_factory_fill( f, &request->info );
        return STATUS_SUCCESS;
    }
}

/* A thread that another process has made begins here. Its request is in our memory; the other
   process frees it. */
static DWORD WINAPI entry( void *arg )
{
    struct request *request = arg;
    struct ums_factory *f = request->factory;

    request->status = STATUS_INVALID_HANDLE;
    if (ums_factory_hold( f ))
    {
        if (f->number == request->number) request->status = serve( f, request );
        ums_factory_unref( f );
    }
    request->done = 1;
    return 0;
}

NTSTATUS ums_factory_object( const OBJECT_ATTRIBUTES *attributes, HANDLE *object )
{
    const LARGE_INTEGER size = { .QuadPart = SECTION_SIZE };

    NTSTATUS status = NtCreateSection( object, FACTORY_VALID_ACCESS, attributes, &size,
                                       PAGE_READWRITE, SEC_COMMIT, NULL );

    if (status >= 0) ums_handle_own( *object );
    return status;
}

static struct face *map_face( HANDLE object, ULONG protect )
{
    SIZE_T size = SECTION_SIZE;
    void *view = NULL;

    if (NtMapViewOfSection( object, GetCurrentProcess(), &view, 0, 0, NULL, &size, VIEW_UNMAP, 0,
                            protect )) return NULL;
    return view;
}

int ums_factory_show( struct ums_factory *f, HANDLE object )
{
    struct face *face = map_face( object, PAGE_READWRITE );

    if (!face) return 0;
    f->number     = atomic_fetch_add( &numbers, 1 ) + 1;
    face->pid     = GetCurrentProcessId();
    face->born    = time_of_birth( GetCurrentProcess() );
    face->number  = f->number;
    face->factory = f;
    face->entry   = (void *)entry;
    memcpy( face->magic, magic, sizeof(magic) );
    NtUnmapViewOfSection( GetCurrentProcess(), face );
    return 1;
}

int ums_factory_was_shown( HANDLE object )
{
    struct face *face = map_face( object, PAGE_READONLY );
    int shown;

    if (!face) return 0;
    shown = !memcmp( face->magic, magic, sizeof(magic) ) && face->pid == GetCurrentProcessId() &&
            face->born == time_of_birth( GetCurrentProcess() );
    NtUnmapViewOfSection( GetCurrentProcess(), face );
    return shown;
}

/* ---- in another process ---- */

static struct face *map_copy( HANDLE copy, ACCESS_MASK granted )
{
    struct face *view;
    HANDLE readable;

    if (granted & SECTION_MAP_READ) return map_face( copy, PAGE_READONLY );
    if (NtDuplicateObject( GetCurrentProcess(), copy, GetCurrentProcess(), &readable,
                           SECTION_MAP_READ, 0, 0 )) return NULL;
    ums_handle_own( readable );
    view = map_face( readable, PAGE_READONLY );
    ums_handle_close_own( readable );
    return view;
}

/* Which process is behind the handle, if the handle has that access? */
static NTSTATUS look_at( HANDLE handle, ACCESS_MASK access, struct face *face )
{
    ACCESS_MASK granted;
    struct face *view;
    NTSTATUS status;
    HANDLE copy;

    if ((status = ums_handle_copy( handle, &copy, &granted ))) return status;
    status = STATUS_OBJECT_TYPE_MISMATCH;
    if ((view = map_copy( copy, granted )))
    {
        if (!memcmp( view->magic, magic, sizeof(magic) ))
        {
            *face = *view;
            status = (granted & access) == access ? STATUS_SUCCESS : STATUS_ACCESS_DENIED;
        }
        NtUnmapViewOfSection( GetCurrentProcess(), view );
    }
    ums_handle_close_own( copy );
    return status;
}

static NTSTATUS call_there( HANDLE process, void *entry_there, struct request *request )
{
    struct request *there = VirtualAllocEx( process, NULL, sizeof(*request),
                                            MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE );
    NTSTATUS status = STATUS_NO_MEMORY;
    HANDLE thread;

    if (!there) return status;
    if (WriteProcessMemory( process, there, request, sizeof(*request), NULL ) &&
        !(status = NtCreateThreadEx( &thread, THREAD_ALL_ACCESS, NULL, process, entry_there, there,
                                     SKIP_THREAD_ATTACH, 0, 0, 0, NULL )))
    {
        WaitForSingleObject( thread, INFINITE );
        CloseHandle( thread );
        if (!ReadProcessMemory( process, there, request, sizeof(*request), NULL ) || !request->done)
            status = STATUS_INVALID_HANDLE;     /* the process has ended */
        else status = request->status;
    }
    VirtualFreeEx( process, there, 0, MEM_RELEASE );
    return status;
}

static NTSTATUS call_foreign( HANDLE handle, ACCESS_MASK access, struct request *request )
{
    struct face face;
    NTSTATUS status;
    HANDLE process;

    if ((status = look_at( handle, access, &face ))) return status;
    if (face.pid == GetCurrentProcessId()) return STATUS_INVALID_HANDLE;        /* it is just going */
    process = OpenProcess( PROCESS_ALL_ACCESS, FALSE, face.pid );
    if (!process) return STATUS_INVALID_HANDLE;
    request->factory = face.factory;
    request->number  = face.number;
    status = time_of_birth( process ) == face.born ? call_there( process, face.entry, request )
                                                   : STATUS_INVALID_HANDLE;
    CloseHandle( process );
    return status;
}

NTSTATUS ums_factory_foreign( HANDLE handle, ACCESS_MASK access, enum ums_foreign what,
                              ULONG info_class, uint64_t *value,
                              WORKER_FACTORY_BASIC_INFORMATION *info )
{
    struct request request;
    NTSTATUS status;

    memset( &request, 0, sizeof(request) );
    request.what       = what;
    request.info_class = info_class;
    request.value      = value ? *value : 0;
    if ((status = call_foreign( handle, access, &request ))) return status;
    if (value) *value = request.value;
    if (info) *info = request.info;
    return status;
}

NTSTATUS ums_factory_foreign_wait( HANDLE handle, struct ums_packet *packets, uint32_t count,
                                   uint32_t *n )
{
    struct request request;
    NTSTATUS status;

    memset( &request, 0, sizeof(request) );
    request.what   = FOREIGN_WAIT;
    request.count  = count;
    request.caller = GetCurrentThreadId();
    if ((status = call_foreign( handle, WORKER_FACTORY_WAIT, &request ))) return status;
    if (request.n > count) return STATUS_INVALID_HANDLE;    /* not what one of us would say */
    *n = request.n;
    memcpy( packets, request.packets, request.n * sizeof(*packets) );
    return status;
}
