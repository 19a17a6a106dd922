/*
 * A program without UMS whose DLL imports it by table. The loader has filled that DLL's import slots
 * before any of our code runs, with traps for names that the host lacks: the redirection has to set
 * them.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <windows.h>

#include "importer.h"
#include "test.h"

int main( void )
{
    void *door = (void *)GetProcAddress( GetModuleHandleW( L"kernel32.dll" ),
                                         "CreateRemoteThreadEx" );

    ok( importer_door() == door, "the DLL's CreateRemoteThreadEx is %p, kernel32's is %p",
        importer_door(), door );
    if (importer_door() == door) ok( importer_calls(), "the DLL has no UMS" );
    return test_end();
}
