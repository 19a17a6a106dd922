/*
 * Where the entry points come from.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * umstest.exe looks all names up and imports none. umstest_bound.exe (UMSTEST_BOUND) imports the 13
 * names of Windows 7 and the four doors from KERNEL32, and those of worker factories from ntdll,
 * like a program of its time, and looks up only the rest.
 */
#include "private.h"
#include "private/ums_private.h"

#define X( ret, name, args ) ret (WINAPI *p##name) args;
UMS_KERNEL32_EXPORTS( X )
UMS_KERNEL32_DOORS( X )
UMS_NTDLL_EXPORTS( X )
UMS_NTDLL_FACTORY_EXPORTS( X )
#undef X

NTSTATUS (WINAPI *pNtQueryInformationThread)( HANDLE, ULONG, PVOID, ULONG, PULONG );
NTSTATUS (WINAPI *pNtSetInformationThread)( HANDLE, ULONG, PVOID, ULONG );

#ifdef UMSTEST_BOUND
/* the slots of the import table, so that the pointer is the one the loader put there and no thunk
 * of ours */
#define X( ret, name, args ) extern ret (WINAPI *__imp_##name) args;
UMS_KERNEL32_EXPORTS_7600( X )
UMS_KERNEL32_DOORS( X )
UMS_NTDLL_FACTORY_EXPORTS( X )
#undef X
#endif

static enum impl impl_used;
static int names_missing;

static void *lookup( HMODULE module, const char *name )
{
    void *address = (void *)GetProcAddress( module, name );

    if (!address) names_missing++;
    return address;
}

static void lookup_ntdll( HMODULE module )
{
#define X( ret, name, args ) p##name = (ret (WINAPI *) args)lookup( module, #name );
    UMS_NTDLL_EXPORTS( X )
#ifndef UMSTEST_BOUND
    UMS_NTDLL_FACTORY_EXPORTS( X )
#endif
#undef X
}

#ifdef UMSTEST_BOUND
static void take_imports( HMODULE kernel32 )
{
#define X( ret, name, args ) p##name = __imp_##name;
    UMS_KERNEL32_EXPORTS_7600( X )
    UMS_KERNEL32_DOORS( X )
    UMS_NTDLL_FACTORY_EXPORTS( X )
#undef X
    pGetUmsSystemThreadInformation = (BOOL (WINAPI *)( HANDLE, PUMS_SYSTEM_THREAD_INFORMATION ))
        lookup( kernel32, "GetUmsSystemThreadInformation" );
}
#else
static HMODULE load_beside( const char *name )
{
    char path[MAX_PATH + 32];
    char *slash;

    path[0] = 0;
    GetModuleFileNameA( NULL, path, MAX_PATH );
    if (!(slash = strrchr( path, '\\' ))) return NULL;
    strcpy( slash + 1, name );
    return LoadLibraryA( path );
}

static void lookup_kernel32( HMODULE module )
{
#define X( ret, name, args ) p##name = (ret (WINAPI *) args)lookup( module, #name );
    UMS_KERNEL32_EXPORTS( X )
    UMS_KERNEL32_DOORS( X )
#undef X
}
#endif

/* Does a look-up in kernel32 lead to something that works? *error is the answer of a stub. */
static BOOL system_works( DWORD *error )
{
    BOOL (WINAPI *create)( PUMS_COMPLETION_LIST * );
    BOOL (WINAPI *delete)( PUMS_COMPLETION_LIST );
    HMODULE kernel32 = GetModuleHandleA( "kernel32.dll" );
    PUMS_COMPLETION_LIST list = NULL;

    create = (BOOL (WINAPI *)( PUMS_COMPLETION_LIST * ))(void *)GetProcAddress(
        kernel32, "CreateUmsCompletionList" );
    delete = (BOOL (WINAPI *)( PUMS_COMPLETION_LIST ))(void *)GetProcAddress(
        kernel32, "DeleteUmsCompletionList" );
    *error = ERROR_PROC_NOT_FOUND;
    if (!create || !delete) return FALSE;
    SetLastError( POISON );
    if (!create( &list ))
    {
        *error = GetLastError();
        return FALSE;
    }
    delete( list );
    *error = 0;
    return TRUE;
}

BOOL pointers_init( enum impl impl )
{
    HMODULE kernel32 = GetModuleHandleA( "kernel32.dll" ), ntdll = GetModuleHandleA( "ntdll.dll" );
#ifndef UMSTEST_BOUND
    HMODULE shim_kernel32, shim_ntdll;
#endif
    DWORD error;

    pNtQueryInformationThread = (NTSTATUS (WINAPI *)( HANDLE, ULONG, PVOID, ULONG, PULONG ))
        (void *)GetProcAddress( ntdll, "NtQueryInformationThread" );
    pNtSetInformationThread = (NTSTATUS (WINAPI *)( HANDLE, ULONG, PVOID, ULONG ))
        (void *)GetProcAddress( ntdll, "NtSetInformationThread" );

    impl_used = impl;
#ifdef UMSTEST_BOUND
    take_imports( kernel32 );
    lookup_ntdll( ntdll );
    return system_works( &error );
#else
    if (impl == IMPL_AUTO) impl_used = system_works( &error ) ? IMPL_SYSTEM : IMPL_SHIM;
    if (impl_used == IMPL_SYSTEM)
    {
        lookup_kernel32( kernel32 );
        lookup_ntdll( ntdll );
        return system_works( &error );
    }
    if (!(shim_kernel32 = load_beside( "kernel32_ums.dll" ))) return FALSE;
    if (!(shim_ntdll = load_beside( "ntdll_ums.dll" ))) return FALSE;
    lookup_kernel32( shim_kernel32 );
    lookup_ntdll( shim_ntdll );
    return TRUE;
#endif
}

/* File name of the module an address lies in; through a 14-byte absolute jump if there is one. */
static void module_of( const void *address, char *buffer, size_t size )
{
    static const BYTE jump[] = { 0xff, 0x25, 0, 0, 0, 0 };
    char path[MAX_PATH];
    const char *slash;
    HMODULE module;
    size_t length;
    int hop;

    buffer[0] = 0;
    for (hop = 0; hop < 2 && address; hop++)
    {
        path[0] = 0;
        if (GetModuleHandleExA( GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
                                    GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                                address, &module ))
            GetModuleFileNameA( module, path, sizeof(path) );
        slash = strrchr( path, '\\' );
        length = strlen( buffer );
        snprintf( buffer + length, size - length, "%s%s", hop ? "->" : "",
                  path[0] ? (slash ? slash + 1 : path) : "?" );
        if (memcmp( address, jump, sizeof(jump) )) break;
        memcpy( &address, (const BYTE *)address + sizeof(jump), sizeof(address) );
    }
}

/* Add the module of an address to the line, once. */
static void add_module( char *line, size_t size, const void *address )
{
    char name[2 * MAX_PATH];
    size_t length = strlen( line );

    if (!address) return;
    module_of( address, name, sizeof(name) );
    if (strstr( line, name )) return;
    snprintf( line + length, size - length, "%s%s", length ? "," : "", name );
}

void pointers_print_host( void )
{
    static const char *const names[] = { "auto", "system", "shim", "bound" };
    NTSTATUS (WINAPI *get_version)( OSVERSIONINFOW * );
    const char *(CDECL *wine_version)( void );
    HMODULE ntdll = GetModuleHandleA( "ntdll.dll" );
    char from[4 * MAX_PATH] = "", nt_from[4 * MAX_PATH] = "", line[10 * MAX_PATH], ums[32];
    OSVERSIONINFOW version;
    DWORD error, written;
    int length;

    memset( &version, 0, sizeof(version) );
    version.dwOSVersionInfoSize = sizeof(version);
    get_version = (NTSTATUS (WINAPI *)( OSVERSIONINFOW * ))(void *)GetProcAddress(
        ntdll, "RtlGetVersion" );
    wine_version =
        (const char *(CDECL *)( void ))(void *)GetProcAddress( ntdll, "wine_get_version" );
    if (get_version) get_version( &version );
    if (system_works( &error )) strcpy( ums, "works" );
    else snprintf( ums, sizeof(ums), "error-%lu", error );

#define X( ret, name, args ) add_module( from, sizeof(from), (const void *)p##name );
    UMS_KERNEL32_EXPORTS( X )
#undef X
#define X( ret, name, args ) add_module( nt_from, sizeof(nt_from), (const void *)p##name );
    UMS_NTDLL_EXPORTS( X )
    UMS_NTDLL_FACTORY_EXPORTS( X )
#undef X
    length = snprintf( line, sizeof(line),
                       "# host %lu.%lu.%lu wine=%s system_ums=%s impl=%s from=%s nt_from=%s "
                       "missing=%d\n",
                       version.dwMajorVersion, version.dwMinorVersion, version.dwBuildNumber,
                       wine_version ? wine_version() : "no", ums, names[impl_used],
                       from[0] ? from : "none", nt_from[0] ? nt_from : "none", names_missing );
    WriteFile( GetStdHandle( STD_OUTPUT_HANDLE ), line, length, &written, NULL );
}

int umstest_is_shim( void )
{
    static int answer = -1;
    char name[2 * MAX_PATH];

    if (answer >= 0) return answer;
    if (impl_used == IMPL_SHIM) return answer = 1;
    module_of( (const void *)pCreateUmsCompletionList, name, sizeof(name) );
    return answer =
               GetModuleHandleA( "kernel32_ums.dll" ) && strstr( name, "kernel32_ums" ) != NULL;
}

/* The one thing that is not asked by a documented name: an engine that works, but carries nobody,
 * looks like one that does. */
void pointers_count_switches( struct shared *result )
{
    HMODULE module = GetModuleHandleA( "ntdll_ums.dll" );
    const struct ums_private *(WINAPI *get)( void ) = NULL, *core;
    uint64_t carried, sent_home;

    if (module)
        get = (const struct ums_private *(WINAPI *)( void ))(void *)GetProcAddress(
            module, MAKEINTRESOURCEA( 1 ) );
    core = get ? get() : NULL;
    if (!core || core->size != sizeof(*core)) return;
    core->count_switches( &carried, &sent_home );
    result->carried   = (LONG64)carried;
    result->sent_home = (LONG64)sent_home;
    result->carries   = strstr( core->describe(), "engine=carry" ) != NULL;
}
