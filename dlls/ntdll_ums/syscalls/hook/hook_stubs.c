/*
 * The stub hook: it patches system-call stubs one by one. It is made for Windows, and tested under
 * Wine in the same form.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A stub begins with mov r10,rcx; mov eax,nr: eight aligned bytes. One store replaces them with a
 * jump to an island near the module. The island loads the row's number and jumps to ums_stub_hook.
 * Before that, the whole stub is copied, and calls are made through the copy.
 *
 * A thread that has executed the eight bytes is not affected by the store. A thread between the two
 * instructions would continue in the middle of the jump. So all other threads are stopped while stubs
 * are patched, and a thread found between the two is moved back to the stub's start. It may execute
 * the first instruction again because rcx has not changed. When the process starts, and when a module
 * is being loaded, no other thread can be in these stubs. One case is not covered: an exception or APC
 * between the two instructions, whose handler runs at that moment.
 *
 * It is all or nothing: everything is checked and prepared before the first byte changes.
 *
 * A stub that begins with a jump was patched before, by other software that watches the process. Then
 * calls go through that jump instead of a copy, so the other hook sees each call after us. It does not
 * know of carriers, and may remove its jump and ours with it. So workers are not carried if there is
 * such a stub. If a stub of the table is of any other kind, the hook is refused.
 *
 * Workers that are handed off need the stubs of call_table.c and those of win32u, in which threads
 * wait for messages. Carried workers need all exported stubs of ntdll and win32u: the carrier would
 * make a call that is not hooked with the worker's TEB in GS. win32u may be loaded later. The numbers
 * above the rows of the table stand for the stubs of calls without a row.
 */

#define UMS_CHANNEL LOG_CHANNEL_hook

#include <windows.h>
#include <winternl.h>
#include <string.h>
#include "core/objects.h"
#include "core/wait.h"
#include "syscalls/hook/hook.h"
#include "syscalls/hook/standstill.h"
#include "host/exports.h"
#include "host/ke_win32.h"
#include "host/asm_offsets.h"
#include "private/trace.h"

#define ISLAND_SIZE 32
#define STUB_SIZE   32
#define MAX_PLACES  5

static const unsigned char stub_head[4] = { 0x4c, 0x8b, 0xd1, 0xb8 };

/* the code of stubs after the number, up to the last instruction; it is position independent */
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
    unsigned int row;
    uint64_t old, new;
};

int __cdecl _snprintf( char *, size_t, const char *, ... );

/* Under the lock of the start (main.c), then of the loader. */
static char foreign[128];                       /* message: a stub patched by other software; or "" */
static struct patch patches[STUB_ROWS];
static unsigned int patch_count;
static unsigned int row_count;                  /* rows in use: those of the table, then others */
static uint8_t seen[CALL_NUMBERS];              /* this number has a patch; Zw* and Nt* share stubs */

/* Executable memory near a module, for islands and copies. An entry is complete before the first
   jump leads into it. */
static struct place
{
    unsigned char *memory;
    SIZE_T         size;
} places[MAX_PLACES];
static unsigned int place_count;

static int is_stub( const unsigned char *code )
{
    if (((ULONG_PTR)code & 7) || memcmp( code, stub_head, sizeof(stub_head) )) return 0;
    return !memcmp( code + 8, tail_wine, sizeof(tail_wine) ) ||
           !memcmp( code + 8, tail_windows_10, sizeof(tail_windows_10) ) ||
           !memcmp( code + 8, tail_windows_7, sizeof(tail_windows_7) );
}

/* The target of a jump that other software has written at the start of a stub; NULL if the code does
   not begin with a jump. */
static void *foreign_jump( const unsigned char *code )
{
    INT32 distance;
    void *target;

    if ((ULONG_PTR)code & 7) return NULL;
    memcpy( &distance, code + (code[0] == 0xff ? 2 : 1), 4 );
    if (code[0] == 0xe9) return (void *)(code + 5 + distance);
    if (code[0] == 0xff && code[1] == 0x25) memcpy( &target, code + 6 + distance, 8 );
    else if (code[0] == 0x48 && code[1] == 0xb8 && code[10] == 0xff && code[11] == 0xe0)
        memcpy( &target, code + 2, 8 );                     /* mov rax,target; jmp rax */
    else return NULL;
    return target;
}

/* Allocate read-write memory that a 32-bit jump reaches from any part of the module. */
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
        if (info.RegionSize < size) continue;
        mem = VirtualAlloc( p, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE );
        if (mem) return mem;
    }
    return NULL;
}

/* jmp [rip]; address */
static void write_jump( unsigned char *code, void *target )
{
    code[0] = 0xff;
    code[1] = 0x25;
    memset( code + 2, 0, 4 );
    memcpy( code + 6, &target, 8 );
}

/* mov eax,row; jump to ums_stub_hook */
static void write_island( unsigned char *island, unsigned int row )
{
    island[0] = 0xb8;
    memcpy( island + 1, &row, 4 );
    write_jump( island + 5, ums_stub_hook );
}

/* Memory for this number of stubs of the module; NULL if there is none. */
static struct place *make_place( HMODULE module, unsigned int stubs )
{
    struct place *place = &places[place_count];

    if (place_count == MAX_PLACES) return NULL;
    place->size = (SIZE_T)stubs * (ISLAND_SIZE + STUB_SIZE);
    if (!(place->memory = alloc_near( module, place->size ))) return NULL;
    place_count++;
    return place;
}

/* Everything is written: make the memory executable and read-only. */
static int seal( const struct place *place )
{
    DWORD old;

    return VirtualProtect( place->memory, place->size, PAGE_EXECUTE_READ, &old );
}

static unsigned int stub_number( const unsigned char *stub )
{
    return (stub[4] | stub[5] << 8) & (CALL_NUMBERS - 1);
}

static void prepare( unsigned int row, unsigned char *stub, struct place *place, unsigned int slot )
{
    unsigned char *island = place->memory + slot * (ISLAND_SIZE + STUB_SIZE);
    unsigned char *copy = island + ISLAND_SIZE;
    struct patch *patch = &patches[patch_count++];
    LONG distance = (LONG)(island - (stub + 5));
    unsigned char code[8] = { 0xe9, 0, 0, 0, 0, 0xcc, 0xcc, 0xcc };

    memcpy( code + 1, &distance, 4 );
    if (is_stub( stub ))
    {
        memcpy( copy, stub, STUB_SIZE );
        seen[stub_number( stub )] = 1;
    }
    else write_jump( copy, foreign_jump( stub ) );
    write_island( island, row );
    patch->stub = stub;
    patch->row = row;
    memcpy( &patch->old, stub, 8 );
    memcpy( &patch->new, code, 8 );
    ums_stub_native[row] = copy;
    ums_call_class[row] = row < ums_call_row_count ? ums_hook_class( &ums_call_rows[row] )
                                                   : HOOK_WORKERS;
    if (ums_objects_on && ums_object_looks( stub_number( stub ) )) ums_call_class[row] |= HOOK_LOOK;
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

/* ---- where APCs begin ---- */

#define CACHE_LINE 64

/* The known beginnings of the entry: whole, position-independent instructions, of at least eight
   bytes together. */

static const struct apc_entry
{
    unsigned char code[12];
    unsigned int  size;
} apc_entries[] =
{
    /* Wine 8: add $8,%rsp; mov 0x98(%rcx),%r10 */
    { { 0x48, 0x83, 0xc4, 0x08, 0x4c, 0x8b, 0x91, 0x98, 0x00, 0x00, 0x00 }, 11 },
    /* Wine 10 and 11, Windows 7: mov (%rsp),%rcx; mov 8(%rsp),%rdx */
    { { 0x48, 0x8b, 0x0c, 0x24, 0x48, 0x8b, 0x54, 0x24, 0x08 }, 9 },
};

/* One store replaces the first eight bytes of the entry with a jump to memory near ntdll. This memory
   holds a jump to ums_apc_hook, and a copy of the replaced instructions with a jump back; it is
   complete before the store. A thread between the two instructions would continue in the middle of the
   jump. This is accepted: no thread of a process that begins to use UMS is expected to be at the first
   instructions of an APC. */
int ums_hook_apc_install( void )
{
    HMODULE ntdll = GetModuleHandleA( "ntdll.dll" );
    unsigned char *entry = (void *)GetProcAddress( ntdll, "KiUserApcDispatcher" );
    unsigned char code[8] = { 0xe9, 0, 0, 0, 0, 0xcc, 0xcc, 0xcc };
    struct place *place;
    unsigned int i;
    uint64_t value;
    LONG distance;

    /* the locked exchange is one store even if not aligned, but it must not cross a cache line's end */
    if (!entry || ((ULONG_PTR)entry & (CACHE_LINE - 1)) > CACHE_LINE - 8) return 0;
    for (i = 0; i < sizeof(apc_entries) / sizeof(apc_entries[0]); i++)
        if (!memcmp( entry, apc_entries[i].code, apc_entries[i].size )) break;
    if (i == sizeof(apc_entries) / sizeof(apc_entries[0]) || !(place = make_place( ntdll, 1 )))
        return 0;
    write_jump( place->memory, ums_apc_hook );
    memcpy( place->memory + ISLAND_SIZE, entry, apc_entries[i].size );
    write_jump( place->memory + ISLAND_SIZE + apc_entries[i].size, entry + apc_entries[i].size );
    if (!seal( place )) return 0;
    ums_apc_go_on = place->memory + ISLAND_SIZE;
    distance = (LONG)(place->memory - (entry + 5));
    memcpy( code + 1, &distance, 4 );
    memcpy( &value, code, 8 );
    return store_code( entry, value );
}

static int commit( unsigned int from )
{
    unsigned int i;

    for (i = from; i < patch_count; i++) if (!store_code( patches[i].stub, patches[i].new )) break;
    if (i == patch_count) return 1;
    while (i-- > from) store_code( patches[i].stub, patches[i].old );
    return 0;
}

/* Move a program counter that is inside a patch back to its beginning. */
static ULONG_PTR move_back( ULONG_PTR rip )
{
    unsigned int i;

    for (i = 0; i < patch_count; i++)
        if (rip - (ULONG_PTR)patches[i].stub - 1 < 7) return (ULONG_PTR)patches[i].stub;
    return rip;
}

static int commit_among_threads( void )
{
    int ret;

    standstill_begin();
    if ((ret = commit( 0 ))) standstill_move( move_back );
    standstill_end();
    return ret;
}

/* ---- stubs of the table ---- */

/* Keep a message about the first stub that begins with a jump. A stub of an unknown kind (target is
   NULL) replaces it, because the hook is refused for that one. */
static const char *note_foreign( const char *name, const void *target )
{
    if (!foreign[0] || !target)
        _snprintf( foreign, sizeof(foreign) - 1, target ?
                   "other software has patched system calls (%s of ntdll begins with a jump)" :
                   "%s of ntdll is no system-call stub that is known; maybe other software has "
                   "patched it", name );
    return foreign;
}

int ums_hook_stubs_known( void )
{
    HMODULE ntdll = GetModuleHandleA( "ntdll.dll" );
    unsigned int i;

    for (i = 0; i < ums_call_row_count; i++)
    {
        const unsigned char *code = (void *)GetProcAddress( ntdll, ums_call_rows[i].name );

        if (code && is_stub( code )) return 1;
    }
    return 0;
}

int ums_hook_stubs_find( const char **why )
{
    HMODULE ntdll = GetModuleHandleA( "ntdll.dll" );
    struct place *place = make_place( ntdll, ums_call_row_count );
    unsigned int i;

    if (!place)
    {
        *why = "no memory near ntdll";
        return 0;
    }
    for (i = 0; i < ums_call_row_count; i++)
    {
        unsigned char *stub = (void *)GetProcAddress( ntdll, ums_call_rows[i].name );

        if (!stub) continue;
        if (!is_stub( stub )) *why = note_foreign( ums_call_rows[i].name, foreign_jump( stub ) );
        if (!is_stub( stub ) && !foreign_jump( stub )) goto failed;
        /* the software that patched the stub must see these calls, so make them all */
        if (!is_stub( stub ) && ums_call_rows[i].here) ums_waits_here = 0;
        prepare( i, stub, place, i );
    }
    *why = "memory cannot be made executable";
    if (!seal( place )) goto failed;
    row_count = ums_call_row_count;
    call_keys_are_rows();
    return 1;

failed:
    patch_count = place_count = 0;
    VirtualFree( place->memory, 0, MEM_RELEASE );
    return 0;
}

/* ---- all other stubs ---- */

/* Look for patched stubs among all exports whose name says that they are system calls. Those of the
   table have been looked at. */
static void look_for_foreign( HMODULE module )
{
    struct ums_exports exports;
    const unsigned char *code;
    const char *name;
    void *target;
    DWORD i;

    ums_exports_of( module, &exports );
    for (i = 0; i < exports.directory->NumberOfNames; i++)
    {
        if (!(code = ums_exported_call( &exports, i, &name ))) continue;
        if ((target = foreign_jump( code ))) note_foreign( name, target );
    }
}

/* The n-th exported stub that has no patch yet, or NULL. */
static unsigned char *exported_stub( const struct ums_exports *exports, DWORD n )
{
    unsigned char *code = (unsigned char *)exports->base + exports->functions[n];

    if (!exports->functions[n] || (const void *)code == (const void *)exports->directory)
        return NULL;
    return is_stub( code ) && !seen[stub_number( code )] ? code : NULL;
}

static int prepare_others( HMODULE module, const char **why )
{
    struct ums_exports exports;
    DWORD n, count, stubs = 0;
    struct place *place;

    ums_exports_of( module, &exports );
    count = exports.directory->NumberOfFunctions;
    for (n = 0; n < count; n++) if (exported_stub( &exports, n )) stubs++;
    if (!stubs) return 1;
    *why = "no room for all system-call stubs";
    if (row_count + stubs > STUB_ROWS || !(place = make_place( module, stubs ))) return 0;
    for (n = stubs = 0; n < count; n++)
    {
        unsigned char *stub = exported_stub( &exports, n );

        if (stub) prepare( row_count++, stub, place, stubs++ );
    }
    *why = "memory cannot be made executable";
    return seal( place );
}

struct dll_notification                         /* LDR_DLL_NOTIFICATION_DATA [doc] */
{
    ULONG flags;
    const UNICODE_STRING *path, *name;
    void *base;
    ULONG size;
};

#define DLL_LOADED 1

/* Called before any code of the module runs. If the stubs of win32u cannot be hooked, its calls would
   fail silently on a carrier. So this is logged, and workers are no longer carried. At home, a worker
   that waits for a message then keeps its scheduler waiting. */
static void CALLBACK dll_loaded( ULONG reason, const struct dll_notification *data, void *context )
{
    unsigned int first = patch_count;
    const char *why;

    (void)context;
    if (reason != DLL_LOADED || (HMODULE)data->base != GetModuleHandleA( "win32u.dll" )) return;
    if (prepare_others( data->base, &why ) && commit( first )) return;
    ums_err( "the system-call stubs of win32u.dll cannot be hooked; workers %s",
             ums_carry ? "are not carried any more" : "that wait for messages keep their scheduler" );
    ums_carry = ums_straight = 0;
}

/* Prepare the stubs of win32u now, or when it is loaded. */
static int prepare_win32u( HMODULE ntdll, const char **why )
{
    NTSTATUS (NTAPI *notify)( ULONG, void *, void *, void ** ) =
        (void *)GetProcAddress( ntdll, "LdrRegisterDllNotification" );
    HMODULE win32u = GetModuleHandleA( "win32u.dll" );
    void *cookie;

    if (win32u) return prepare_others( win32u, why );
    *why = "loads of modules are not announced";
    return notify && !notify( 0, (void *)dll_loaded, NULL, &cookie );
}

/* With handoff, drop the patches of calls that need no treatment at home. */
static void drop_quick_ones( void )
{
    unsigned int i, kept = 0;

    for (i = 0; i < patch_count; i++)
    {
        const struct call_row *row = &ums_call_rows[patches[i].row];

        if (row->cls > CALL_QUICK || row->handler || call_is_here( row ))
            patches[kept++] = patches[i];
    }
    patch_count = kept;
}

int ums_hook_stubs_install( const char **why )
{
    HMODULE ntdll = GetModuleHandleA( "ntdll.dll" );
    unsigned int listed = patch_count;

    if (ums_carry) look_for_foreign( ntdll );
    if (foreign[0])
    {
        *why = foreign;
        if (ums_carry) return 0;
        ums_info( "%s; that software still sees each call, after the shim", foreign );
    }
    if (!ums_carry)
    {
        drop_quick_ones();
        if (!prepare_win32u( ntdll, why )) ums_info( "the stubs of win32u.dll are not hooked, because %s", *why );
    }
    else if (!prepare_others( ntdll, why ) || !prepare_win32u( ntdll, why ))
    {
        patch_count = listed;
        return 0;
    }
    *why = "the code of system-call stubs cannot be written";
    if (!commit_among_threads()) return 0;
    ums_trace( "%u stubs are changed", patch_count );
    return 1;
}

int ums_hook_owns( const void *code )
{
    unsigned int i;

    for (i = 0; i < place_count; i++)
        if ((ULONG_PTR)code - (ULONG_PTR)places[i].memory < places[i].size) return 1;
    return 0;
}
