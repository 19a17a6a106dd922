/*
 * May this process follow paths from its environment? Only if the user who has set them has the same
 * rights as the process. This header does not depend on the host, so it can be tested.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Windows: an elevated process gets the user's environment, which any program of that user can change.
 * It is recognized by its token, which is linked to a limited one. A service has more rights too, but
 * only users with these rights can set its environment [never run on Windows].
 *
 * Wine: all processes have the rights of one Unix user, whatever their token says. The exception is
 * a Wine whose loader is set-user-id or has capabilities; the Unix kernel says so in its auxiliary
 * vector. If this cannot be found out, the process is treated as one with more rights.
 */
#ifndef UMS_RIGHTS_H
#define UMS_RIGHTS_H

#include <stdint.h>
#include "auxv.h"

enum rights
{
    RIGHTS_UNKNOWN,
    RIGHTS_OWN,                                 /* those of its user */
    RIGHTS_MORE
};

/* auxv, count: as in auxv_find */
static inline enum rights rights_by_auxv( const uint64_t *auxv, unsigned int count )
{
    uint64_t more;

    if (!auxv_find( auxv, count, AUXV_SECURE, &more )) return RIGHTS_UNKNOWN;
    return more ? RIGHTS_MORE : RIGHTS_OWN;
}

/* type: TOKEN_ELEVATION_TYPE: 1 default, 2 full, 3 limited; 0: it was not told */
static inline enum rights rights_by_elevation( uint32_t type )
{
    switch (type)
    {
    case 1:
    case 3:  return RIGHTS_OWN;
    case 2:  return RIGHTS_MORE;
    default: return RIGHTS_UNKNOWN;
    }
}

/* 1 if paths from the environment may be followed */
int ums_trusts_environment( void );

#endif /* UMS_RIGHTS_H */
