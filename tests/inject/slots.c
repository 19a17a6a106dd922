/*
 * The import slots of a made-up module: names, ordinals, addresses, a DLL that forwards; and headers and tables that a
 * program has overwritten or protected: nothing is read then that cannot be read.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <windows.h>
#include <string.h>

#include "import_slots.h"
#include "mapped_image.h"
#include "test.h"

#define PAGE 0x1000

/* Three pages: headers, tables, slots. It imports one name from each DLL. */
struct tables
{
    IMAGE_IMPORT_DESCRIPTOR descriptors[4];     /* kernel32, ntdll, other.dll, the end */
    ULONG64                 names[3][2];
    struct { WORD hint; char name[30]; } strings[3];
    char                    dlls[3][16];
};

struct fake
{
    union { struct { IMAGE_DOS_HEADER dos; IMAGE_NT_HEADERS64 nt; }; BYTE page0[PAGE]; };
    union { struct tables t; BYTE page1[PAGE]; };
    union { void *slots[3][2]; BYTE page2[PAGE]; };
};

static const char *const dll_names[] = { "KERNEL32.dll", "ntdll", "other.dll" };
static const char *const function_names[] = { "ExecuteUmsThread", "RtlExecuteUmsThread", "FwdExecute" };

static struct host_modules host;
static BYTE host_code[3][64], shim_code[3][64];

static void make_host( void )
{
    struct host_module *modules[] = { &host.kernel32, &host.ntdll, &host.kernelbase };
    int i;

    for (i = 0; i < 3; i++)
    {
        modules[i]->base = host_code[i];
        modules[i]->size = sizeof(host_code[i]);
        modules[i]->count = 1;
        modules[i]->names[0].name = function_names[i == 2 ? 0 : i];
        modules[i]->names[0].target = modules[i]->shim[0] = shim_code[i];
        modules[i]->system[0] = host_code[i] + 16;
    }
}

static void set_names( struct fake *fake, int i )
{
    fake->t.descriptors[i].Name = offsetof( struct fake, t.dlls[i] );
    fake->t.descriptors[i].OriginalFirstThunk = offsetof( struct fake, t.names[i] );
    fake->t.descriptors[i].FirstThunk = offsetof( struct fake, slots[i] );
    fake->t.names[i][0] = offsetof( struct fake, t.strings[i] );
    strcpy( fake->t.strings[i].name, function_names[i] );
    strcpy( fake->t.dlls[i], dll_names[i] );
}

static struct fake *make_image( void )
{
    static struct fake *fake;
    DWORD old;
    int i;

    if (!fake) fake = VirtualAlloc( NULL, sizeof(*fake) + PAGE, MEM_RESERVE, PAGE_NOACCESS );
    VirtualAlloc( fake, sizeof(*fake), MEM_COMMIT, PAGE_READWRITE );    /* what follows is not there */
    VirtualProtect( fake, sizeof(*fake), PAGE_READWRITE, &old );
    memset( fake, 0, sizeof(*fake) );
    fake->dos.e_magic = IMAGE_DOS_SIGNATURE;
    fake->dos.e_lfanew = offsetof( struct fake, nt );
    fake->nt.Signature = IMAGE_NT_SIGNATURE;
    fake->nt.OptionalHeader.Magic = IMAGE_NT_OPTIONAL_HDR64_MAGIC;
    fake->nt.OptionalHeader.SizeOfImage = sizeof(*fake);
    fake->nt.OptionalHeader.NumberOfRvaAndSizes = IMAGE_NUMBEROF_DIRECTORY_ENTRIES;
    fake->nt.OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_IMPORT].VirtualAddress = offsetof( struct fake, t );
    for (i = 0; i < 3; i++) set_names( fake, i );
    for (i = 0; i < 3; i++) fake->slots[i][0] = host_code[i] + 16;
    return fake;
}

static void protect( void *page, DWORD protection )
{
    DWORD old;

    ok( VirtualProtect( page, PAGE, protection, &old ), "VirtualProtect: error %lu", GetLastError() );
}

/* COUNT: so many slots; what the first ones are to lead to */
static void check( struct fake *fake, enum slots_to to, enum slots_result expected, size_t count, void *a, void *b, void *c )
{
    void *const values[] = { a, b, c };
    struct patch patch = { 0 };
    enum slots_result result = import_slots_add( &patch, &host, fake, 0, to );
    size_t i;

    ok( result == expected, "result %d, expected %d", result, expected );
    ok( patch.count == count, "%u slots, expected %u", (unsigned)patch.count, (unsigned)count );
    for (i = 0; i < count && i < patch.count; i++)
        ok( patch.words[i].new == (ULONG64)values[i], "slot %u is to be %p, expected %p", (unsigned)i,
            (void *)patch.words[i].new, values[i] );
    patch_free( &patch );
}

static void test_names( void )
{
    struct fake *fake = make_image();

    /* the third by its address, which is one of kernelbase's: other.dll forwards it */
    check( fake, SLOTS_TO_SHIM, SLOTS_ADDED, 3, shim_code[0], shim_code[1], shim_code[2] );
    fake->t.names[0][0] = fake->t.names[1][0] = IMAGE_ORDINAL_FLAG64 | 7;
    check( fake, SLOTS_TO_SHIM, SLOTS_ADDED, 3, shim_code[0], shim_code[1], shim_code[2] );

    fake = make_image();
    fake->t.descriptors[0].OriginalFirstThunk = 0;
    fake->slots[0][0] = host_code[2] + 16;              /* from kernelbase by way of kernel32 */
    check( fake, SLOTS_TO_SHIM, SLOTS_ADDED, 3, shim_code[2], shim_code[1], shim_code[2] );
    fake->slots[0][0] = fake->slots[2][0] = host_code[0] + 17;  /* no function of ours */
    check( fake, SLOTS_TO_SHIM, SLOTS_ADDED, 1, shim_code[1], NULL, NULL );
}

/* back to the host, with names and without */
static void test_host( void )
{
    struct fake *fake = make_image();
    int i;

    for (i = 0; i < 3; i++) fake->slots[i][0] = shim_code[i];
    fake->t.descriptors[1].OriginalFirstThunk = 0;
    check( fake, SLOTS_TO_HOST, SLOTS_ADDED, 3, host_code[0] + 16, host_code[1] + 16, host_code[2] + 16 );
}

static void test_headers( void )
{
    struct fake *fake = make_image();

    /* the list of directories ends before the imports; what follows is the name of a section */
    fake->nt.OptionalHeader.NumberOfRvaAndSizes = 1;
    fake->nt.OptionalHeader.DataDirectory[1].VirtualAddress = 0x7865742e;
    check( fake, SLOTS_TO_SHIM, SLOTS_ADDED, 0, NULL, NULL, NULL );
    fake->nt.OptionalHeader.NumberOfRvaAndSizes = 16;
    check( fake, SLOTS_TO_SHIM, SLOTS_UNREADABLE, 0, NULL, NULL, NULL );
    fake->nt.Signature = 0;
    check( fake, SLOTS_TO_SHIM, SLOTS_UNREADABLE, 0, NULL, NULL, NULL );
    memset( fake->page0, 0xcc, PAGE );
    check( fake, SLOTS_TO_SHIM, SLOTS_UNREADABLE, 0, NULL, NULL, NULL );
    fake->dos.e_magic = IMAGE_DOS_SIGNATURE;
    check( fake, SLOTS_TO_SHIM, SLOTS_UNREADABLE, 0, NULL, NULL, NULL );
    fake->dos.e_lfanew = sizeof(*fake);
    check( fake, SLOTS_TO_SHIM, SLOTS_UNREADABLE, 0, NULL, NULL, NULL );
    protect( fake->page0, PAGE_NOACCESS );
    check( fake, SLOTS_TO_SHIM, SLOTS_UNREADABLE, 0, NULL, NULL, NULL );
}

static void test_tables( void )
{
    struct fake *fake = make_image();
    MEMORY_BASIC_INFORMATION info;

    memset( &fake->t.descriptors[1], 0xcc, sizeof(fake->t.descriptors[1]) );
    check( fake, SLOTS_TO_SHIM, SLOTS_UNREADABLE, 1, shim_code[0], NULL, NULL );
    fake = make_image();
    fake->t.names[1][0] = sizeof(*fake) - 2;            /* right before the end */
    check( fake, SLOTS_TO_SHIM, SLOTS_UNREADABLE, 1, shim_code[0], NULL, NULL );
    fake = make_image();
    memset( fake->page2, 0xcc, PAGE );                  /* no end of the slots, and none of the names */
    fake->t.descriptors[0].OriginalFirstThunk = 0;
    check( fake, SLOTS_TO_SHIM, SLOTS_UNREADABLE, 0, NULL, NULL, NULL );
    fake->t.descriptors[0].Name = offsetof( struct fake, page2 );
    check( fake, SLOTS_TO_SHIM, SLOTS_UNREADABLE, 0, NULL, NULL, NULL );

    fake = make_image();
    protect( fake->page1, PAGE_NOACCESS );
    check( fake, SLOTS_TO_SHIM, SLOTS_UNREADABLE, 0, NULL, NULL, NULL );
    fake = make_image();
    protect( fake->page2, PAGE_READWRITE | PAGE_GUARD );
    check( fake, SLOTS_TO_SHIM, SLOTS_UNREADABLE, 0, NULL, NULL, NULL );
    ok( VirtualQuery( fake->page2, &info, sizeof(info) ) && info.Protect & PAGE_GUARD, "the guard is gone" );
    fake = make_image();
    VirtualFree( fake->page1, PAGE, MEM_DECOMMIT );
    check( fake, SLOTS_TO_SHIM, SLOTS_UNREADABLE, 0, NULL, NULL, NULL );
    make_image();
}

int main( void )
{
    make_host();
    test_names();
    test_host();
    test_headers();
    test_tables();
    return test_end();
}
