/*
 * What a process with UMS_HUD publishes, and `umsrun --top` shows: a section of this name with this in
 * it.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_PRIVATE_HUD_H
#define UMS_PRIVATE_HUD_H

#include <stddef.h>
#include <stdint.h>

#define HUD_NAME  "Local\\ums-hud-%lu"          /* the process id */
#define HUD_MAGIC 0x31445548                    /* "HUD1": another layout, another magic */
#define HUD_LINE  120                           /* room for hud_line */

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
    volatile int32_t round;                     /* odd while the rest changes */
    struct ums_census now;
    uint32_t per_second;                        /* executed, in the last interval */
    uint32_t ended;
};

/* One line, without an end. print: _snprintf or one like it. */
#define HUD_FORMAT "ums: %u schedulers, %u ready, %u running, %u blocked, %u suspended, %u switches/s"

static inline int hud_line( char *line, int (*print)( char *, size_t, const char *, ... ),
                            const struct ums_hud *hud )
{
    return print( line, HUD_LINE, HUD_FORMAT, hud->now.schedulers, hud->now.ready, hud->now.running,
                  hud->now.blocked, hud->now.suspended, hud->per_second );
}

#endif /* UMS_PRIVATE_HUD_H */
