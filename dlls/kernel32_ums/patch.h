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

/* Not shared: one thread fills and applies it. Zeroed at first. */
struct patch
{
    struct patch_word *words;
    size_t             count;
    size_t             room;
};

/* Notes a word; nothing is written yet. FALSE: no memory. */
BOOL patch_add( struct patch *patch, void *where, ULONG64 value );

/* Writes the words in the order of their addition, read-only pages included, each with one store.
 * FALSE: one could not be written, and those before it are as they were. */
BOOL patch_apply( const struct patch *patch );

/* Puts the old values back, last one first. */
void patch_undo( const struct patch *patch );

void patch_free( struct patch *patch );

#endif /* KERNEL32_UMS_PATCH_H */
