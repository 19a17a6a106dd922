/*
 * ntdll_ums.dll: start.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <windows.h>
#include "ums_core.h"
#include "hook.h"
#include "ke_win32.h"
#include "thread.h"
#include "factory_host.h"
#include "hud.h"
#include "main.h"
#include "record.h"
#include "record_host.h"
#include "private/trace.h"
#include "private/ums_private.h"

BOOL WINAPI DllMainCRTStartup( HINSTANCE instance, DWORD reason, void *reserved );

extern void (*ums_child_hook)( HANDLE process );

int __cdecl _snprintf( char *, size_t, const char *, ... );

static char description[128];

static void set_child_hook( void (*hook)( HANDLE process ) )
{
    ums_child_hook = hook;
}

static const char *describe( void )
{
    return description;
}

static const char *activate( void );

static const struct ums_private private_interface =
{
    activate, ums_thread_bind, ums_thread_made, ums_thread_unbind, set_child_hook, ums_yield,
    ums_execute,
    describe, ums_trusts_environment
};

const struct ums_private * WINAPI ums_private( void )
{
    return &private_interface;
}

struct hook
{
    const char *name;
    int (*find)( const char **why );
    int (*install)( const char **why );
};

static const struct hook hooks[] =
{
    { "dispatcher", ums_hook_dispatcher_find, ums_hook_dispatcher_install },
    { "stubs",      ums_hook_stubs_find,      ums_hook_stubs_install },
};

/* The first that fits, or the one that is wanted. */
static const struct hook *find_hook( const char **why )
{
    char wanted[16];
    int any = !ums_env( "UMS_HOOK", wanted, sizeof(wanted) ) || !lstrcmpA( wanted, "auto" );
    unsigned int i;

    *why = "UMS_HOOK is none of auto, dispatcher, stubs";
    for (i = 0; i < ARRAYSIZE(hooks); i++)
    {
        if (!any && lstrcmpA( wanted, hooks[i].name )) continue;
        if (hooks[i].find( why )) return &hooks[i];
        ums_info( "not hook %s, because %s", hooks[i].name, *why );
    }
    return NULL;
}

/* "carry", "handoff" or, if anything will do, "auto"; NULL for anything else. */
static const char *wanted_engine( void )
{
    static const char *const engines[] = { "auto", "carry", "handoff" };
    char wanted[16];
    unsigned int i;

    if (!ums_env( "UMS_ENGINE", wanted, sizeof(wanted) )) return engines[0];
    for (i = 0; i < ARRAYSIZE(engines); i++) if (!lstrcmpA( wanted, engines[i] )) return engines[i];
    return NULL;
}

/* The engine is known before the hook is installed: what the hook has to see depends on it. Any
   doubt, and nobody insists: handoff, which works everywhere. NULL: *why says what does not fit. */
static const char *start_engine( const struct hook *hook, const char **why )
{
    const char *wanted = wanted_engine(), *unseen;

    *why = "UMS_ENGINE is none of auto, carry, handoff";
    if (!wanted) return NULL;
    if (lstrcmpA( wanted, "handoff" ))
    {
        ums_carry = !(*why = ke_probe_carry());
        if (ums_carry && ums_hook_unix_install( why ) && hook->install( why )) return "carry";
        ums_carry = 0;
        if (lstrcmpA( wanted, "auto" )) return NULL;
        ums_info( "engine handoff, because %s", *why );
    }
    if (!hook->install( why )) return NULL;
    if (!ums_hook_unix_install( &unseen ))
        ums_info( "Unix calls are not seen, because %s", unseen );
    return "handoff";
}

static void read_grace( void )
{
    char value[16];
    int64_t us = 0;
    const char *p;

    if (!ums_env( "UMS_GRACE_US", value, sizeof(value) )) return;
    for (p = value; *p >= '0' && *p <= '9'; p++) us = us * 10 + (*p - '0');
    if (!*p && us > 0) ums_grace = us * 10;
}

static const char *host_name( void )
{
    const char *(__cdecl *version)( void ) =
        (void *)GetProcAddress( GetModuleHandleA( "ntdll.dll" ),
                                                                     "wine_get_version" );
    return version ? version() : NULL;
}

/* NULL, or why it cannot be done here. */
static const char *start( void )
{
    const char *why = "memory is short", *engine, *wine;
    const struct hook *hook;
    HMODULE pinned;
    int hud;

    ums_record_begin();
    hud = ums_hud_wanted();
    if (!ums_completion_init() || !ums_context_init() || !ums_scheduler_init() ||
        !ums_factory_init() || !ums_handles_init() || !ke_init( &why ) || !ums_manager_init() || !(hook = find_hook( &why )) || !(engine = start_engine( hook, &why )))
        return why;

    /* threads may be inside the hook at any time from now on */
    GetModuleHandleExA( GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
                        (const char *)&private_interface, &pinned );
    ums_straight = ums_carry && !ums_recording && !hud;
    if (ums_carry) ke_carry_start();
    ke_signal_start();
    read_grace();
    wine = host_name();
    _snprintf( description, sizeof(description) - 1, "engine=%s hook=%s park=%s host=%s%s", engine,
               hook->name, ke_park_name(), wine ? "wine-" : "windows", wine ? wine : "" );
    ums_record_about( description );
    if (hud) ums_hud_begin();
    ums_info( "active, %s", description );
    return NULL;
}

/* Nothing of the process is changed before somebody wants UMS of us: on a host whose own UMS
   serves nobody does. Any thread; whoever comes second waits for the first. */
static const char *activate( void )
{
    static LONG state;                          /* 0 not started, 1 starting, 2 done */
    static const char *error;                   /* written before state becomes 2 */

    if (InterlockedCompareExchange( &state, 1, 0 ) == 0)
    {
        error = start();
        InterlockedExchange( &state, 2 );
    }
    while (InterlockedCompareExchange( &state, 2, 2 ) != 2) SwitchToThread();
    return error;
}

/* For the two calls that everything begins with. Says why, once, if it cannot be done. */
int ums_active( void )
{
    static LONG told;
    const char *error = activate();

    if (error && !InterlockedExchange( &told, 1 )) ums_log( "cannot work here: %s", error );
    return !error;
}

BOOL WINAPI DllMainCRTStartup( HINSTANCE instance, DWORD reason, void *reserved )
{
    (void)reserved;
    if (reason != DLL_PROCESS_ATTACH) return TRUE;
    DisableThreadLibraryCalls( instance );
    return TRUE;
}
