/*
 * Access to memory of the program through pointers that may be bad.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_ACCESS_H
#define UMS_ACCESS_H

#include <stdint.h>
#include "private/nttypes.h"

/* Store or load through a pointer that may be bad. Returns 0 if the access faults. */
int ums_try_store( void *to, uint64_t value );
int ums_try_store32( void *to, uint32_t value );
int ums_try_load( const void *from, uint64_t *value );
int ums_try_load32( const void *from, uint32_t *value );

/* Store a ULONG at an address of the program; NULL: store nothing. Returns a status. */
static inline uint64_t ums_store_ulong( uint64_t where, uint32_t value )
{
    if (where && !ums_try_store32( (void *)(uintptr_t)where, value ))
        return (uint64_t)(ums_status)0xC0000005;         /* STATUS_ACCESS_VIOLATION */
    return 0;
}

#endif /* UMS_ACCESS_H */
