/*
 * The named exports of a loaded module, one after the other. A system module's tables are trusted.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_EXPORTS_H
#define UMS_EXPORTS_H

#include <windows.h>

struct ums_exports
{
    const char *base;
    const IMAGE_EXPORT_DIRECTORY *directory;
    const DWORD *functions, *names;
    const WORD *ordinals;
};

static inline void ums_exports_of( HMODULE module, struct ums_exports *exports )
{
    const char *base = (const char *)module;
    const IMAGE_NT_HEADERS *nt = (const void *)(base + ((const IMAGE_DOS_HEADER *)base)->e_lfanew);

    exports->base = base;
    exports->directory = (const void *)(base + nt->OptionalHeader.DataDirectory[0].VirtualAddress);
    exports->functions = (const void *)(base + exports->directory->AddressOfFunctions);
    exports->names     = (const void *)(base + exports->directory->AddressOfNames);
    exports->ordinals  = (const void *)(base + exports->directory->AddressOfNameOrdinals);
}

/* The code and *name of the i-th of NumberOfNames exports, if the name begins with Nt; otherwise NULL. */
static inline unsigned char *ums_exported_call( const struct ums_exports *exports, DWORD i,
                                                const char **name )
{
    *name = exports->base + exports->names[i];
    if ((*name)[0] != 'N' || (*name)[1] != 't') return NULL;
    return (unsigned char *)exports->base + exports->functions[exports->ordinals[i]];
}

#endif /* UMS_EXPORTS_H */
