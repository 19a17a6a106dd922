/*
 * The import slots of modules that are loaded already.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef KERNEL32_UMS_IMPORT_SLOTS_H
#define KERNEL32_UMS_IMPORT_SLOTS_H

#include <windows.h>

#include "export_table.h"
#include "patch.h"

#define MAX_NAMES 64

/* one module of the host, and its names that are redirected */
struct host_module
{
    BYTE              *base;
    DWORD              size;
    struct export_name names[MAX_NAMES];    /* and what they lead to */
    void              *system[MAX_NAMES];   /* the host's functions, NULL if it lacks the name */
    void              *shim[MAX_NAMES];     /* and those of kernel32_ums or ntdll_ums */
    size_t             count;
};

struct host_modules { struct host_module kernel32, kernelbase, ntdll; };

enum slots_to { SLOTS_TO_SHIM, SLOTS_TO_HOST };
enum slots_result { SLOTS_ADDED, SLOTS_NO_MEMORY, SLOTS_UNREADABLE };

/* Notes in PATCH the import slots of the module mapped at BASE that lead to a function which is redirected, and what they
 * are to lead to. IMPORTS: the RVA of the import table; 0: that of the headers. SLOTS_UNREADABLE: the headers
 * or the table cannot be read, or make no sense; what comes before that is noted. */
enum slots_result import_slots_add( struct patch *patch, const struct host_modules *host, void *base, DWORD imports,
                                    enum slots_to to );

#endif /* KERNEL32_UMS_IMPORT_SLOTS_H */
