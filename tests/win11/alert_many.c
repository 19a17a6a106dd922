/*
 * A call that Windows and Wine 11 have and older Wines lack: NtAlertMultipleThreadByThreadId. Before the shim starts, a call
 * of one argument that Wine has and nobody needs, NtAlertThread, gets that name. What the shim does with the call then happens,
 * what the host does does not: it is handed on, and the host says that this is no handle. So workers are alerted, others are not.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <string.h>
#include "../linux/two_workers.h"

#define MANY  "NtAlertMultipleThreadByThreadId"
#define OTHER "NtAlertThread"

static LONG (WINAPI *wait_for_alert)( const void *, const LARGE_INTEGER * );
static LONG (WINAPI *alert_many)( HANDLE *ids, ULONG count, void *, void * );
static LONG (WINAPI *alert_thread)( HANDLE );
static volatile LONG go_on, kept;
static DWORD ids[2];

/* ---- the name ---- */

/* Within a jump's reach of ntdll, behind it: exports are told by offsets. */
static char *text_near( char *module, const char *text )
{
    char *p, *page = NULL;

    for (p = module; !page && p < module + 0x40000000; p += 0x10000)
        page = VirtualAlloc( p, 0x1000, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE );
    return page ? strcpy( page, text ) : NULL;
}

/* The names are sorted: those between the new one and the old one move. */
static BOOL rename_export( const char *from, const char *to )
{
    char *ntdll = (char *)GetModuleHandleA( "ntdll.dll" ), *text = text_near( ntdll, to );
    const IMAGE_NT_HEADERS64 *nt = (void *)(ntdll + ((IMAGE_DOS_HEADER *)ntdll)->e_lfanew);
    const IMAGE_EXPORT_DIRECTORY *exports = (void *)(ntdll + nt->OptionalHeader.DataDirectory[0].VirtualAddress);
    DWORD *names = (void *)(ntdll + exports->AddressOfNames), i = 0, old;
    WORD *ordinals = (void *)(ntdll + exports->AddressOfNameOrdinals), ordinal;

    while (i < exports->NumberOfNames && strcmp( ntdll + names[i], from )) i++;
    if (!text || i == exports->NumberOfNames ||
        !VirtualProtect( names, exports->NumberOfNames * sizeof(*names), PAGE_READWRITE, &old ) ||
        !VirtualProtect( ordinals, exports->NumberOfNames * sizeof(*ordinals), PAGE_READWRITE, &old )) return FALSE;
    ordinal = ordinals[i];
    for (; i && strcmp( ntdll + names[i - 1], to ) > 0; i--)
    {
        names[i] = names[i - 1];
        ordinals[i] = ordinals[i - 1];
    }
    names[i] = (DWORD)(text - ntdll);
    ordinals[i] = ordinal;
    return TRUE;
}

static BOOL find_calls( void )
{
    HMODULE ntdll = GetModuleHandleA( "ntdll.dll" );

    alert_thread = (void *)GetProcAddress( ntdll, OTHER );
    wait_for_alert = (void *)GetProcAddress( ntdll, "NtWaitForAlertByThreadId" );
    if (!GetProcAddress( ntdll, MANY ) && !rename_export( OTHER, MANY )) return FALSE;
    alert_many = (void *)GetProcAddress( ntdll, MANY );
    return wait_for_alert && alert_thread && alert_many;
}

/* ---- the workers ---- */

static DWORD WINAPI sleeper( void *unused )
{
    inside = 1;
    while (!go_on) wait_for_alert( NULL, NULL );
    inside = 2;
    return unused != NULL;
}

/* It is the last of several, behind one that nobody has and the worker that alerts. */
static void wake( void )
{
    HANDLE all[3] = { (HANDLE)(ULONG_PTR)0xfffffff0, (HANDLE)(ULONG_PTR)ids[1], (HANDLE)(ULONG_PTR)ids[0] };

    go_on = 1;
    alert_many( all, 3, NULL, NULL );
}

static DWORD WINAPI waker( void *unused )
{
    LARGE_INTEGER none = { .QuadPart = 0 };

    while (!blocked) pUmsThreadYield( NULL );
    ids[0] = GetThreadId( threads[0] );
    ids[1] = GetCurrentThreadId();
    wait_for_alert( NULL, &none );              /* what some lock may have left */
    seen_inside = inside;
    wake();
    kept = wait_for_alert( NULL, &none );
    return unused != NULL;
}

int main( void )
{
    char *page = VirtualAlloc( NULL, 0x2000, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE );
    DWORD old;

    ok( find_calls(), "the name cannot be given" );
    VirtualProtect( page + 0x1000, 0x1000, PAGE_NOACCESS, &old );
    if (test_failures) return test_end();
    load_shim();
    run_round( sleeper, NULL, waker, wake );
    end_round();
    ok( kept == 0x101 /* STATUS_ALERTED */, "whoever alerts itself, too, has no alert: %08lx", kept );

    /* Nobody is alerted, and nothing is read that cannot be read. The host is asked, and sees no handle. */
    ok( alert_many( NULL, 0, NULL, NULL ) == alert_thread( NULL ), "no ids" );
    ok( alert_many( NULL, 3, NULL, NULL ) == alert_thread( NULL ), "no array" );
    ok( alert_many( (HANDLE *)(page + 0xff8), 1000000, NULL, NULL ) == alert_thread( page + 0xff8 ), "half an array" );
    return test_end();
}
