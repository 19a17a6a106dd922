/*
 * creates: what the shim asks of the host when it makes a worker's thread, and that nothing is left when the
 * host cannot make it. Wine ignores the attributes of a thread, so a stand-in for the host's function looks
 * at them; it is there before the shim looks for that function.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <windows.h>
#include <string.h>
#include <ums.h>

#include "test.h"

#ifndef PROC_THREAD_ATTRIBUTE_IDEAL_PROCESSOR
#define PROC_THREAD_ATTRIBUTE_IDEAL_PROCESSOR 0x30005
#endif

#define JUMP_SIZE 12                            /* mov rax,target; jmp rax */

/* the layout that UpdateProcThreadAttribute of the host writes; the shim checks it, too */
struct attributes
{
    DWORD mask, size, count, pad;
    DWORD_PTR unknown;
    struct { DWORD_PTR attribute; SIZE_T size; void *value; } entry[8];
};

static BOOL (WINAPI *create_list)( PUMS_COMPLETION_LIST * );
static BOOL (WINAPI *delete_list)( PUMS_COMPLETION_LIST );
static BOOL (WINAPI *create_context)( PUMS_CONTEXT * );
static BOOL (WINAPI *delete_context)( PUMS_CONTEXT );
static BOOL (WINAPI *update)( LPPROC_THREAD_ATTRIBUTE_LIST, DWORD, DWORD_PTR, void *, SIZE_T, void *,
                              SIZE_T * );
static HANDLE (WINAPI *create)( HANDLE, SECURITY_ATTRIBUTES *, SIZE_T, LPTHREAD_START_ROUTINE, void *,
                                DWORD, LPPROC_THREAD_ATTRIBUTE_LIST, DWORD * );

static struct
{
    int   calls;
    BOOL  listed;
    DWORD flags;
    struct attributes list;
} asked;

static HANDLE WINAPI stand_in( HANDLE process, LPSECURITY_ATTRIBUTES security, SIZE_T stack,
                               LPTHREAD_START_ROUTINE start, LPVOID param, DWORD flags,
                               LPPROC_THREAD_ATTRIBUTE_LIST list, LPDWORD id )
{
    const struct attributes *attributes = (const struct attributes *)list;

    (void)process, (void)security, (void)stack, (void)start, (void)param, (void)id;
    asked.calls++;
    asked.flags = flags;
    asked.listed = list != NULL;
    if (list)
        memcpy( &asked.list, attributes, offsetof( struct attributes, entry ) +
                attributes->count * sizeof(attributes->entry[0]) );
    SetLastError( ERROR_NOT_ENOUGH_MEMORY );
    return NULL;
}

/* Only this thread calls the function. */
static BOOL replace_host( void )
{
    BYTE *code = (BYTE *)GetProcAddress( GetModuleHandleA( "kernelbase.dll" ), "CreateRemoteThreadEx" );
    void *target = (void *)stand_in;
    DWORD old;

    if (!code || !VirtualProtect( code, JUMP_SIZE, PAGE_EXECUTE_READWRITE, &old )) return FALSE;
    memcpy( code, "\x48\xb8", 2 );
    memcpy( code + 2, &target, sizeof(target) );
    memcpy( code + 10, "\xff\xe0", 2 );
    VirtualProtect( code, JUMP_SIZE, old, &old );
    return FlushInstructionCache( GetCurrentProcess(), code, JUMP_SIZE );
}

static DWORD WINAPI worker( void *param )
{
    (void)param;
    return 0;
}

/* others: the number of attributes beside the UMS one; first: the UMS one comes first */
static void try_to_create( UMS_CREATE_THREAD_ATTRIBUTES *ums, int others, BOOL first )
{
    static PROCESSOR_NUMBER processor;
    static char buffer[512];
    LPPROC_THREAD_ATTRIBUTE_LIST list = (LPPROC_THREAD_ATTRIBUTE_LIST)buffer;
    SIZE_T size = sizeof(buffer);
    int i;

    ok( InitializeProcThreadAttributeList( list, 1 + others, 0, &size ), "no list, error %lu", GetLastError() );
    for (i = 0; i < 1 + others; i++)
        if (i == (first ? 0 : others))
            ok( update( list, 0, PROC_THREAD_ATTRIBUTE_UMS_THREAD, ums, sizeof(*ums), NULL,
                                           NULL ), "no UMS attribute, error %lu", GetLastError() );
        else
            ok( update( list, 0, PROC_THREAD_ATTRIBUTE_IDEAL_PROCESSOR, &processor,
                                           sizeof(processor), NULL, NULL ), "no processor, error %lu",
                GetLastError() );

    memset( &asked, 0, sizeof(asked) );
    SetLastError( 0 );
    ok( !create( GetCurrentProcess(), NULL, 0, worker, NULL, 0, list, NULL ) &&
        GetLastError() == ERROR_NOT_ENOUGH_MEMORY, "error %lu", GetLastError() );
    ok( asked.calls == 1, "%d calls of the host", asked.calls );
    ok( asked.flags & CREATE_SUSPENDED, "flags %#lx: it runs before it is known as a worker", asked.flags );
    ok( asked.listed == (others != 0), "the host gets %s list", asked.listed ? "a" : "no" );
    if (others)
        ok( asked.list.count == 1 && asked.list.mask == 1u << (PROC_THREAD_ATTRIBUTE_IDEAL_PROCESSOR & 0xffff) &&
            asked.list.entry[0].attribute == PROC_THREAD_ATTRIBUTE_IDEAL_PROCESSOR &&
            asked.list.entry[0].value == &processor && asked.list.entry[0].size == sizeof(processor),
            "%lu attributes, mask %#lx, the first is %#llx", asked.list.count, asked.list.mask,
            (unsigned long long)asked.list.entry[0].attribute );
    DeleteProcThreadAttributeList( list );
}

static BOOL load_shim( void )
{
    HMODULE shim = LoadLibraryA( "kernel32_ums.dll" );

    create_list    = (void *)GetProcAddress( shim, "CreateUmsCompletionList" );
    delete_list    = (void *)GetProcAddress( shim, "DeleteUmsCompletionList" );
    create_context = (void *)GetProcAddress( shim, "CreateUmsThreadContext" );
    delete_context = (void *)GetProcAddress( shim, "DeleteUmsThreadContext" );
    update         = (void *)GetProcAddress( shim, "UpdateProcThreadAttribute" );
    create         = (void *)GetProcAddress( shim, "CreateRemoteThreadEx" );
    return create_list && delete_list && create_context && delete_context && update && create;
}

int main( void )
{
    UMS_CREATE_THREAD_ATTRIBUTES ums = { UMS_VERSION, NULL, NULL };

    if (!replace_host() || !load_shim())
    {
        ok( 0, "the host's function cannot be replaced, or the shim not be loaded, error %lu", GetLastError() );
        return test_end();
    }
    ok( create_list( &ums.UmsCompletionList ), "no list, error %lu", GetLastError() );
    ok( create_context( &ums.UmsContext ), "no context, error %lu", GetLastError() );
    /* with the same context each time: it is free again after each failure */
    try_to_create( &ums, 0, TRUE );
    try_to_create( &ums, 1, TRUE );
    try_to_create( &ums, 1, FALSE );
    ok( delete_context( ums.UmsContext ), "the context is in use, error %lu", GetLastError() );
    ok( delete_list( ums.UmsCompletionList ), "the list is in use, error %lu", GetLastError() );
    return test_end();
}
