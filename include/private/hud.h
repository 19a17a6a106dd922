/*
 * What a process with UMS_HUD publishes and `umsrun --top` shows: the name and the contents of a section.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_PRIVATE_HUD_H
#define UMS_PRIVATE_HUD_H

#include <stddef.h>
#include <stdint.h>

#define HUD_NAME  "Local\\ums-hud-%lu"          /* the process id */
#define HUD_MAGIC 0x31445548                    /* "HUD1"; changes with the layout */
#define HUD_LINE  120                           /* room for hud_line */
#define HUD_NUMBER 16                           /* and for hud_number */

struct ums_census
{
    uint32_t schedulers;
    uint32_t ready;                             /* can be executed, or waits on a completion list */
    uint32_t running;                           /* on a scheduler */
    uint32_t blocked;
    uint32_t suspended;
    uint32_t reserved;
    uint64_t executed;                          /* since the start */
};

struct ums_hud
{
    uint32_t magic;
    volatile int32_t round;                     /* odd while the other fields change */
    struct ums_census now;
    uint32_t per_second;                        /* Executes per second, in the last interval */
    uint32_t ended;
};

/* Copy what another process publishes. 0: it was being written, try again. */
static inline int hud_read( const struct ums_hud *hud, struct ums_hud *copy )
{
    int32_t round = hud->round;

    __sync_synchronize();
    *copy = *hud;
    __sync_synchronize();
    return !(round & 1) && hud->round == round;
}

#define HUD_WIDTH 78                            /* a line of hud_line, at most: fits 80 columns */

/* The number in four letters, WIDE in five: 9999, 10k, 999M. */
static inline void hud_number( char *text, int (*print)( char *, size_t, const char *, ... ),
                               uint32_t number, int wide )
{
    uint32_t limit = wide ? 100000 : 10000;
    const char *unit = "";

    if (number >= limit)
    {
        unit = number / 1000 >= limit / 10 ? "M" : "k";
        number /= *unit == 'M' ? 1000000 : 1000;
    }
    print( text, HUD_NUMBER, "%u%s", number, unit );
}

/* One line, without an end. print: _snprintf or one like it. Returns its length. */
static inline int hud_line( char *line, int (*print)( char *, size_t, const char *, ... ),
                            const struct ums_hud *hud )
{
    const uint32_t numbers[] = { hud->now.schedulers, hud->now.ready, hud->now.running,
                                 hud->now.blocked, hud->now.suspended, hud->per_second };
    char texts[6][HUD_NUMBER];
    int i;

    for (i = 0; i < 6; i++) hud_number( texts[i], print, numbers[i], i == 5 );
    return print( line, HUD_LINE,
                  "ums: %s sched %s ready %s run %s blocked %s susp %s switches/s",
                  texts[0], texts[1], texts[2], texts[3], texts[4], texts[5] );
}

#endif /* UMS_PRIVATE_HUD_H */
