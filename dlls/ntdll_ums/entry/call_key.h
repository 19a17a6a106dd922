/*
 * Which system call is it? The two hooks know calls by different numbers.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The dispatcher hook finds the system's number of a call in eax; the call is made with that number.
 * The stub hook finds the row of the stub that it has patched; the call is made through the copy of
 * that stub. One is useless where the other is needed, so a key says which of the two it is.
 */
#ifndef UMS_CALL_KEY_H
#define UMS_CALL_KEY_H

#include <stdint.h>
#include "host/asm_offsets.h"

/* Made by the functions below, and by the frames of hook_x86_64.S. */
struct call_key
{
    uint64_t bits;                              /* a number; or a row and CALL_KEY_ROW */
};

static inline struct call_key call_key_of_number( uint32_t number )
{
    return (struct call_key){ number };
}

static inline struct call_key call_key_of_row( uint32_t row )
{
    return (struct call_key){ CALL_KEY_ROW | row };
}

static inline int call_key_is_row( struct call_key key )
{
    return (key.bits & CALL_KEY_ROW) != 0;
}

/* What the hook that is in use indexes ums_call_class with. A program may have put anything into the
   upper half of eax. */
static inline uint32_t call_key_index( struct call_key key )
{
    return (uint32_t)key.bits & (CALL_NUMBERS - 1);
}

/* A key that no call has. */
#define CALL_KEY_NONE ((struct call_key){ UINT64_MAX })

static inline int call_key_is_none( struct call_key key )
{
    return key.bits == UINT64_MAX;
}

/* ---- call_key.c. Keys are made for the hook that is in use; numbers until the stub hook is. ---- */

void call_keys_are_rows( void );                /* at start, by the stub hook */
int call_keys_by_row( void );
void call_key_learn( uint32_t number, unsigned int row );     /* at start, by the dispatcher hook */

/* The call of a row in ums_call_rows with this name, which has one; the call with this number of the
   system's, CALL_KEY_NONE if the stub hook has no copy of its stub. */
struct call_key call_key_named( const char *name );
struct call_key call_key_numbered( uint32_t number );

/* The number by which the system knows the call. A stub has it in its code. */
uint32_t call_key_number( struct call_key key );

#endif /* UMS_CALL_KEY_H */
