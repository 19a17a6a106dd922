/*
 * Log messages.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Under Wine a line goes to Wine's own log, otherwise to the debugger, and also to the file that
 * UMS_LOG_FILE names. UMS_LOG sets the level of each channel (log_spec.h). A message that is not wanted
 * costs a load and a branch; its arguments are not evaluated.
 *
 * A file defines its channel before it includes this:  #define UMS_CHANNEL LOG_CHANNEL_hook
 *
 * Who may log. A line is a call to the Unix side or an exception, and a write to a file. These are
 * kernel calls, which the hook sees like those of the program. Logging uses no lock, no heap and no
 * loader, because everything is looked up, opened and read at the start. So it is allowed in
 *  - the start: DllMain and functions called from it, and the activation of the core;
 *  - functions that create objects, in the caller's context: CreateRemoteThreadEx and others, before
 *    the worker is bound or after the thread was created;
 *  - a worker's own start routine, as if the program logged;
 *  - notifications of the loader, and the hook after a call that has created a process: to other
 *    threads the worker is in the kernel then;
 *  - a thread that gives up waiting for another one (ke_gave_up): it suspends, resumes, kills or
 *    queries a thread, makes kernel calls for that anyway, and is at home if it is a worker's.
 * It is not allowed while a worker is between two states, or in code that acts for it: execute, yield,
 * dequeue, upcalls, parking, the switch, the rest of the hook, a local call on a carrier, signal
 * handlers. Events there can be recorded (record/record.h), which needs no kernel call.
 */
#ifndef UMS_PRIVATE_TRACE_H
#define UMS_PRIVATE_TRACE_H

#include <stdarg.h>
#include "private/log_spec.h"
#include "private/settings.h"

#ifndef UMS_CHANNEL
#define UMS_CHANNEL LOG_CHANNEL_main
#endif

/* The level of each channel; written once, at start. Each DLL has its own copy. */
extern unsigned char ums_log_levels[LOG_CHANNELS];

/* At most 500 characters, no newline. Keeps the last error. */
void ums_say( enum log_channel channel, enum log_level level, const char *fmt, ... )
    __attribute__((format( printf, 3, 4 )));
void ums_say_args( enum log_channel channel, enum log_level level, const char *fmt, va_list args );

#define UMS_SAY( channel, level, ... ) \
    do { \
        if (__builtin_expect( ums_log_levels[channel] >= (level), 0 )) \
            ums_say( channel, level, __VA_ARGS__ ); \
    } while (0)

/* An internal error, or something that breaks the program. */
#define ums_err( ... )   UMS_SAY( UMS_CHANNEL, LOG_ERR, __VA_ARGS__ )
/* Probably a mistake of the user or the program. */
#define ums_warn( ... )  UMS_SAY( UMS_CHANNEL, LOG_WARN, __VA_ARGS__ )
/* The state of UMS, and the choices made. */
#define ums_info( ... )  UMS_SAY( UMS_CHANNEL, LOG_INFO, __VA_ARGS__ )
/* Everything else that helps to follow what happens. */
#define ums_trace( ... ) UMS_SAY( UMS_CHANNEL, LOG_TRACE, __VA_ARGS__ )
/* Always, even with UMS_LOG=none: why the program does not run. */
#define ums_log( ... )   ums_say( UMS_CHANNEL, LOG_NONE, __VA_ARGS__ )

/* Get an environment variable as UTF-8; returns 0 if it is not set or empty, ENV_TOO_LONG if there is no room
   for it. Used only to read the settings; use ums_setting for those. */
#define ENV_TOO_LONG 0x10000                    /* more than a variable can have */
int ums_env( const char *name, char *value, unsigned int size );

/* May paths from the environment or from ums.conf be followed? (rights.h) */
int ums_trusts_environment( void );

/* ---- ntdll_ums ---- */

extern struct settings ums_settings;

static inline uint32_t ums_setting( enum setting id )
{
    return ums_settings.values[id].number;
}

static inline const char *ums_setting_text( enum setting id )
{
    return ums_settings.values[id].text;
}

/* Read all settings, open the log, and log what is wrong with the settings. Called in DllMain, before
   anything else of the DLL. trusted: the result of ums_trusts_environment. */
void ums_settings_start( int trusted );
/* Called by ums_settings_start: open the log. program: the program's name, without .exe. */
void ums_log_start( struct settings *s, const char *program );
/* Get the path, in UTF-8, for a setting of kind PATH, with %e and %p replaced. program: as above. path:
   room for SETTING_TEXT characters. 0: there is none; or it is too long, which is logged. At start. */
int ums_setting_path( struct settings *s, enum setting id, const char *program, char *path );
/* The file of UMS_TRACE; empty if nothing is recorded. Written by ums_settings_start. */
extern char ums_trace_path[SETTING_TEXT];

#endif /* UMS_PRIVATE_TRACE_H */
