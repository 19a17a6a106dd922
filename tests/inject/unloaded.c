/*
 * unloaded FOLDER: a program loads kernel32_ums itself, is refused, and unloads it. Then it makes an access violation, which
 * Wine has to hand to it: no handler may be left in memory that is gone. The refusal comes from stubs of a kind that no hook
 * knows.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <windows.h>

#include "test.h"

static unsigned int faults;

/* The instruction below has two bytes. */
static LONG WINAPI skip( EXCEPTION_POINTERS *info )
{
    if (info->ExceptionRecord->ExceptionCode != EXCEPTION_ACCESS_VIOLATION) return EXCEPTION_CONTINUE_SEARCH;
    faults++;
    info->ContextRecord->Rip += 2;
    return EXCEPTION_CONTINUE_EXECUTION;
}

static void refuse( const char *folder )
{
    static const char *const stubs[] = { "NtSuspendThread", "NtResumeThread" };
    BOOL (WINAPI *create)( void ** );
    unsigned char *stub[ARRAYSIZE(stubs)], was[ARRAYSIZE(stubs)];
    char path[MAX_PATH];
    unsigned int i;
    HMODULE module;
    void *list;
    DWORD old;

    for (i = 0; i < ARRAYSIZE(stubs); i++)
    {
        stub[i] = (unsigned char *)GetProcAddress( GetModuleHandleA( "ntdll.dll" ), stubs[i] );
        VirtualProtect( stub[i], 1, PAGE_EXECUTE_READWRITE, &old );
        was[i] = *stub[i];
        *stub[i] = 0x90;
    }
    snprintf( path, sizeof(path), "%s\\kernel32_ums.dll", folder );
    module = LoadLibraryExA( path, NULL, LOAD_WITH_ALTERED_SEARCH_PATH );
    ok( module != NULL, "%s: error %lu", path, GetLastError() );
    if (!module) return;
    create = (void *)GetProcAddress( module, "CreateUmsCompletionList" );
    ok( create && !create( &list ), "it is not refused" );
    for (i = 0; i < ARRAYSIZE(stubs); i++) *stub[i] = was[i];
    ok( FreeLibrary( module ), "error %lu", GetLastError() );
}

int main( int argc, char **argv )
{
    if (argc < 2) return 2;
    printf( "refused, unloaded, and then a fault\n" );
    fflush( stdout );
    refuse( argv[1] );
    AddVectoredExceptionHandler( 1, skip );
    __asm__ volatile( "xorl %%eax,%%eax; movb (%%rax),%%al" ::: "rax" );
    ok( faults == 1, "%u faults", faults );
    return test_end();
}
