/*
 * A program whose DLL's DLL imports UMS: 0 if it has it.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "importer.h"

int main( void )
{
    return !middle_calls();
}
