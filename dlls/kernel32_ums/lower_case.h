/*
 * Names of files and DLLs without regard to the case of ASCII letters.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef KERNEL32_UMS_LOWER_CASE_H
#define KERNEL32_UMS_LOWER_CASE_H

#include <windows.h>

static inline BOOL starts_with( const char *name, const char *lower )
{
    for (; *lower; name++, lower++)
        if ((*name >= 'A' && *name <= 'Z' ? *name + 32 : *name) != *lower) return FALSE;
    return TRUE;
}

#endif /* KERNEL32_UMS_LOWER_CASE_H */
