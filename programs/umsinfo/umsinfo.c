/*
 * umsinfo.exe [--verbose]: says whether User-Mode Scheduling works here, who provides it, and why engine
 * and hook were chosen. Exit status: 0 if it works, 1 if not. The first line is the answer; the other
 * lines are kept until it is known. --verbose: also says where each name leads.
 *
 * If umsrun.exe starts it, it sees what every program started by umsrun.exe sees. If it is started
 * directly, it loads kernel32_ums.dll from its own folder, as a program that knows the shim may do.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "umsinfo.h"
#include "private/settings.h"
#include "private/ums_private.h"

enum source { SOURCE_NONE, SOURCE_LAUNCHER, SOURCE_BESIDE, SOURCE_HOST };

static const char *const foreign[] =
{
#define SETTING( id, kind, allowed, standard, meaning )
#define FOREIGN( id, meaning ) "UMS_" #id,
#include "private/settings.def"
#undef SETTING
#undef FOREIGN
    NULL
};

static char kept[0x10000];

void print( const char *format, ... )
{
    size_t len = strlen( kept );
    va_list args;

    va_start( args, format );
    vsnprintf( kept + len, sizeof(kept) - len, format, args );
    va_end( args );
}

/* ---- where we are ---- */

static void *host_function( const char *name )
{
    return (void *)GetProcAddress( GetModuleHandleA( "ntdll.dll" ), name );
}

static void print_host( void )
{
    NTSTATUS (WINAPI *get_version)( OSVERSIONINFOW * ) = host_function( "RtlGetVersion" );
    const char *(CDECL *build_id)( void ) = host_function( "wine_get_build_id" );
    void (CDECL *host_version)( const char **, const char ** ) =
        host_function( "wine_get_host_version" );
    OSVERSIONINFOW version = { .dwOSVersionInfoSize = sizeof(version) };
    const char *sysname = "", *release = "";

    if (get_version) get_version( &version );
    print( "host         " );
    if (build_id) print( "%s", build_id() );
    if (host_version)
    {
        host_version( &sysname, &release );
        print( " on %s %s, which shows itself as ", sysname, release );
    }
    print( "Windows %lu.%lu.%lu\n", version.dwMajorVersion, version.dwMinorVersion,
            version.dwBuildNumber );
}

/* Under Wine, print the Unix path; on Windows, or if there is none, the Windows path. */
static void print_path( HMODULE module )
{
    char *(CDECL *get_unix_name)( const WCHAR * );
    WCHAR path[MAX_PATH] = L"";
    char name[3 * MAX_PATH] = "", *unix_name;

    GetModuleFileNameW( module, path, MAX_PATH );
    get_unix_name = (void *)GetProcAddress( GetModuleHandleA( "kernel32.dll" ),
                                            "wine_get_unix_file_name" );
    if (get_unix_name && (unix_name = get_unix_name( path )))
    {
        print( "%s", unix_name );
        HeapFree( GetProcessHeap(), 0, unix_name );
        return;
    }
    WideCharToMultiByte( CP_ACP, 0, path, -1, name, sizeof(name), NULL, NULL );
    print( "%s", name );
}

/* From its version resource. */
static void print_module( const char *label, const char *name )
{
    HMODULE module = GetModuleHandleA( name );
    HRSRC resource = module ? FindResourceA( module, MAKEINTRESOURCEA( VS_VERSION_INFO ),
                                             (LPCSTR)RT_VERSION ) : NULL;
    const WORD *at = resource ? LockResource( LoadResource( module, resource ) ) : NULL;

    if (!module) return;
    print( "%-12s ", label );
    print_path( module );
    /* length, value's length, type, key, padding, then the fixed part */
    if (at && SizeofResource( module, resource ) >= 40 + sizeof(VS_FIXEDFILEINFO))
    {
        const VS_FIXEDFILEINFO *info = (const void *)((const char *)at + 40);

        if (info->dwSignature == 0xfeef04bd)
            print( ", version %u.%u.%u", HIWORD( info->dwFileVersionMS ),
                    LOWORD( info->dwFileVersionMS ), HIWORD( info->dwFileVersionLS ) );
    }
    print( "\n" );
}

static HMODULE load_beside( const char *name )
{
    char path[MAX_PATH + 32] = "";
    char *slash;

    GetModuleFileNameA( NULL, path, MAX_PATH );
    if (!(slash = strrchr( path, '\\' ))) return NULL;
    strcpy( slash + 1, name );
    return LoadLibraryA( path );
}

/* ---- what was chosen ---- */

/* NULL if the DLLs are missing, or are of another build than this program. */
static const struct ums_private *find_core( void )
{
    HMODULE module = GetModuleHandleA( "ntdll_ums.dll" );
    const struct ums_private *(WINAPI *get)( void ) =
        module ? (void *)GetProcAddress( module, MAKEINTRESOURCEA( 1 ) ) : NULL;
    const struct ums_private *core = get ? get() : NULL;

    if (!core || core->size == sizeof(*core)) return core;
    print( "shim         of another build than umsinfo.exe: what it has chosen is not known\n" );
    return NULL;
}

static void print_choices( const struct ums_private *core )
{
    const char *error = core->activate();
    const struct ums_choice *choice;
    uint32_t i, count;

    if (error) print( "start        FAILED: %s\n", error );
    choice = core->choices( &count );
    for (i = 0; i < count; i++, choice++)
        print( "%-12s %s%s: %s\n", choice->subject, choice->taken ? "" : "not ", choice->name,
                choice->why );
}

/* Print what the self-test has counted. Engine carry is slower than handoff if it carries no worker. */
static BOOL print_switches( const struct ums_private *core )
{
    BOOL none;
    uint64_t carried, sent_home;

    core->count_switches( &carried, &sent_home );
    none = !carried && strstr( core->describe(), "engine=carry" );
    print( "switches     %s%llu carried, %llu sent home\n", none ? "FAILED: " : "",
           (unsigned long long)carried, (unsigned long long)sent_home );
    return !none;
}

/* A variable UMS_* that is not a setting is probably a typing error. */
static void print_unknown_variables( void )
{
    char *block = GetEnvironmentStringsA(), *line;
    int i;

    for (line = block; line && *line; line += strlen( line ) + 1)
    {
        size_t len = strcspn( line, "=" );
        int known = 0;

        if (_strnicmp( line, "UMS_", 4 )) continue;
        for (i = 0; i < SETTINGS; i++)
            if (strlen( settings_rows[i].name ) == len &&
                !_strnicmp( line, settings_rows[i].name, len )) known = 1;
        for (i = 0; foreign[i]; i++)
            if (strlen( foreign[i] ) == len && !_strnicmp( line, foreign[i], len )) known = 1;
        if (!known) print( "settings     WRONG: %.*s (environment) is no setting\n", (int)len,
                            line );
    }
    FreeEnvironmentStringsA( block );
}

static void print_settings( const struct settings *s )
{
    char origin[SETTING_PROBLEM];
    uint32_t i;
    int told = 0;

    for (i = 0; i < SETTINGS; i++)
    {
        if (s->values[i].origin == ORIGIN_DEFAULT) continue;
        settings_origin( s, (enum setting)i, origin, sizeof(origin) );
        print( "settings     %s=%s (%s)\n", settings_rows[i].name, s->values[i].text, origin );
        told = 1;
    }
    if (!told) print( "settings     all as by default\n" );
    if (s->conf[0]) print( "settings     %s was read\n", s->conf );
    for (i = 0; i < s->problem_count && i < SETTING_PROBLEMS; i++)
        print( "settings     WRONG: %s\n", s->problems[i] );
    print_unknown_variables();
}

/* ---- whose it is ---- */

static BOOL host_has_it( void )
{
    BOOL (WINAPI *create)( PUMS_COMPLETION_LIST * ) =
        (void *)GetProcAddress( GetModuleHandleA( "kernel32.dll" ), "CreateUmsCompletionList" );
    BOOL (WINAPI *delete)( PUMS_COMPLETION_LIST ) =
        (void *)GetProcAddress( GetModuleHandleA( "kernel32.dll" ), "DeleteUmsCompletionList" );
    PUMS_COMPLETION_LIST list;

    return create && delete && create( &list ) && delete( list );
}

static enum source find_source( void )
{
    if (leads_to_shim( "CreateUmsCompletionList" )) return SOURCE_LAUNCHER;
    if (host_has_it()) return SOURCE_HOST;
    return GetModuleHandleA( "kernel32_ums.dll" ) || load_beside( "kernel32_ums.dll" )
           ? SOURCE_BESIDE : SOURCE_NONE;
}

static enum source source;

/* Prints its line before everything that was kept. */
int tell_verdict( BOOL works )
{
    static const char *const whose[] =
    {
        "kernel32.dll has it not, and kernel32_ums.dll is not beside umsinfo.exe",
        "by the shim, for this program as it is",
        "by the shim, for programs that load kernel32_ums.dll; others need umsrun.exe",
        "by the host itself"
    };
    char line[160];

    snprintf( line, sizeof(line), "%s: %s\n", works ? "User-Mode Scheduling works here" :
              source == SOURCE_NONE ? "No User-Mode Scheduling here" :
              "User-Mode Scheduling DOES NOT WORK here", whose[source] );
    fputs( line, stdout );
    fputs( kept, stdout );
    fflush( stdout );
    return works ? 0 : 1;
}

int main( int argc, char **argv )
{
    const struct ums_private *core;
    BOOL works = FALSE;
    struct api api;

    source = find_source();
    print_host();
    print_module( "program", NULL );
    print_module( "shim", "kernel32_ums.dll" );
    print_module( "shim", "ntdll_ums.dll" );
    if ((core = find_core()))
    {
        if (source != SOURCE_HOST) print_choices( core );
        print_settings( core->settings );
    }
    print_entry_points( argc > 1 && !strcmp( argv[1], "--verbose" ) );
    if (source != SOURCE_NONE &&
        api_find( GetModuleHandleA( source == SOURCE_BESIDE ? "kernel32_ums.dll" : "kernel32.dll" ),
                  &api ))
        works = self_test( &api, 1 );
    if (works && core && source != SOURCE_HOST) works = print_switches( core );
    return tell_verdict( works );
}
