/*
 * Settings out of bytes: what a ums.conf and an environment may hold. See driver.c.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Most bytes stand for a word of the language, or nearly one; the others for themselves. Whatever comes out: each value
 * is one that its row allows, what is said is text, and a variable of the environment that is right beats the file.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "private/log_spec.h"
#include "private/settings.h"
#include "fuzz.h"

#define TEXT_MAX 0x4000

static const char *const words[] =
{
    "UMS_ENGINE", "UMS_HOOK", "UMS_GRACE_US", "UMS_LOG", "UMS_LOG_FILE", "UMS_PARK", "ums_gs", "UMS_", "=", "=", "=", "\n",
    "\n", "\r\n", "[game.exe]", "[", "]", "other.exe", "#", " ", "\t", "auto", "carry", "stubs", "0", "1", "2000",
    "4294967296", "address", "warn", "trace+hook", ",", "+", "info", "%e", "%p", "%", "Z:\\log", "\xef\xbb\xbf", "\xff\xfe",
    "\xc3\xa4", "UMS_ENGINE=carry\n", "UMS_GRACE_US=7\n", "UMS_LOG=none,trace+worker\n", "[GAME.EXE]\nUMS_HOOK=stubs\n"
};
#define WORDS (sizeof(words) / sizeof(words[0]))

static char text[TEXT_MAX];

static size_t make_text( const uint8_t *data, size_t size )
{
    size_t i, len, used = 0;

    for (i = 0; i < size; i++)
    {
        const char *word = (const char *)&data[i];

        len = 1;
        if (data[i] < 200)
        {
            word = words[data[i] % WORDS];
            len = strlen( word );
        }
        if (used + len > TEXT_MAX) break;
        memcpy( text + used, word, len );
        used += len;
    }
    return used;
}

static void fail( const char *what )
{
    fprintf( stderr, "%s\n", what );
    abort();
}

static void check_said( const char *said, size_t size )
{
    if (strnlen( said, size ) == size) fail( "a text has no end" );
    for (; *said; said++)
        if ((unsigned char)*said < ' ' || *said == 0x7f) fail( "a text has control characters" );
}

/* A value that was taken is right: reading it again changes nothing, and nobody complains. */
static void check_value( const struct settings *s, int id )
{
    static struct settings again;
    const struct setting_value *value = &s->values[id];

    if (memchr( value->text, 0, sizeof(value->text) ) == NULL) fail( "a value has no end" );
    settings_init( &again, 1 );
    settings_read_variable( &again, (enum setting)id, value->text );
    if (again.problem_count || again.refusal[0]) fail( "a wrong value was taken" );
    if (again.values[id].number != value->number) fail( "a number has changed" );
    if (value->origin == ORIGIN_DEFAULT && strcmp( value->text, settings_rows[id].standard ))
        fail( "a default has changed" );
    if ((value->origin == ORIGIN_CONF || value->origin == ORIGIN_PROFILE) != (value->line != 0))
        fail( "a line of no file" );
}

static void check( const struct settings *s )
{
    uint32_t i;

    for (i = 0; i < SETTINGS; i++) check_value( s, (int)i );
    for (i = 0; i < s->problem_count && i < SETTING_PROBLEMS; i++) check_said( s->problems[i], SETTING_PROBLEM );
    check_said( s->refusal, sizeof(s->refusal) );
}

int LLVMFuzzerTestOneInput( const uint8_t *data, size_t size )
{
    static struct settings s;
    char variable[64], *copy;
    size_t used = make_text( data, size ), cut = size ? data[0] % 63 : 0;

    if (!(copy = malloc( used ? used : 1 ))) return 0;          /* of that size: a look behind it is noticed */
    memcpy( copy, text, used );
    settings_init( &s, 1 );
    settings_read_conf( &s, "Z:\\game\\ums.conf", copy, used, "game.exe" );
    check( &s );
    if (cut > used) cut = used;
    memcpy( variable, text, cut );
    variable[cut] = 0;
    settings_read_variable( &s, (enum setting)(used % SETTINGS), variable );
    settings_read_variable( &s, SETTING_PARK, "address" );
    check( &s );
    if (s.values[SETTING_PARK].number != 1 || s.values[SETTING_PARK].origin != ORIGIN_ENVIRONMENT)
        fail( "the environment does not count" );
    free( copy );
    return 0;
}
