/*
 * Settings: how values are parsed, which of two values is used, and what is reported about an invalid
 * value. Nothing here depends on the host; settings_win32.c gets the text.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ums.conf is UTF-8: KEY=value lines, # comments, and [program.exe] before lines that are for one
 * program. Lines for all programs come before the first section. An invalid line is ignored, and the
 * rest of the file is used. The text is untrusted: it is parsed into these structs and used for nothing
 * else, and quotations of it in messages are truncated and stripped of control characters.
 */

#include <string.h>
#include "private/log_spec.h"
#include "private/settings.h"

#define QUOTED 60                               /* bytes of an invalid value that a message shows */
#define SHOWN_PATH 200                          /* bytes of a path that a message shows: its end */

#define SETTING( id, kind, allowed, standard, meaning ) \
    { "UMS_" #id, SETTING_KIND_##kind, allowed, standard },
#define FOREIGN( id, meaning )
const struct setting_row settings_rows[SETTINGS] =
{
#include "private/settings.def"
};
#undef SETTING
#undef FOREIGN

/* ---- text ---- */

struct words                                    /* a part of a text */
{
    const char *at;
    size_t      len;
};

struct out
{
    char  *text;                                /* always ends with a 0 */
    size_t size, used;
};

static struct out out_start( char *text, size_t size )
{
    struct out out = { text, size, 0 };

    text[0] = 0;
    return out;
}

/* Append, truncated to the room that is left. */
static void add_bytes( struct out *out, const char *text, size_t len )
{
    if (len > out->size - 1 - out->used) len = out->size - 1 - out->used;
    memcpy( out->text + out->used, text, len );
    out->used += len;
    out->text[out->used] = 0;
}

static void add( struct out *out, const char *text )
{
    add_bytes( out, text, strlen( text ) );
}

static void add_number( struct out *out, uint32_t number )
{
    char digit = (char)('0' + number % 10);

    if (number >= 10) add_number( out, number / 10 );
    add_bytes( out, &digit, 1 );
}

static int is_inside_letter( char c )           /* a continuation byte of UTF-8 */
{
    return (c & 0xc0) == 0x80;
}

/* Append untrusted text, in quotes. */
static void add_quoted( struct out *out, struct words words )
{
    size_t i, len = words.len;

    if (len > QUOTED)
        for (len = QUOTED; len && is_inside_letter( words.at[len] ); len--) ;
    for (i = 0; i < len; i++)
    {
        char c = words.at[i];

        if ((unsigned char)c < ' ' || c == 0x7f) c = '?';
        add_bytes( out, &c, 1 );
    }
    if (len < words.len) add( out, "..." );
}

static void add_path( struct out *out, const char *path )
{
    size_t len = strlen( path );

    if (len > SHOWN_PATH)
    {
        add( out, "..." );
        for (path += len - SHOWN_PATH; is_inside_letter( *path ); path++) ;
    }
    add( out, path );
}

static char lower( char c )
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static int same_name( struct words words, const char *name )
{
    size_t i;

    if (strlen( name ) != words.len) return 0;
    for (i = 0; i < words.len; i++) if (lower( words.at[i] ) != lower( name[i] )) return 0;
    return 1;
}

static int is_blank( char c )
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct words trimmed( struct words words )
{
    while (words.len && is_blank( words.at[0] )) words.at++, words.len--;
    while (words.len && is_blank( words.at[words.len - 1] )) words.len--;
    return words;
}

/* ---- messages about problems ---- */

/* The buffer for the next message. There is always one: further messages overwrite the last. */
static struct out next_problem( struct settings *s )
{
    uint32_t i = s->problem_count++;

    if (i >= SETTING_PROBLEMS) i = SETTING_PROBLEMS - 1;
    return out_start( s->problems[i], SETTING_PROBLEM );
}

void settings_problem( struct settings *s, const char *about, const char *what )
{
    struct out out = next_problem( s );

    if (about)
    {
        add_path( &out, about );
        add( &out, " " );
    }
    add( &out, what );
}

static void add_place( struct out *out, const struct settings *s, uint32_t line )
{
    add_path( out, s->conf );
    add( out, " line " );
    add_number( out, line );
}

static void add_origin( struct out *out, const struct settings *s, enum setting_origin origin,
                        uint32_t line )
{
    if (origin == ORIGIN_DEFAULT) add( out, "default" );
    else if (origin == ORIGIN_ENVIRONMENT) add( out, "environment" );
    else add_place( out, s, line );
}

void settings_origin( const struct settings *s, enum setting id, char *text, size_t size )
{
    struct out out = out_start( text, size );

    add_origin( &out, s, s->values[id].origin, s->values[id].line );
}

/* Append a|b|c as "a, b, c". */
static void add_choices( struct out *out, const char *choices )
{
    for (; *choices; choices++)
    {
        if (*choices == '|') add( out, ", " );
        else add_bytes( out, choices, 1 );
    }
}

static void add_words( struct out *out, const char *const *words )
{
    int i;

    for (i = 0; words[i]; i++)
    {
        if (i) add( out, ", " );
        add( out, words[i] );
    }
}

static void add_allowed( struct out *out, const struct setting_row *row )
{
    switch (row->kind)
    {
    case SETTING_KIND_NUMBER:
        add( out, "a number in " );
        add( out, row->allowed );
        break;
    case SETTING_KIND_LEVELS:
        add_words( out, log_level_names );
        add( out, ", or level+channel, with commas between them; channels: " );
        add_words( out, log_channel_names );
        break;
    case SETTING_KIND_PATH:
        add( out, "a path that is not too long, with %e, %p and %% only" );
        break;
    default:
        add_choices( out, row->allowed );
    }
}

static void wrong_value( struct settings *s, const struct setting_row *row, struct words value,
                         enum setting_origin origin, uint32_t line )
{
    int insists = row->kind == SETTING_KIND_INSIST;
    struct out out = insists && !s->refusal[0] ? out_start( s->refusal, sizeof(s->refusal) )
                                               : next_problem( s );

    add( &out, row->name );
    add( &out, "=" );
    add_quoted( &out, value );
    add( &out, " (" );
    add_origin( &out, s, origin, line );
    add( &out, insists ? ") is not valid; allowed: "
                       : ") is not valid and is ignored; allowed: " );
    add_allowed( &out, row );
}

/* ---- values ---- */

/* The index of the value in a|b|c; -1 if it is not one of them. */
static int find_choice( const char *choices, struct words value )
{
    int i;

    for (i = 0; ; i++, choices++)
    {
        size_t len = strcspn( choices, "|" );

        if (len == value.len && !memcmp( choices, value.at, len )) return i;
        choices += len;
        if (!*choices) return -1;
    }
}

/* Read a decimal number; *end points after its digits. A number above 32 bits becomes UINT32_MAX, which
   is too large for every setting. */
static uint32_t read_number( const char *text, const char **end )
{
    uint64_t number = 0;

    for (; *text >= '0' && *text <= '9'; text++)
        if (number <= UINT32_MAX) number = number * 10 + (uint64_t)(*text - '0');
    *end = text;
    return number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
}

static int is_in_range( const char *range, uint32_t number )
{
    uint32_t first = read_number( range, &range );

    return number >= first && number <= read_number( range + 1, &range );
}

/* text: the same as value, as a string. */
static int check_value( const struct setting_row *row, const char *text, struct words value,
                        uint32_t *number )
{
    unsigned char levels[LOG_CHANNELS];
    const char *end;
    int choice;

    *number = 0;
    switch (row->kind)
    {
    case SETTING_KIND_NUMBER:
        *number = read_number( text, &end );
        return !*end && is_in_range( row->allowed, *number );
    case SETTING_KIND_LEVELS:
        return log_spec_read( text, levels );
    case SETTING_KIND_PATH:
        return log_spec_expand( text, "", 0, NULL, 0 );
    default:
        if ((choice = find_choice( row->allowed, value )) < 0) return 0;
        *number = (uint32_t)choice;
        return 1;
    }
}

static void take( struct settings *s, enum setting id, struct words value,
                  enum setting_origin origin, uint32_t line )
{
    const struct setting_row *row = &settings_rows[id];
    struct setting_value *to = &s->values[id];
    char text[SETTING_TEXT];
    uint32_t number;

    if (!value.len) return;
    if (value.len < sizeof(text))
    {
        memcpy( text, value.at, value.len );
        text[value.len] = 0;
    }
    if (value.len >= sizeof(text) || strlen( text ) != value.len ||
        !check_value( row, text, value, &number ))
    {
        wrong_value( s, row, value, origin, line );
        return;
    }
    if (row->kind == SETTING_KIND_PATH && !s->trusted)
    {
        settings_problem( s, row->name, "is not followed: this process has more rights than its "
                                        "user, or they cannot be found out" );
        return;
    }
    memcpy( to->text, text, value.len + 1 );
    to->number = number;
    to->origin = origin;
    to->line = line;
}

void settings_init( struct settings *s, int trusted )
{
    int i;

    memset( s, 0, sizeof(*s) );
    s->trusted = 1;                             /* defaults come from the table */
    for (i = 0; i < SETTINGS; i++)
    {
        struct words standard = { settings_rows[i].standard, strlen( settings_rows[i].standard ) };

        take( s, (enum setting)i, standard, ORIGIN_DEFAULT, 0 );
    }
    s->trusted = trusted;
}

void settings_read_variable( struct settings *s, enum setting id, const char *value )
{
    struct words words = { value, strlen( value ) };

    take( s, id, words, ORIGIN_ENVIRONMENT, 0 );
}

void settings_long_variable( struct settings *s, enum setting id )
{
    static const char shown[] = "(too long)";
    struct words words = { shown, sizeof(shown) - 1 };

    wrong_value( s, &settings_rows[id], words, ORIGIN_ENVIRONMENT, 0 );
}

/* ---- ums.conf ---- */

enum section { SECTION_ALL, SECTION_OURS, SECTION_OTHERS };

static void wrong_line( struct settings *s, uint32_t line, const char *what, struct words words )
{
    struct out out = next_problem( s );

    add_place( &out, s, line );
    add( &out, ": " );
    add( &out, what );
    add_quoted( &out, words );
}

static void read_section( struct settings *s, struct words words, uint32_t line,
                          const char *program, enum section *section )
{
    struct words name = { words.at + 1, words.len - 2 };

    *section = SECTION_OTHERS;                  /* also if it is invalid: its lines are ignored */
    if (words.len < 3 || words.at[words.len - 1] != ']')
        wrong_line( s, line, "this should be [program.exe]: ", words );
    else if (same_name( trimmed( name ), program )) *section = SECTION_OURS;
}

static void read_pair( struct settings *s, struct words words, uint32_t line, enum section section )
{
    const char *equals = memchr( words.at, '=', words.len );
    struct words key = words, value;
    int i;

    if (!equals)
    {
        wrong_line( s, line, "this should be KEY=value: ", words );
        return;
    }
    key.len = (size_t)(equals - words.at);
    key = trimmed( key );
    value.at = equals + 1;
    value.len = words.len - (size_t)(value.at - words.at);
    for (i = 0; i < SETTINGS; i++)
    {
        if (!same_name( key, settings_rows[i].name )) continue;
        take( s, (enum setting)i, trimmed( value ),
              section == SECTION_OURS ? ORIGIN_PROFILE : ORIGIN_CONF, line );
        return;
    }
    wrong_line( s, line, "there is no setting of this name: ", key );
}

void settings_read_conf( struct settings *s, const char *file, const char *text, size_t size,
                         const char *program )
{
    enum section section = SECTION_ALL;
    struct out out = out_start( s->conf, sizeof(s->conf) );
    const char *end = text + size, *eol;
    uint32_t line = 0;

    add( &out, file );
    if (size >= 2 && (!memcmp( text, "\xff\xfe", 2 ) || !memcmp( text, "\xfe\xff", 2 )))
    {
        settings_problem( s, file, "is UTF-16 and is left out: save it as UTF-8" );
        return;
    }
    if (size >= 3 && !memcmp( text, "\xef\xbb\xbf", 3 )) text += 3;
    for (; text < end; text = eol < end ? eol + 1 : end)
    {
        struct words words = { text, 0 };

        line++;
        if (!(eol = memchr( text, '\n', (size_t)(end - text) ))) eol = end;
        words.len = (size_t)(eol - text);
        words = trimmed( words );
        if (!words.len || words.at[0] == '#') continue;
        if (words.at[0] == '[') read_section( s, words, line, program, &section );
        else if (section != SECTION_OTHERS) read_pair( s, words, line, section );
    }
}
