/*
 * Finds the import slots of modules that are loaded already. Names are looked at where there are any. Otherwise, and for
 * what a module imports from a DLL that forwards the name, the address in the slot decides.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <string.h>

#include "import_slots.h"
#include "lower_case.h"
#include "mapped_image.h"

#define MAX_DESCRIPTORS 4096                    /* a longer table is taken for garbage, as in import_table.c */

/* a walk over one module */
struct walk
{
    struct patch              *patch;
    const struct host_modules *host;
    struct mapped_image        image;
    enum slots_to              to;
};

/* The loader adds ".dll" where there is no extension. */
static BOOL is_dll( const char *name, const char *lower )
{
    if (!starts_with( name, lower )) return FALSE;
    name += strlen( lower );
    return !*name || (starts_with( name, ".dll" ) && !name[4]);
}

static const struct host_module *imported_module( const struct host_modules *host, const char *dll )
{
    if (is_dll( dll, "ntdll" )) return &host->ntdll;
    if (is_dll( dll, "kernel32" ) || is_dll( dll, "kernelbase" )
        || starts_with( dll, "api-ms-win-core-ums-" )
        || starts_with( dll, "api-ms-win-core-processthreads-" ))
        return &host->kernel32;
    return NULL;
}

static void *target( const struct host_module *module, size_t i, enum slots_to to )
{
    return to == SLOTS_TO_SHIM ? module->names[i].target : module->system[i];
}

static void *target_of_name( const struct host_module *module, const char *name, enum slots_to to )
{
    size_t i;

    for (i = 0; i < module->count; i++) if (!strcmp( name, module->names[i].name )) return target( module, i, to );
    return NULL;
}

static void *target_in( const struct host_module *module, const void *address, enum slots_to to )
{
    void *const *now = to == SLOTS_TO_SHIM ? module->system : module->shim;
    size_t i;

    if (to == SLOTS_TO_SHIM && (size_t)((const BYTE *)address - module->base) >= module->size) return NULL;
    for (i = 0; i < module->count; i++) if (now[i] == address) return target( module, i, to );
    return NULL;
}

static void *target_of_address( const struct host_modules *host, const void *address, enum slots_to to )
{
    void *ret = NULL;

    if (address && !(ret = target_in( &host->kernel32, address, to )) && !(ret = target_in( &host->kernelbase, address, to )))
        ret = target_in( &host->ntdll, address, to );
    return ret;
}

/* one slot; NAME: its name or ordinal, 0 if there are none any more */
static enum slots_result add_slot( struct walk *walk, const struct host_module *module, void **slot, ULONG64 name )
{
    const char *string;
    void *to;

    if (module && name && !IMAGE_SNAP_BY_ORDINAL64( name ))
    {
        if (!(string = image_string( &walk->image, (DWORD)name + FIELD_OFFSET( IMAGE_IMPORT_BY_NAME, Name ) )))
            return SLOTS_UNREADABLE;
        to = target_of_name( module, string, walk->to );
    }
    else to = target_of_address( walk->host, *slot, walk->to );
    if (!to || to == *slot || patch_add( walk->patch, slot, (ULONG64)to )) return SLOTS_ADDED;
    return SLOTS_NO_MEMORY;
}

/* what is imported from one DLL; MODULE: NULL if that is none of the host's with names of ours */
static enum slots_result add_slots( struct walk *walk, const IMAGE_IMPORT_DESCRIPTOR *descriptor,
                                    const struct host_module *module )
{
    DWORD names = descriptor->OriginalFirstThunk, slots = descriptor->FirstThunk;
    const ULONG64 *name = NULL;
    enum slots_result result;
    void **slot;

    for (;; slots += sizeof(*slot), names += sizeof(*name))
    {
        if (!(slot = image_at( &walk->image, slots, sizeof(*slot) ))) return SLOTS_UNREADABLE;
        if (descriptor->OriginalFirstThunk && !(name = image_at( &walk->image, names, sizeof(*name) )))
            return SLOTS_UNREADABLE;
        if (name ? !*name : !*slot) return SLOTS_ADDED;
        if ((result = add_slot( walk, module, slot, name ? *name : 0 ))) return result;
    }
}

enum slots_result import_slots_add( struct patch *patch, const struct host_modules *host, void *base, DWORD imports,
                                    enum slots_to to )
{
    struct walk walk = { .patch = patch, .host = host, .to = to };
    const IMAGE_IMPORT_DESCRIPTOR *descriptor;
    enum slots_result result;
    const char *dll;
    DWORD i;

    if (!image_open( &walk.image, base )) return SLOTS_UNREADABLE;
    if (!imports && !(imports = walk.image.imports.VirtualAddress)) return SLOTS_ADDED;
    for (i = 0; i < MAX_DESCRIPTORS; i++, imports += sizeof(*descriptor))
    {
        if (!(descriptor = image_at( &walk.image, imports, sizeof(*descriptor) ))) return SLOTS_UNREADABLE;
        if (!descriptor->Name || !descriptor->FirstThunk) return SLOTS_ADDED;
        if (!(dll = image_string( &walk.image, descriptor->Name ))) return SLOTS_UNREADABLE;
        if ((result = add_slots( &walk, descriptor, imported_module( host, dll ) ))) return result;
    }
    return SLOTS_UNREADABLE;
}
