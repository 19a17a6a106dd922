/*
 * Access to memory of the program that may be bad. Host-free.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_ACCESS_H
#define UMS_ACCESS_H

#include <stdint.h>
#include "private/nttypes.h"

/* Store, or load, through a pointer that may be bad: 0 if it faults. */
int ums_try_store( void *to, uint64_t value );
int ums_try_store32( void *to, uint32_t value );
int ums_try_load( const void *from, uint64_t *value );

/* A status: a ULONG where the caller wants it, or nothing if that is NULL. */
static inline uint64_t ums_store_ulong( uint64_t where, uint32_t value )
{
    if (where && !ums_try_store32( (void *)(uintptr_t)where, value ))
        return (uint64_t)(ums_status)0xC0000005;         /* STATUS_ACCESS_VIOLATION */
    return 0;
}

#endif /* UMS_ACCESS_H */
