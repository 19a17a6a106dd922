/*
 * Parses UMS_LOG and UMS_LOG_FILE. Nothing here depends on the host.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <string.h>
#include "private/log_spec.h"

const char *const log_level_names[] = { "none", "err", "warn", "info", "trace", NULL };

#define X( name, about ) #name,
const char *const log_channel_names[] = { UMS_LOG_CHANNELS( X ) NULL };
#undef X

/* ---- what is logged ---- */

static int find_word( const char *const *words, const char *text, size_t len )
{
    int i;

    for (i = 0; words[i]; i++)
        if (strlen( words[i] ) == len && !memcmp( words[i], text, len )) return i;
    return -1;
}

/* 0 and 1 are accepted because earlier versions had only these. */
static int find_level( const char *text, size_t len )
{
    if (len == 1 && text[0] == '0') return LOG_NONE;
    if (len == 1 && text[0] == '1') return LOG_INFO;
    return find_word( log_level_names, text, len );
}

/* level or level+channel */
static int read_item( const char *text, size_t len, unsigned char *levels )
{
    const char *plus = memchr( text, '+', len );
    int level = find_level( text, plus ? (size_t)(plus - text) : len ), channel;

    if (level < 0) return 0;
    if (!plus)
    {
        memset( levels, level, LOG_CHANNELS );
        return 1;
    }
    channel = find_word( log_channel_names, plus + 1, len - (size_t)(plus + 1 - text) );
    if (channel < 0) return 0;
    levels[channel] = (unsigned char)level;
    return 1;
}

int log_spec_read( const char *spec, unsigned char levels[LOG_CHANNELS] )
{
    unsigned char wanted[LOG_CHANNELS];
    size_t len;

    memset( wanted, LOG_WARN, sizeof(wanted) );     /* trace+hook alone: the rest stays at the default */
    for (;; spec += len + 1)
    {
        len = strcspn( spec, "," );
        if (!read_item( spec, len, wanted )) return 0;
        if (!spec[len]) break;
    }
    memcpy( levels, wanted, sizeof(wanted) );
    return 1;
}

/* ---- where to ---- */

struct out
{
    char  *text;
    size_t size, used;
};

static void put( struct out *out, char c )
{
    if (out->text && out->used < out->size) out->text[out->used] = c;
    out->used++;
}

static void put_number( struct out *out, unsigned int number )
{
    if (number >= 10) put_number( out, number / 10 );
    put( out, (char)('0' + number % 10) );
}

int log_spec_expand( const char *pattern, const char *program, unsigned int process, char *text,
                     size_t size )
{
    struct out out = { text, size, 0 };
    const char *p;

    for (; *pattern; pattern++)
    {
        if (*pattern != '%')
        {
            put( &out, *pattern );
            continue;
        }
        switch (*++pattern)
        {
        case 'e': for (p = program; *p; p++) put( &out, *p ); break;
        case 'p': put_number( &out, process ); break;
        case '%': put( &out, '%' ); break;
        default:  return 0;
        }
    }
    put( &out, 0 );
    return !text || out.used <= size;
}
