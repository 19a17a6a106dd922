/*
 * What makes a program load the shim: an import table with our DLLs in front. umsrun and parents
 * write it above the image of a process; umsrun --install into a section of the file.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_PRIVATE_INJECT_BLOCK_H
#define UMS_PRIVATE_INJECT_BLOCK_H

#include "private/pe_format.h"

#define INJECT_MAGIC    0x49534d55  /* "UMSI" */
#define INJECT_VERSION  1

#define INJECT_REQUIRED 0x1         /* if the shim cannot run, end the process with status 2 */

/* the loader of Wine 8.0 accepts at most 256 characters for the path, ".dll" and the final zero */
#define INJECT_MAX_PATH 250

/* One DLL that the process has to load, and the one function that it imports for that: ordinal 1. Whoever replaces the
   table by another one, as Detours does, keeps its descriptors, and so the request (attach.c). */
struct inject_dll
{
    ULONG64 names[2];               /* OriginalFirstThunk */
    ULONG64 slots[2];               /* FirstThunk */
    ULONG64 unused[4];              /* a name, in files that were made before */
    char    path[INJECT_MAX_PATH + 6];
};

/* After this struct come the new import descriptors and their thunk lists. The import directory of the
 * image then points to the byte after this struct, in the same page, so the struct can be found. */
struct inject_block
{
    DWORD                magic;
    DWORD                version;
    DWORD                flags;
    DWORD                size;      /* of everything */
    IMAGE_DATA_DIRECTORY imports;   /* the image's original value; attach.c restores it */
    IMAGE_DATA_DIRECTORY bound;
    struct inject_dll    dlls[2];   /* ntdll_ums, kernel32_ums */
};

C_ASSERT( sizeof(struct inject_block) % sizeof(ULONG64) == 0 );

#endif /* UMS_PRIVATE_INJECT_BLOCK_H */
