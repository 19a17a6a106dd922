/*
 * Keys of system calls, their numbers and their rows in the table of calls.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <windows.h>
#include <string.h>
#include "syscalls/hook/hook.h"

/* Written before a hook is installed. */
static uint8_t row_by_number[CALL_NUMBERS];     /* row + 1; 0: not in the table */
static int by_row;

void call_keys_are_rows( void )
{
    by_row = 1;
}

int call_keys_by_row( void )
{
    return by_row;
}

void call_key_learn( uint32_t number, unsigned int row )
{
    row_by_number[number] = (uint8_t)(row + 1);
}

const struct call_row *ums_call_row( const struct ums_call *call )
{
    unsigned int index = call_key_index( call->key ), row;

    if (call_key_is_row( call->key ))
        return index < ums_call_row_count ? &ums_call_rows[index] : &ums_default_row;
    row = row_by_number[index];
    return row ? &ums_call_rows[row - 1] : &ums_default_row;
}

struct call_key call_key_named( const char *name )
{
    unsigned int row, number;

    for (row = 0; row < ums_call_row_count && strcmp( ums_call_rows[row].name, name ); row++) ;
    if (by_row) return call_key_of_row( row );
    for (number = 0; number < CALL_NUMBERS && row_by_number[number] != row + 1; number++) ;
    return call_key_of_number( number );
}

uint32_t call_key_number( struct call_key key )
{
    const unsigned char *stub;

    if (!call_key_is_row( key )) return call_key_index( key );
    stub = ums_stub_native[call_key_index( key )];
    return (stub[4] | stub[5] << 8) & (CALL_NUMBERS - 1);
}

struct call_key call_key_numbered( uint32_t number )
{
    uint32_t row;

    number &= CALL_NUMBERS - 1;
    if (!by_row) return call_key_of_number( number );
    for (row = 0; row < STUB_ROWS; row++)
        if (ums_stub_native[row] && call_key_number( call_key_of_row( row ) ) == number)
            return call_key_of_row( row );
    return CALL_KEY_NONE;
}
