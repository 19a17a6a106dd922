/*
 * Settings: what people can choose. The list is settings.def; docs/environment.md explains.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * They are read once, when ntdll_ums is loaded, into plain memory that nobody writes any more: the
 * defaults, then ums.conf beside the program, then the environment. So looking one up is a load,
 * in any thread and at any time. Host-free, so that it can be tried out.
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
    ORIGIN_PROFILE,                             /* in there, for this one */
    ORIGIN_ENVIRONMENT
};

#define SETTING_TEXT     800                    /* MAX_PATH characters in UTF-8, and the end */
#define SETTING_PROBLEM  480
#define SETTING_PROBLEMS 8                      /* that are kept */
#define SETTING_CONF_MAX 0x10000                /* bytes of a ums.conf */

struct setting_row
{
    const char       *name;                     /* UMS_HOOK */
    enum setting_kind kind;
    const char       *allowed, *standard;
};

struct setting_value
{
    char                text[SETTING_TEXT];     /* as it was written, UTF-8 */
    uint32_t            number;                 /* a number, or which of the choices */
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
    uint32_t problem_count;                     /* more than are kept, perhaps */
};

extern const struct setting_row settings_rows[SETTINGS];

/* The defaults. */
void settings_init( struct settings *s, int trusted );

/* The text of a ums.conf, which is that file, for the program of that name. */
void settings_read_conf( struct settings *s, const char *file, const char *text, size_t size,
                         const char *program );

/* A variable of the environment. An empty one is as good as none. */
void settings_read_variable( struct settings *s, enum setting id, const char *value );

/* One more thing that people should hear of, about what (or NULL). */
void settings_problem( struct settings *s, const char *about, const char *what );

/* "environment", "Z:\\game\\ums.conf line 7" */
void settings_origin( const struct settings *s, enum setting id, char *text, size_t size );

#endif /* UMS_PRIVATE_SETTINGS_H */
