/*
 * Settings: what users can choose. settings.def has the list; docs/environment.md explains them.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * They are read once, when ntdll_ums is loaded: the defaults, then ums.conf beside the program, then the
 * environment. The memory does not change afterwards, so any thread can read a setting at any time with a
 * plain load. Nothing here depends on the host, so it can be tested natively.
 */
#ifndef UMS_PRIVATE_SETTINGS_H
#define UMS_PRIVATE_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

enum setting
{
#define SETTING( id, kind, allowed, standard, meaning ) SETTING_##id,
#define FOREIGN( id, meaning )
#include "private/settings.def"
#undef SETTING
#undef FOREIGN
    SETTINGS
};

enum setting_kind
{
    SETTING_KIND_CHOICE, SETTING_KIND_INSIST, SETTING_KIND_NUMBER, SETTING_KIND_LEVELS,
    SETTING_KIND_PATH
};

enum setting_origin
{
    ORIGIN_DEFAULT,
    ORIGIN_CONF,                                /* ums.conf, for all programs */
    ORIGIN_PROFILE,                             /* ums.conf, for this program */
    ORIGIN_ENVIRONMENT
};

#define SETTING_TEXT     800                    /* MAX_PATH characters in UTF-8, and the end */
#define SETTING_PROBLEM  480
#define SETTING_PROBLEMS 8                      /* messages that are kept */
#define SETTING_CONF_MAX 0x10000                /* bytes of a ums.conf */

struct setting_row
{
    const char       *name;                     /* UMS_HOOK */
    enum setting_kind kind;
    const char       *allowed, *standard;
};

struct setting_value
{
    char                text[SETTING_TEXT];     /* as the user wrote it, UTF-8 */
    uint32_t            number;                 /* a number, or the index of a choice */
    enum setting_origin origin;
    uint32_t            line;                   /* of ums.conf */
};

struct settings
{
    struct setting_value values[SETTINGS];
    int      trusted;                           /* are paths followed, is ums.conf read? */
    char     conf[SETTING_TEXT];                /* the ums.conf that was read; empty: none */
    char     refusal[SETTING_PROBLEM];          /* why the program must not be run; or empty */
    char     problems[SETTING_PROBLEMS][SETTING_PROBLEM];
    uint32_t problem_count;                     /* may be higher than SETTING_PROBLEMS */
};

extern const struct setting_row settings_rows[SETTINGS];

/* Set the defaults. */
void settings_init( struct settings *s, int trusted );

/* Read the text of a ums.conf. file: its path, for messages; program: the name of the program's file. */
void settings_read_conf( struct settings *s, const char *file, const char *text, size_t size,
                         const char *program );

/* Read the value of an environment variable. An empty value is ignored. */
void settings_read_variable( struct settings *s, enum setting id, const char *value );
/* The variable has a value that is longer than any that is valid. */
void settings_long_variable( struct settings *s, enum setting id );

/* Add a message for the log; about: the value that it is about, or NULL. */
void settings_problem( struct settings *s, const char *about, const char *what );

/* "environment", "Z:\\game\\ums.conf line 7" */
void settings_origin( const struct settings *s, enum setting id, char *text, size_t size );

#endif /* UMS_PRIVATE_SETTINGS_H */
