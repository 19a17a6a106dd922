/*
 * ntdll_ums.dll: start.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <windows.h>
#include "core/objects.h"
#include "core/wait.h"
#include "syscalls/hook/hook.h"
#include "host/ke_win32.h"
#include "api/thread.h"
#include "factory/factory_host.h"
#include "hud/hud.h"
#include "main.h"
#include "record/record.h"
#include "record/record_host.h"
#include "umsnt.h"
#include "private/known_wines.h"
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
static const struct ums_choice *get_choices( uint32_t *count );

static const struct ums_private private_interface =
{
    sizeof(struct ums_private), activate, ums_thread_bind, ums_thread_made, ums_thread_unbind,
    set_child_hook, ums_yield, ums_execute, describe, &ums_settings, ums_log_levels, ums_say_args,
    get_choices, ums_count_switches, ums_object_is_local
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

/* ---- choices, and the reasons for them ---- */

#define MAX_CHOICES 12

static struct ums_choice choices[MAX_CHOICES];
static uint32_t choice_count;

static void choose( const char *subject, const char *name, int taken, const char *why )
{
    struct ums_choice choice = { subject, name, why, taken };

    if (choice_count < MAX_CHOICES) choices[choice_count++] = choice;
}

/* The first hook that fits, or the one that UMS_HOOK names. */
static const struct hook *find_hook( const char **why )
{
    const char *wanted = ums_setting_text( SETTING_HOOK );
    int any = !lstrcmpA( wanted, "auto" );
    const struct hook *found = NULL;
    unsigned int i;

    for (i = 0; i < ARRAYSIZE(hooks); i++)
    {
        if (!any && lstrcmpA( wanted, hooks[i].name ))
            choose( "hook", hooks[i].name, 0, "UMS_HOOK asks for another" );
        else if (found) choose( "hook", hooks[i].name, 0, "not needed, the one before fits" );
        else if (hooks[i].find( why ))
        {
            found = &hooks[i];
            choose( "hook", found->name, 1, any ? "the first that fits this host"
                                                : "UMS_HOOK asks for it, and it fits" );
        }
        else
        {
            choose( "hook", hooks[i].name, 0, *why );
            ums_info( "hook %s cannot be used, because %s", hooks[i].name, *why );
        }
    }
    return found;
}

#define GRACE_UNSEEN 20000                      /* 2 ms, in units of 100 ns: where nobody looks whether a thread sleeps, one
                                                   that waits for a processor would too often count as blocked */

static int unix_calls_unseen;                   /* where workers are carried, they are seen */

/* What cannot be seen of local objects, for whoever reads umsinfo. */
#define LOSES_SIGNALS \
    "a signal is lost if another process takes the handle (docs/local_objects.md)"

/* The stub hook of the other engine sees only calls that are listed. */
static const char *no_objects( const struct hook *hook )
{
    return ums_setting( SETTING_LOCAL_OBJECTS ) != 2
           ? "UMS_LOCAL_OBJECTS does not ask for it; " LOSES_SIGNALS
           : !ums_waits_here ? "it needs UMS_USER_WAITS"
           : hook && !ums_carry && !lstrcmpA( hook->name, "stubs" )
           ? "the stub hook does not see all calls where workers are not carried"
           : unix_calls_unseen ? "Unix calls are not seen, and may set or wait for one" : NULL;
}

static void choose_objects( void )
{
    ums_objects_on = !no_objects( NULL ) && ums_objects_start();
}

/* When the engine is known, and no hook is in place: so no object was made. */
static void may_have_objects( const struct hook *hook )
{
    ums_objects_on = ums_objects_on && !no_objects( hook );
}

static void tell_objects( const struct hook *hook )
{
    const char *why = no_objects( hook );

    if (!why && !ums_objects_on) why = "memory is short";
    choose( "objects", "user", !why, why ? why : "UMS_LOCAL_OBJECTS asks for it; " LOSES_SIGNALS );
    choose( "objects", "kernel", !!why, why ? "it works everywhere" : "UMS_LOCAL_OBJECTS asks for another" );
}

static int start_carry( const struct hook *hook, int if_faster, const char **why )
{
    ums_carry = !(*why = ke_probe_carry( if_faster ));
    if (ums_carry) may_have_objects( hook );
    if (ums_carry && ums_hook_unix_install( why ) && hook->install( why )) return 1;
    ums_carry = 0;
    return 0;
}

/* Choose the engine before the hook is installed, because the hook needs to know it. In case of doubt
   it is handoff, which works everywhere, unless the user asked for carry. So it is where carry would be
   slower. NULL: *why says what does not fit. */
static const char *start_engine( const struct hook *hook, const char **why )
{
    const char *wanted = ums_setting_text( SETTING_ENGINE ), *unseen;
    int any = !lstrcmpA( wanted, "auto" );

    if (!lstrcmpA( wanted, "handoff" ))
        choose( "engine", "carry", 0, "UMS_ENGINE asks for another" );
    else if (start_carry( hook, any, why ))
    {
        choose( "engine", "carry", 1, any ? "the faster one, and a trial went well"
                                          : "UMS_ENGINE asks for it, and a trial went well" );
        choose( "engine", "handoff", 0, any ? "not needed" : "UMS_ENGINE asks for another" );
        return "carry";
    }
    else
    {
        choose( "engine", "carry", 0, *why );
        if (!any) return NULL;
        ums_info( "engine handoff, because %s", *why );
    }
    if ((unix_calls_unseen = !ums_hook_unix_install( &unseen )))
        ums_info( "Unix calls are not seen, because %s", unseen );
    may_have_objects( hook );
    if (!hook->install( why )) return NULL;
    choose( "engine", "handoff", 1, any ? "it works everywhere" : "UMS_ENGINE asks for it" );
    return "handoff";
}

static void choose_park( void )
{
    int futex = !lstrcmpA( ke_park_name(), "futex" );

    choose( "park", "futex", futex, futex ? "Linux has it, and a trial went well" : ke_no_futex() );
    choose( "park", "address", !futex, futex ? "not needed" : "it works everywhere" );
}

/* Can workers wait without a kernel call (core/wait.c)? NULL, or why the host has to make the waits. If
   home threads park in RtlWaitOnAddress, they wait for alerts of their own there, so it cannot be done.
   Called before the hook is chosen, because the hook needs to know it. */
static const char *start_waits( void )
{
    const char *why = !lstrcmpA( ums_setting_text( SETTING_USER_WAITS ), "off" )
                      ? "UMS_USER_WAITS asks for the host's"
                      : !ke_parks_outside() ? "threads park with alerts of their own"
                      : !ums_timer_init() ? "memory is short" : NULL;

    ums_waits_here = !why;
    ums_alerts_kept = !ke_parks_outside();
    return why;
}

/* The hook may have found a reason against such waits. */
static void choose_waits( const char *why )
{
    if (!why && !ums_waits_here) why = "other software has patched these calls, and has to see them";
    choose( "waits", "user", !why, why ? why : "the faster ones, and threads park outside the host's" );
    choose( "waits", "kernel", !!why, why ? "they work everywhere" : "not needed" );
}

static const char *host_name( void )
{
    const char *(__cdecl *version)( void ) =
        (void *)GetProcAddress( GetModuleHandleA( "ntdll.dll" ),
                                                                     "wine_get_version" );
    return version ? version() : NULL;
}

/* NULL, or a message that explains why no hook fits this version of Wine. Before Wine 6, ntdll is a Unix
   library: there is no place where a hook could see a call, and the reason of each hook would help
   nobody. A Wine newer than those we know may have other stubs. */
static const char *check_wine( const char *version )
{
    static char refusal[200];

    if (!version || ums_hook_stubs_known()) return NULL;
    _snprintf( refusal, sizeof(refusal) - 1,
               "this is Wine %s, whose ntdll has no system calls of a known kind; please use a Wine "
               "that is known to work (" UMS_KNOWN_WINES "), and report this one if it is newer",
               version );
    return refusal;
}

/* ke_init puts handlers of signals in front of Wine's, and later any thread may be inside a hook. Nothing of
   that is taken away if the start fails behind it, so this DLL must never be unloaded. */
static void stay_loaded( void )
{
    HMODULE pinned;

    GetModuleHandleExA( GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
                        (const char *)&private_interface, &pinned );
}

/* Start UMS. NULL, or why it cannot run here. */
static const char *start( void )
{
    const char *why = "memory is short", *engine, *wine = host_name(), *refusal, *no_waits;
    const struct hook *hook;
    int hud;

    if (ums_settings.refusal[0]) return ums_settings.refusal;
    if ((refusal = check_wine( wine ))) return refusal;
    ums_dequeue_door = RtlDequeueUmsCompletionListItems;
    ums_record_begin();
    hud = ums_hud_wanted();
    stay_loaded();
    if (!ums_completion_init() || !ums_context_init() || !ums_scheduler_init() ||
        !ums_factory_init() || !ums_handles_init() || !ke_init( &why ) || !ums_manager_init())
        return why;
    choose_park();
    no_waits = start_waits();
    choose_objects();
    if (!(hook = find_hook( &why ))) return why;
    if (!(engine = start_engine( hook, &why ))) return why;
    choose_waits( no_waits );
    tell_objects( hook );
    ums_straight = ums_carry && !ums_recording && !hud;
    if (!ums_hook_apc_install())
        ums_info( "APCs of workers run concurrently with their scheduler, because KiUserApcDispatcher "
                  "of this ntdll is of an unknown kind" );
    ke_signal_start();
    ke_warden_start();
    ums_hook_sigsys_install();
    ums_grace = ums_grace_unseen = (int64_t)ums_setting( SETTING_GRACE_US ) * 10;
    if (ums_grace_unseen < GRACE_UNSEEN) ums_grace_unseen = GRACE_UNSEEN;
    _snprintf( description, sizeof(description) - 1, "engine=%s hook=%s park=%s host=%s%s%s", engine,
               hook->name, ke_park_name(), wine ? "wine-" : "windows", wine ? wine : "",
               ums_carry && ums_gs_by_syscall ? " gs=arch_prctl" : "" );
    ums_record_about( description );
    if (hud) ums_hud_begin();
    ums_info( "active, %s", description );
    return NULL;
}

/* Start UMS at the first request. Before that, nothing in the process is changed: on a host with UMS of
   its own there is no request. Any thread; a second caller waits for the first. */
static const char *activate( void )
{
    static LONG state;                          /* 0 not started, 1 starting, 2 done */
    static const char *error;                   /* written before state becomes 2 */

    if (InterlockedCompareExchange( &state, 1, 0 ) == 0)
    {
        if (!(error = ums_forbidden())) error = start();
        if (error) ums_record_cancel();
        InterlockedExchange( &state, 2 );
    }
    while (InterlockedCompareExchange( &state, 2, 2 ) != 2) SwitchToThread();
    return error;
}

static const struct ums_choice *get_choices( uint32_t *count )
{
    activate();                                 /* writes the choices, once */
    *count = choice_count;
    return choices;
}

/* For the two calls that every client makes first. On failure, logs the reason once. */
int ums_active( void )
{
    static LONG told;
    const char *error = activate();

    if (error && !InterlockedExchange( &told, 1 )) ums_log( "cannot work here: %s", error );
    return !error;
}

int ums_gives_place( void )
{
    struct ums_hand *h = ums_hand_current();

    return h && ums_hand_blocks( h );
}

void ums_takes_place( void )
{
    ums_hand_is_back( ums_hand_current() );
}

BOOL WINAPI DllMainCRTStartup( HINSTANCE instance, DWORD reason, void *reserved )
{
    (void)reserved;
    if (reason != DLL_PROCESS_ATTACH) return TRUE;
    DisableThreadLibraryCalls( instance );
    ums_settings_start( ums_trusts_environment() );
    return TRUE;
}
