/*
 * A DLL that knows nothing of UMS and needs one that imports it.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "importer.h"

__declspec(dllexport) BOOL middle_calls( void )
{
    return importer_calls();
}
