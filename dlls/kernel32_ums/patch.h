/*
 * A transaction over 64-bit words of this process: all of them are written, or none.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef KERNEL32_UMS_PATCH_H
#define KERNEL32_UMS_PATCH_H

#include <windows.h>

struct patch_word
{
    ULONG64 *where;
    ULONG64  old;
    ULONG64  new;
};

/* One thread fills and applies it; must be zeroed before. */
struct patch
{
    struct patch_word *words;
    size_t             count;
    size_t             room;
};

/* Notes a word; nothing is written yet. FALSE: no memory. */
BOOL patch_add( struct patch *patch, void *where, ULONG64 value );

/* Writes the words in the order in which they were added, each with one store, also in read-only pages.
 * FALSE: one could not be written; those before it have their old values again. */
BOOL patch_apply( const struct patch *patch );

/* Writes the old values back, in reverse order. */
void patch_undo( const struct patch *patch );

void patch_free( struct patch *patch );

#endif /* KERNEL32_UMS_PATCH_H */
