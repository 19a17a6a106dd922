/*
 * Which system call is it? The two hooks know calls by different numbers.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The dispatcher hook finds the system's number of a call in eax, and makes the call with that number.
 * The stub hook finds the row of the patched stub, and makes the call through the copy of that stub.
 * Neither can be used for the other, so a key says which of the two it is.
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

/* The index into ums_call_class, for the hook in use. A program may have put anything into the upper
   bits of eax. */
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

/* ---- call_key.c. Keys are numbers until the stub hook calls call_keys_are_rows. ---- */

void call_keys_are_rows( void );                /* at start, by the stub hook */
int call_keys_by_row( void );
void call_key_learn( uint32_t number, unsigned int row );     /* at start, by the dispatcher hook */

/* The key of the call with this name; ums_call_rows must have a row for it. The key of the call with
   this system-call number; CALL_KEY_NONE if the stub hook has no copy of its stub. */
struct call_key call_key_named( const char *name );
struct call_key call_key_numbered( uint32_t number );

/* The system-call number. With the stub hook, it is read from the code of the stub. */
uint32_t call_key_number( struct call_key key );

#endif /* UMS_CALL_KEY_H */
