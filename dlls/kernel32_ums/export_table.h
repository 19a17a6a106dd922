/*
 * A module's export table with some names redirected or added, made beside the old one.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef KERNEL32_UMS_EXPORT_TABLE_H
#define KERNEL32_UMS_EXPORT_TABLE_H

#include <windows.h>

/* one name and the function behind it */
struct export_name
{
    const char *name;
    void       *target;
};

/* The export directory of the module mapped at BASE; NULL if it has none. */
const IMAGE_EXPORT_DIRECTORY *export_directory( const void *base, IMAGE_DATA_DIRECTORY *entry );

/* Where the module keeps {RVA, size} of its export directory. */
IMAGE_DATA_DIRECTORY *export_directory_entry( const void *base );

/* The address that the module's own table gives for NAME; NULL if absent or forwarded elsewhere. */
void *export_find( const void *base, const char *name );

/* The same in a table that is not installed yet. */
void *export_table_find( const void *base, IMAGE_DATA_DIRECTORY range, const char *name );

/* What the module's own table forwards NAME to; NULL if absent or a function. */
const char *export_forwarder( const void *base, const char *name );

/* Lists the functions that the module exports by name; returns their number, 0 if there are more
 * than MAX. */
size_t export_list( const void *base, struct export_name *names, size_t max );

/* The maximum number of bytes that export_table_build needs; 0 if the module's table does not fit. */
size_t export_table_size( const void *base, const struct export_name *names, size_t count );

/* Builds the table for the module at BASE in MEM, which is writable, zeroed, above BASE by less
 * than 4 GB and has the size that export_table_size has returned. Ordinals do not change. Returns the new
 * value for the module's export_directory_entry, {0,0} if the table does not fit. The caller must make
 * the first *CODE_SIZE bytes of MEM, whole pages, executable. Nothing outside MEM is written. */
IMAGE_DATA_DIRECTORY export_table_build( const void *base, void *mem,
                                         const struct export_name *names, size_t count,
                                             size_t *code_size );

#endif /* KERNEL32_UMS_EXPORT_TABLE_H */
