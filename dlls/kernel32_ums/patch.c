/*
 * A transaction over 64-bit words of this process; attach.c redirects names with one. Windows has
 * no counterpart. It runs in DllMain, so it uses pages instead of the heap, and no lock.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <string.h>

#include "patch.h"

#define MIN_ROOM 512

static BOOL grow( struct patch *patch )
{
    size_t room = patch->room ? patch->room * 2 : MIN_ROOM;
    struct patch_word *words;

    words = VirtualAlloc( NULL, room * sizeof(*words), MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE );
    if (!words) return FALSE;
    if (patch->words)
    {
        memcpy( words, patch->words, patch->count * sizeof(*words) );
        VirtualFree( patch->words, 0, MEM_RELEASE );
    }
    patch->words = words;
    patch->room = room;
    return TRUE;
}

BOOL patch_add( struct patch *patch, void *where, ULONG64 value )
{
    struct patch_word *word;

    if (patch->count == patch->room && !grow( patch )) return FALSE;
    word = &patch->words[patch->count++];
    word->where = where;
    word->new = value;
    return TRUE;
}

static BOOL is_executable( const void *where )
{
    MEMORY_BASIC_INFORMATION info;

    return VirtualQuery( where, &info, sizeof(info) )
           && info.Protect & (PAGE_EXECUTE | PAGE_EXECUTE_READ | PAGE_EXECUTE_READWRITE
                              | PAGE_EXECUTE_WRITECOPY);
}

/* Linkers and packers put import slots into sections of code, where other threads may be running:
 * such a page stays executable all the time. */
static BOOL write_word( ULONG64 *where, ULONG64 value, ULONG64 *before )
{
    DWORD old, writable = is_executable( where ) ? PAGE_EXECUTE_READWRITE : PAGE_READWRITE;

    if (!VirtualProtect( where, sizeof(*where), writable, &old )) return FALSE;
    if (before) *before = *where;
    *(volatile ULONG64 *)where = value;
    VirtualProtect( where, sizeof(*where), old, &old );
    return TRUE;
}

static void undo_first( const struct patch *patch, size_t count )
{
    while (count--) write_word( patch->words[count].where, patch->words[count].old, NULL );
}

BOOL patch_apply( const struct patch *patch )
{
    struct patch_word *word;
    size_t i;

    for (i = 0; i < patch->count; i++)
    {
        word = &patch->words[i];
        if (write_word( word->where, word->new, &word->old )) continue;
        undo_first( patch, i );
        return FALSE;
    }
    return TRUE;
}

void patch_undo( const struct patch *patch )
{
    undo_first( patch, patch->count );
}

void patch_free( struct patch *patch )
{
    if (patch->words) VirtualFree( patch->words, 0, MEM_RELEASE );
    memset( patch, 0, sizeof(*patch) );
}
