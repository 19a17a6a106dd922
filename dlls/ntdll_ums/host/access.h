/*
 * Access to memory of the program through pointers that may be bad.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_ACCESS_H
#define UMS_ACCESS_H

#include <stddef.h>
#include <stdint.h>
#include "private/nttypes.h"

/* Store or load through a pointer that may be bad. Returns 0 if the access faults. A guard (PAGE_GUARD) stays where it is,
   so that a call which the host makes then meets it. */
int ums_try_store( void *to, uint64_t value );
int ums_try_store32( void *to, uint32_t value );
int ums_try_load( const void *from, uint64_t *value );
int ums_try_load32( const void *from, uint32_t *value );

/* Read a byte. Returns 0, or the code of the exception that this raises: a guard is met, and gone then. */
uint32_t ums_touch( const void *where );

/* What a call answers that could not read or write all of the `size` bytes there, and that the host does not make: as the
   host would, it meets a guard, and takes it away. Where there is none by now, or the page may only not be written, the access
   was bad. */
static inline ums_status ums_bad_access( const void *where, size_t size )
{
    uint32_t status = 0;
    size_t at;

    for (at = 0; !status && at < size; at += 0x1000) status = ums_touch( (const char *)where + at );
    if (!status) status = ums_touch( (const char *)where + size - 1 );
    return (ums_status)(status ? status : 0xC0000005);  /* STATUS_ACCESS_VIOLATION */
}

/* Store a ULONG at an address of the program; NULL: store nothing. Returns a status. */
static inline uint64_t ums_store_ulong( uint64_t where, uint32_t value )
{
    if (where && !ums_try_store32( (void *)(uintptr_t)where, value ))
        return (uint64_t)ums_bad_access( (void *)(uintptr_t)where, sizeof(value) );
    return 0;
}

#endif /* UMS_ACCESS_H */
