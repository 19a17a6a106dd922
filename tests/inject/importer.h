/*
 * importer_dll.c: a DLL that imports UMS. middle_dll.c: one that needs that.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef TESTS_INJECT_IMPORTER_H
#define TESTS_INJECT_IMPORTER_H

#include <windows.h>

/* A completion list can be made and deleted, and ntdll's part answers. */
BOOL importer_calls( void );

/* What the DLL's import slot for CreateRemoteThreadEx holds. */
void *importer_door( void );

/* importer_calls, by way of middle_dll.c */
BOOL middle_calls( void );

#endif /* TESTS_INJECT_IMPORTER_H */
