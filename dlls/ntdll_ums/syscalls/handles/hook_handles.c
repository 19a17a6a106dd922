/*
 * Handlers of the calls that make, copy, close and query handles. They keep the table of worker
 * factories' handles correct at any moment (factory_handle.c).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#define WIN32_NO_STATUS
#include <windows.h>
#undef WIN32_NO_STATUS
#include <ntstatus.h>
#include <winternl.h>
#include <string.h>
#include "core/ums_core.h"
#include "factory/factory_host.h"
#include "syscalls/hook/hook.h"
#include "workerfactory.h"

int ums_is_handle_of_ours( const struct ums_call *call )
{
    const char *name = ums_call_row( call )->name;
    int index = name[2] == 'D';                 /* NtDuplicateObject: the second argument */

    return ums_entry_kind( ums_handle_entry( (HANDLE)call->args[index] ) ) != ENTRY_NONE;
}

uint64_t ums_special_close( const struct call_row *row, struct ums_call *call,
                            struct ums_context *self )
{
    HANDLE handle = (HANDLE)call->args[0];
    uint64_t before, now;
    NTSTATUS status;

    (void)row;
    if (ums_entry_kind( ums_handle_entry( handle ) ) == ENTRY_OWN)
        return (uint64_t)(NTSTATUS)STATUS_INVALID_HANDLE;
    now = ums_handle_closing( handle, &before );
    ums_object_closing( now, before, self, call->sp );
    status = (NTSTATUS)ums_call_native( call, NULL );
    if (!status || status == STATUS_INVALID_HANDLE) ums_object_closed( now, before, self, call->sp );
    ums_handle_closed( handle, now, before, status );
    return (uint64_t)status;
}

/* By Wine's source, this is one request, which is answered at once, and the close of a descriptor that is
   not a file's. Closing depends on no thread, and a mutant keeps its owner if there are other handles. So
   the call is local. Ports are in the table of factories too, and are closed in both tables. */
int ums_close_known( enum object_kind kind, struct ums_call *call, struct ums_context *self,
                     uint64_t *ret )
{
    HANDLE handle = (HANDLE)call->args[0];
    uint64_t args[UMS_MAX_ARGS] = { call->args[0] }, before, now;
    uint32_t entry = ums_entry_kind( ums_handle_entry( handle ) );
    int carried;

    if (!kind || (entry != ENTRY_NONE && entry != ENTRY_PORT)) return 0;
    if (atomic_load_explicit( &self->breakpoints, memory_order_relaxed )) ums_worker_go_home( self );
    if ((carried = ums_worker_is_carried( self ))) ums_local_begin( self );
    now = ums_handle_closing( handle, &before );
    *ret = ums_call_native( call, args );
    ums_handle_closed( handle, now, before, (NTSTATUS)*ret );
    if (!carried) return 1;
    ums_local_end( self );
    ums_worker_give_way( self );
    return 1;
}

/* A copy and a close in one call may give the same value again. The source is closed even if nothing is
   copied [doc: DuplicateHandle]. One that is protected from that stays open, and is no longer in the table:
   a factory is found by asking the host, a local object is the host's from then on, without its state. */
uint64_t ums_special_duplicate( const struct call_row *row, struct ums_call *call,
                                struct ums_context *self )
{
    HANDLE handle = (HANDLE)call->args[1];
    uint64_t args[UMS_MAX_ARGS], before, now = 0, copy;
    struct ums_factory *f = NULL;
    NTSTATUS status;

    (void)row;
    ums_call_args( call, args );
    before = ums_handle_entry( handle );
    if (!ums_is_this_process( (HANDLE)args[0] )) return ums_call_native( call, NULL );
    if (ums_entry_kind( before ) == ENTRY_OWN && ((ULONG)args[6] & DUPLICATE_CLOSE_SOURCE))
        return (uint64_t)(NTSTATUS)STATUS_INVALID_HANDLE;
    if (ums_entry_kind( before ) == ENTRY_FACTORY)
    {
        /* it must not go before the copy is noted */
        if (!ums_factory_hold( ums_entry_factory( before ) )) before = ENTRY_NONE;
        else f = ums_entry_factory( before );
        args[4] = ums_factory_access( (ACCESS_MASK)args[4] );
    }
    if ((ULONG)args[6] & DUPLICATE_CLOSE_SOURCE) now = ums_handle_closing( handle, &before );
    ums_object_closing( now, before, self, call->sp );
    status = (NTSTATUS)ums_call_native( call, args );
    ums_object_closed( now, before, self, call->sp );
    if (!status && args[3] && ums_is_this_process( (HANDLE)args[2] ) &&
        ums_try_load( (const void *)args[3], &copy )) ums_handle_copied( (HANDLE)copy, before );
    ums_handle_closed( handle, now, before, STATUS_SUCCESS );
    if (f) ums_factory_drop( f );
    return (uint64_t)status;
}

static const WCHAR type_name[] = L"TpWorkerFactory";

static uint64_t query_type( struct ums_call *call )
{
    OBJECT_TYPE_INFORMATION *info = (void *)call->args[2], type;
    const uint64_t *from = (const uint64_t *)&type;
    const ULONG size = sizeof(type) + sizeof(type_name);
    char *text = (char *)(info + 1);
    unsigned int i;

    if ((ULONG)call->args[3] < size)
    {
        uint64_t stored = ums_store_ulong( call->stack[0], size );

        return stored ? stored : (uint64_t)(NTSTATUS)STATUS_INFO_LENGTH_MISMATCH;
    }
    memset( &type, 0, sizeof(type) );
    type.TypeName.Length        = sizeof(type_name) - sizeof(WCHAR);
    type.TypeName.MaximumLength = sizeof(type_name);
    type.TypeName.Buffer        = (WCHAR *)text;
    type.GenericMapping.GenericRead    = 0x00020008;            /* [seen] */
    type.GenericMapping.GenericWrite   = 0x00020004;
    type.GenericMapping.GenericExecute = 0x00020003;
    type.GenericMapping.GenericAll     = FACTORY_VALID_ACCESS;
    type.ValidAccessMask               = FACTORY_VALID_ACCESS;
    for (i = 0; i < sizeof(type) / sizeof(*from); i++)
        if (!ums_try_store( (uint64_t *)info + i, from[i] )) goto bad;
    for (i = 0; i < sizeof(type_name) / 4; i++)
        if (!ums_try_store32( text + i * 4,
                              type_name[i * 2] | (uint32_t)type_name[i * 2 + 1] << 16 )) goto bad;
    return ums_store_ulong( call->stack[0], size );

bad:
    return (uint64_t)ums_bad_access( info, size );
}

uint64_t ums_special_query_object( const struct call_row *row, struct ums_call *call,
                                   struct ums_context *self )
{
    OBJECT_BASIC_INFORMATION *info = (void *)call->args[2];
    uint64_t entry = ums_handle_entry( (HANDLE)call->args[0] );
    NTSTATUS status;

    (void)row; (void)self;
    if (ums_entry_kind( entry ) != ENTRY_FACTORY) return ums_call_native( call, NULL );
    if ((ULONG)call->args[1] == ObjectTypeInformation) return query_type( call );
    status = (NTSTATUS)ums_call_native( call, NULL );
    if (!status && (ULONG)call->args[1] == ObjectBasicInformation && info->HandleCount > 1)
    {
        info->HandleCount--;                    /* do not count the shim's own handle */
        info->PointerCount--;
    }
    return (uint64_t)status;
}

/* Refuse handles of factories: a program must not see that they are sections. */
uint64_t ums_special_section( const struct call_row *row, struct ums_call *call,
                              struct ums_context *self )
{
    (void)row; (void)self;
    if (ums_entry_kind( ums_handle_entry( (HANDLE)call->args[0] ) ) != ENTRY_FACTORY)
        return ums_call_native( call, NULL );
    return (uint64_t)(NTSTATUS)STATUS_OBJECT_TYPE_MISMATCH;
}

/* The program gives the concurrency only here, and the host does not keep it. */
uint64_t ums_special_create_port( const struct call_row *row, struct ums_call *call,
                                  struct ums_context *self )
{
    NTSTATUS status = (NTSTATUS)ums_call_native( call, NULL );
    uint64_t port;

    (void)row; (void)self;
    if (!status && ums_try_load( (const void *)call->args[0], &port ))
        ums_handle_is_port( (HANDLE)port, (uint32_t)call->args[3] );
    return (uint64_t)status;
}
