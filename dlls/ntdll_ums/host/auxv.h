/*
 * The auxiliary vector, with which Linux tells a process about itself. Does not depend on the host, so it can be tested.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_AUXV_H
#define UMS_AUXV_H

#include <stdint.h>

#define AUXV_MOST     128                       /* values; Linux has some 40 */
#define AUXV_END      0
#define AUXV_SECURE   23                        /* AT_SECURE */
#define AUXV_HWCAP2   26                        /* AT_HWCAP2 */

#define HWCAP2_FSGSBASE 2                       /* the kernel keeps what wrgsbase writes */

/* auxv: pairs of key and value, or a part of them; count: of values. 0: it does not say. */
static inline int auxv_find( const uint64_t *auxv, unsigned int count, uint64_t key, uint64_t *value )
{
    unsigned int i;

    for (i = 0; i + 1 < count && auxv[i] != AUXV_END; i += 2)
    {
        if (auxv[i] != key) continue;
        *value = auxv[i + 1];
        return 1;
    }
    return 0;
}

/* ke_linux.c: copy the vector. Returns the number of values, 0 if it cannot be read. A process with more rights than its user cannot
   open its file even. */
unsigned int ke_linux_auxv( uint64_t auxv[AUXV_MOST] );

#endif /* UMS_AUXV_H */
