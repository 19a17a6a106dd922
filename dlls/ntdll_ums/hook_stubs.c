/*
 * The stub hook: ntdll's system-call stubs are patched, one by one. What Windows needs; tried under
 * Wine in the same form.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A stub begins with mov r10,rcx; mov eax,nr: eight bytes, aligned, replaced by one store with a
 * jump to an island near ntdll, which loads the row's number and goes on to ums_stub_hook. The
 * whole stub is copied first; the copy is how the call is made. A thread that is in the middle of a
 * stub is behind those eight bytes and does not notice; one stopped between the two instructions
 * would, so the patch belongs to the start of the process, when nobody else runs. All or nothing:
 * everything is looked at and prepared before the first byte changes.
 */

#include <windows.h>
#include <string.h>
#include "ums_core.h"
#include "hook.h"
#include "ke_win32.h"
#include "asm_offsets.h"

#define ISLAND_SIZE 32
#define STUB_SIZE   32
#define MAX_ROWS    256

static const unsigned char stub_head[4] = { 0x4c, 0x8b, 0xd1, 0xb8 };

/* how stubs go on behind the number, up to their last instruction: nothing in them depends on
   where they lie */
static const unsigned char tail_wine[24] =
{
    0xf6, 0x04, 0x25, 0x08, 0x03, 0xfe, 0x7f, 0x01, 0x75, 0x03, 0x0f, 0x05, 0xc3, 0xeb, 0x01, 0xc3,
    0xff, 0x14, 0x25, 0x00, 0x10, 0xfe, 0x7f, 0xc3
};
static const unsigned char tail_windows_10[16] =
{
    0xf6, 0x04, 0x25, 0x08, 0x03, 0xfe, 0x7f, 0x01, 0x75, 0x03, 0x0f, 0x05, 0xc3, 0xcd, 0x2e, 0xc3
};
static const unsigned char tail_windows_7[3] = { 0x0f, 0x05, 0xc3 };

struct patch
{
    unsigned char *stub;
    uint64_t old, new;
};

static struct patch patches[MAX_ROWS];
static unsigned int patch_count;


static int is_stub( const unsigned char *code )
{
    if (((ULONG_PTR)code & 7) || memcmp( code, stub_head, sizeof(stub_head) )) return 0;
    return !memcmp( code + 8, tail_wine, sizeof(tail_wine) ) ||
           !memcmp( code + 8, tail_windows_10, sizeof(tail_windows_10) ) ||
           !memcmp( code + 8, tail_windows_7, sizeof(tail_windows_7) );
}

/* Executable memory that a 32-bit jump from any part of ntdll reaches. */
static unsigned char *alloc_near( HMODULE module, SIZE_T size )
{
    const IMAGE_NT_HEADERS *nt = (void *)((char *)module + ((IMAGE_DOS_HEADER *)module)->e_lfanew);
    char *end = (char *)module + nt->OptionalHeader.SizeOfImage, *p;

    p = (char *)(((ULONG_PTR)end + 0xffff) & ~(ULONG_PTR)0xffff);
    for (; p < (char *)module + 0x70000000; p += 0x10000)
    {
        MEMORY_BASIC_INFORMATION info;
        void *mem;

        if (!VirtualQuery( p, &info, sizeof(info) )) break;
        if (info.State != MEM_FREE)
        {
            char *next = (char *)info.BaseAddress + info.RegionSize;
            p = (char *)(((ULONG_PTR)next + 0xffff) & ~(ULONG_PTR)0xffff) - 0x10000;
            continue;
        }
        mem = VirtualAlloc( p, size, MEM_RESERVE | MEM_COMMIT, PAGE_EXECUTE_READWRITE );
        if (mem) return mem;
    }
    return NULL;
}

/* mov eax,row; jmp [rip]; address */
static void write_island( unsigned char *island, unsigned int row )
{
    void *target = ums_stub_hook;

    island[0] = 0xb8;
    memcpy( island + 1, &row, 4 );
    island[5] = 0xff;
    island[6] = 0x25;
    memset( island + 7, 0, 4 );
    memcpy( island + 11, &target, 8 );
}

static void prepare( unsigned int row, unsigned char *stub, unsigned char *island,
                     unsigned char *copy )
{
    struct patch *patch = &patches[patch_count++];
    LONG distance = (LONG)(island - (stub + 5));
    unsigned char code[8] = { 0xe9, 0, 0, 0, 0, 0xcc, 0xcc, 0xcc };

    memcpy( code + 1, &distance, 4 );
    memcpy( copy, stub, STUB_SIZE );
    write_island( island, row );
    patch->stub = stub;
    memcpy( &patch->old, stub, 8 );
    memcpy( &patch->new, code, 8 );
    ums_stub_native[row] = copy;
    ums_call_class[row] = ums_call_rows[row].cls == CALL_SPECIAL ? HOOK_ALL : HOOK_WORKERS;
}

static int store_code( unsigned char *where, uint64_t value )
{
    DWORD old;

    if (!VirtualProtect( where, 8, PAGE_EXECUTE_READWRITE, &old )) return 0;
    InterlockedExchange64( (LONG64 *)where, (LONG64)value );
    VirtualProtect( where, 8, old, &old );
    FlushInstructionCache( GetCurrentProcess(), where, 8 );
    return 1;
}

static int commit( void )
{
    unsigned int i;

    for (i = 0; i < patch_count; i++) if (!store_code( patches[i].stub, patches[i].new )) break;
    if (i == patch_count) return 1;
    while (i--) store_code( patches[i].stub, patches[i].old );
    return 0;
}

int ums_hook_stubs( const char **why )
{
    HMODULE ntdll = GetModuleHandleA( "ntdll.dll" );
    unsigned char *islands = alloc_near( ntdll, MAX_ROWS * (ISLAND_SIZE + STUB_SIZE) );
    unsigned char *copies = islands + MAX_ROWS * ISLAND_SIZE;
    unsigned int i;

    if (!islands)
    {
        *why = "no memory near ntdll";
        return 0;
    }
    for (i = 0; i < ums_call_row_count; i++)
    {
        unsigned char *stub = (void *)GetProcAddress( ntdll, ums_call_rows[i].name );

        if (!stub || ums_call_rows[i].cls == CALL_PASS) continue;
        if (!is_stub( stub ))
        {
            *why = "ntdll's system-call stubs have another shape";
            VirtualFree( islands, 0, MEM_RELEASE );
            return 0;
        }
        prepare( i, stub, islands + i * ISLAND_SIZE, copies + i * STUB_SIZE );
    }
    ums_call_numbers_are_rows();
    ums_hook_use_stubs();
    if (commit()) return 1;
    *why = "ntdll's code cannot be written";
    return 0;
}
