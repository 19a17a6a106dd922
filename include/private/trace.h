/*
 * Messages to people.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A line goes to Wine's own console under Wine, else to the debugger, and to the file that
 * UMS_LOG_FILE names. What is said is chosen by UMS_LOG, for each channel (log_spec.h): a message
 * that is not wanted costs a load and a branch, and its arguments are not even made.
 *
 * A file says what its channel is before it includes this:  #define UMS_CHANNEL LOG_CHANNEL_hook
 *
 * Who may log. A line is a call into the Unix side or an exception, and a write to a file: that is,
 * kernel calls, which the hook sees like those of the program. It takes no lock, no heap and no
 * loader: all that is looked up, opened and read at the start. So a line may come from
 *  - the start: DllMain, what is called from there, and whatever activates the core;
 *  - calls that make things, from their caller's own code: CreateRemoteThreadEx and its like,
 *    before the worker is bound or after it was made;
 *  - a worker's own start routine, as if the program had written it;
 *  - the loader's notifications, and the hook behind a call that has made a process: the worker is
 *    in the kernel then, as far as others can see;
 *  - a thread that gives up waiting for another one (ke_gave_up): it suspends, resumes, kills or
 *    reads a thread, makes kernel calls for that anyway, and is at home if it is a worker's.
 * It must not come from a worker that is between two states, or from what stands in for it: execute,
 * yield, dequeue, upcalls, parking, the switch, the rest of the hook, a local call on a carrier,
 * signal handlers. What happens there is for records that take no kernel call.
 */
#ifndef UMS_PRIVATE_TRACE_H
#define UMS_PRIVATE_TRACE_H

#include <stdarg.h>
#include "private/log_spec.h"
#include "private/settings.h"

#ifndef UMS_CHANNEL
#define UMS_CHANNEL LOG_CHANNEL_main
#endif

/* Of each channel; written once, at start. Each DLL has its own. */
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

/* What must not happen, or what the program will notice. */
#define ums_err( ... )   UMS_SAY( UMS_CHANNEL, LOG_ERR, __VA_ARGS__ )
/* What is probably a mistake. */
#define ums_warn( ... )  UMS_SAY( UMS_CHANNEL, LOG_WARN, __VA_ARGS__ )
/* What is active, and what was chosen. */
#define ums_info( ... )  UMS_SAY( UMS_CHANNEL, LOG_INFO, __VA_ARGS__ )
/* Everything else that a person may want to follow. */
#define ums_trace( ... ) UMS_SAY( UMS_CHANNEL, LOG_TRACE, __VA_ARGS__ )
/* Always, even with UMS_LOG=none: why the program does not run. */
#define ums_log( ... )   ums_say( UMS_CHANNEL, LOG_NONE, __VA_ARGS__ )

/* A variable of the environment, as UTF-8; 0 if it is not set or empty. One that is too long gives
   "(too long)", which means nothing to anybody. For the settings; they are read by ums_setting. */
int ums_env( const char *name, char *value, unsigned int size );

/* May a path from outside be followed? (rights.h) */
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

/* Before anything else of the DLL: read all settings, open the log, say what is wrong with them.
   trusted: of ums_trusts_environment. In DllMain. */
void ums_settings_start( int trusted );
/* By that: to be able to say something. program: its name, without .exe. */
void ums_log_start( struct settings *s, const char *program );
/* The path, in UTF-8, that a setting of kind PATH means now. program: as above. path: SETTING_TEXT
   characters. 0: there is none, or it is too long, which is noted. At start. */
int ums_setting_path( struct settings *s, enum setting id, const char *program, char *path );
/* Where the schedule is recorded, if it is; empty otherwise. Written by ums_settings_start. */
extern char ums_trace_path[SETTING_TEXT];

#endif /* UMS_PRIVATE_TRACE_H */
