/*
 * What the figures were measured on.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Under Wine /proc is read through drive Z:; its files are opened by the wineserver, so nothing of
 * /proc/self is of use here. On Windows those facts are missing, and so is the load.
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <psapi.h>
#include <stdio.h>
#include <string.h>
#include "bench.h"
#include "private/ums_private.h"

static BOOL read_first_line( const char *path, char *line, int size )
{
    FILE *file = fopen( path, "r" );
    BOOL ret = FALSE;

    if (!file) return FALSE;
    if (fgets( line, size, file ))
    {
        line[strcspn( line, "\r\n" )] = 0;
        ret = TRUE;
    }
    fclose( file );
    return ret;
}

const char *host_wine( void )
{
    static char name[64];
    const char *(CDECL *wine_get_version)( void );

    wine_get_version = (void *)GetProcAddress( GetModuleHandleW( L"ntdll.dll" ),
                                               "wine_get_version" );
    if (!wine_get_version) return "none";
    snprintf( name, sizeof(name), "wine-%s", wine_get_version() );
    return name;
}

const char *host_kernel( void )
{
    static char name[128];

    if (!read_first_line( "Z:\\proc\\sys\\kernel\\osrelease", name, sizeof(name) ))
        strcpy( name, "Windows" );
    return name;
}

const char *host_cpu( void )
{
    static const char key[] = "HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0";
    static char name[128];
    DWORD size = sizeof(name);

    if (RegGetValueA( HKEY_LOCAL_MACHINE, key, "ProcessorNameString", RRF_RT_REG_SZ, NULL,
                      name, &size ))
        strcpy( name, "unknown" );
    return name;
}

const char *host_engine( void )
{
    static char active[256];

    if (!GetEnvironmentVariableA( "UMS_ACTIVE", active, sizeof(active) )) strcpy( active, "none" );
    return active;
}

/* Asked of the shim itself, whose build is the benchmark's: to a program there is no difference. NULL: not
   there, or of another build. */
static const struct ums_private *find_core( void )
{
    HMODULE module = GetModuleHandleA( "ntdll_ums.dll" );
    const struct ums_private *(WINAPI *get)( void ) =
        module ? (void *)GetProcAddress( module, MAKEINTRESOURCEA( 1 ) ) : NULL;
    const struct ums_private *core = get ? get() : NULL;

    return core && core->size == sizeof(*core) ? core : NULL;
}

struct switches host_switches( void )
{
    const struct ums_private *core = find_core();
    uint64_t carried = 0, sent_home = 0;

    if (core) core->count_switches( &carried, &sent_home );
    return (struct switches){ (double)carried, (double)sent_home };
}

static BOOL is_carry( void )
{
    const struct ums_private *core = find_core();

    return core && strstr( core->describe(), "engine=carry" );
}

BOOL host_check_carried( const char *name, struct switches before )
{
    struct switches now = host_switches();
    double carried = now.carried - before.carried, all = carried + now.sent_home - before.sent_home;
    char figure[64];

    if (!all) return TRUE;
    snprintf( figure, sizeof(figure), "%s.carried", name );
    stats_add( figure, "%", 100 * carried / all );
    if (carried || !is_carry()) return TRUE;
    printf( "umsbench: %s: the engine is said to be carry, but it has carried nobody\n", name );
    return FALSE;
}

int host_is_local( HANDLE object )
{
    const struct ums_private *core = find_core();

    return core ? core->is_local( object ) : -1;
}

const char *host_no_local_objects( void )
{
    const struct ums_private *core = find_core();
    const struct ums_choice *choice;
    uint32_t i, count;

    if (!core) return "the shim is not there, or of another build";
    for (i = 0, choice = core->choices( &count ); i < count; i++, choice++)
        if (!strcmp( choice->subject, "objects" ) && !strcmp( choice->name, "user" ))
            return choice->taken ? NULL : choice->why;
    return "the shim has none";
}

const char *host_load( void )
{
    static char line[64];
    char *end;
    int i;

    if (!read_first_line( "Z:\\proc\\loadavg", line, sizeof(line) )) return "";
    for (i = 0, end = line; *end; end++)
        if (*end == ' ' && ++i == 3) break;
    *end = 0;
    return line;
}

unsigned int host_cpus( void )
{
    SYSTEM_INFO info;

    GetSystemInfo( &info );
    return info.dwNumberOfProcessors;
}

double host_resident( void )
{
    PROCESS_MEMORY_COUNTERS counters;

    if (!K32GetProcessMemoryInfo( GetCurrentProcess(), &counters, sizeof(counters) )) return 0;
    return counters.WorkingSetSize;
}
