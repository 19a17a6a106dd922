/*
 * Stands for nothing in Windows: gives a process that was created suspended the shim as its first
 * two imports. Only data is written: a block above the image, and in the end one entry of the
 * image's headers. The process's own loader does the rest. Shared by umsrun.exe (the first process)
 * and kernel32_ums.dll (its children); no C runtime needed.
 *
 * It does not redirect anything; that is attach.c, which the loader then runs inside the process.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <winternl.h>
#include <string.h>

#include "private/exports.h"
#include "private/inject.h"

#define PAGE            0x1000
#define MAX_DESCRIPTORS 4096            /* a longer table is taken for garbage */
#define MAX_THUNKS      65536
#define ALIGN_UP( x, n ) (((x) + (n) - 1) & ~((ULONG64)(n) - 1))

/* who gets an imported name */
enum owner { OWNER_HOST, OWNER_NTDLL, OWNER_KERNEL32, OWNER_NONE };

/* A walk over the process's import table. It is made twice: `block` is NULL while the room is
 * counted. */
struct plan
{
    HANDLE                    process;
    BYTE                     *base;
    IMAGE_DATA_DIRECTORY      imports;
    DWORD                     page_rva;     /* what `page` holds, 1 at first: nothing */
    BYTE                      page[PAGE];

    struct inject_block      *block;
    DWORD                     rva;          /* of the block */
    IMAGE_IMPORT_DESCRIPTOR  *descriptors;
    DWORD                     descriptor_count;
    ULONG64                  *thunks;
    DWORD                     thunk_count;
    DWORD                     thunks_rva;
};

C_ASSERT( sizeof(struct inject_block) % sizeof(ULONG64) == 0 );

static const char not_windows[] = "is not a Windows program";
static const char does_not_fit[] = "its import table is damaged or of an unknown kind";

const char *inject_check_headers( const void *headers, SIZE_T size )
{
    const IMAGE_DOS_HEADER *dos = headers;
    const IMAGE_NT_HEADERS64 *nt;
    DWORD offset;

    if (size < sizeof(*dos) || dos->e_magic != IMAGE_DOS_SIGNATURE)
        return not_windows;
    offset = dos->e_lfanew;
    if (offset >= size || size - offset < sizeof(*nt)) return not_windows;
    nt = (const IMAGE_NT_HEADERS64 *)((const BYTE *)headers + offset);
    if (nt->Signature != IMAGE_NT_SIGNATURE) return not_windows;

    switch (nt->FileHeader.Machine)
    {
    case IMAGE_FILE_MACHINE_AMD64: break;
    case IMAGE_FILE_MACHINE_I386:  return "is a 32-bit program; UMS is for 64-bit ones only";
    case IMAGE_FILE_MACHINE_ARM64: return "is an Arm64 program; UMS is for x86-64 ones only";
    default:                       return "is a program for another processor than x86-64";
    }
    if (nt->OptionalHeader.Magic != IMAGE_NT_OPTIONAL_HDR64_MAGIC)
        return not_windows;
    if (nt->FileHeader.Characteristics & IMAGE_FILE_DLL) return "is a DLL, not a program";
    if (nt->OptionalHeader.NumberOfRvaAndSizes <= IMAGE_DIRECTORY_ENTRY_COM_DESCRIPTOR)
        return "has too short a list of data directories";
    if (nt->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_COM_DESCRIPTOR].VirtualAddress)
        return "is a .NET program, which imports nothing by table";
    return NULL;
}

/***********************************************************************
 * reading the process
 */
static BOOL read_remote( HANDLE process, const void *from, void *to, SIZE_T size )
{
    SIZE_T done;

    return ReadProcessMemory( process, from, to, size, &done ) && done == size;
}

static BOOL fetch( struct plan *plan, DWORD rva, void *to, DWORD size )
{
    BYTE *out = to;
    DWORD page, part;

    while (size)
    {
        page = rva & ~(PAGE - 1);
        if (page != plan->page_rva)
        {
            plan->page_rva = 1;
            if (!read_remote( plan->process, plan->base + page, plan->page, PAGE )) return FALSE;
            plan->page_rva = page;
        }
        part = min( size, page + PAGE - rva );
        memcpy( out, plan->page + (rva - page), part );
        out += part;
        rva += part;
        size -= part;
    }
    return TRUE;
}

/* a string cut to `size` - 1 characters */
static BOOL fetch_string( struct plan *plan, DWORD rva, char *to, DWORD size )
{
    DWORD i;

    for (i = 0; i < size - 1; i++)
    {
        if (!fetch( plan, rva + i, &to[i], 1 )) return FALSE;
        if (!to[i]) return TRUE;
    }
    to[i] = 0;
    return TRUE;
}

/***********************************************************************
 * which names are ours
 */
/* the first `max` characters, ASCII letters folded */
static BOOL same_name( const char *a, const char *b, size_t max )
{
    char x, y;

    for (; max; a++, b++, max--)
    {
        x = *a >= 'A' && *a <= 'Z' ? *a + 32 : *a;
        y = *b >= 'A' && *b <= 'Z' ? *b + 32 : *b;
        if (x != y) return FALSE;
        if (!x) return TRUE;
    }
    return TRUE;
}

static enum owner dll_owner( const char *dll )
{
    static const char api_set[] = "api-ms-win-core-ums-";

    if (same_name( dll, "ntdll.dll", 10 ) || same_name( dll, "ntdll", 6 )) return OWNER_NTDLL;
    if (same_name( dll, "kernel32.dll", 13 ) || same_name( dll, "kernel32", 9 ))
        return OWNER_KERNEL32;
    return same_name( dll, api_set, sizeof(api_set) - 1 ) ? OWNER_KERNEL32 : OWNER_HOST;
}

static BOOL is_ums_name( const char *name, enum owner owner )
{
#define NAME( type, name, args ) #name,
    static const char *const kernel32_names[] = { UMS_KERNEL32_EXPORTS( NAME ) };
    static const char *const ntdll_names[] = { UMS_NTDLL_EXPORTS( NAME )
                                               UMS_NTDLL_FACTORY_EXPORTS( NAME ) };
#undef NAME
    const char *const *names = owner == OWNER_NTDLL ? ntdll_names : kernel32_names;
    size_t i, count = owner == OWNER_NTDLL ? ARRAYSIZE(ntdll_names) : ARRAYSIZE(kernel32_names);

    for (i = 0; i < count; i++)
        if (!strcmp( name, names[i] )) return TRUE;
    return FALSE;
}

/* Who gets the name that THUNK asks DLL's owner for; OWNER_NONE if it cannot be read. */
static enum owner thunk_owner( struct plan *plan, ULONG64 thunk, enum owner dll )
{
    char name[48];

    if (dll == OWNER_HOST || IMAGE_SNAP_BY_ORDINAL64( thunk )) return OWNER_HOST;
    if (!fetch_string( plan, (DWORD)thunk + sizeof(WORD), name, sizeof(name) )) return OWNER_NONE;
    return is_ums_name( name, dll ) ? dll : OWNER_HOST;
}

/***********************************************************************
 * the new import table
 */
static void add_descriptor( struct plan *plan, const IMAGE_IMPORT_DESCRIPTOR *descriptor )
{
    DWORD i = plan->descriptor_count++;

    if (plan->block) plan->descriptors[i] = *descriptor;
}

static void add_thunk( struct plan *plan, ULONG64 thunk )
{
    DWORD i = plan->thunk_count++;

    if (plan->block) plan->thunks[i] = thunk;
}

/* A run of neighbours with one owner, thunks FIRST .. FIRST + COUNT - 1 of FROM, gets a descriptor
 * of its own. */
static void add_run( struct plan *plan, const IMAGE_IMPORT_DESCRIPTOR *from, DWORD first,
                     DWORD count, enum owner owner )
{
    IMAGE_IMPORT_DESCRIPTOR descriptor = *from;

    add_thunk( plan, 0 );
    descriptor.TimeDateStamp = 0;
    descriptor.ForwarderChain = 0;
    descriptor.FirstThunk += first * sizeof(ULONG64);
    descriptor.OriginalFirstThunk = plan->thunks_rva
                                    + (plan->thunk_count - 1 - count) * sizeof(ULONG64);
    if (owner == OWNER_NTDLL)
        descriptor.Name = plan->rva + offsetof( struct inject_block, dlls[0].path );
    if (owner == OWNER_KERNEL32)
        descriptor.Name = plan->rva + offsetof( struct inject_block, dlls[1].path );
    add_descriptor( plan, &descriptor );
}

static BOOL add_split( struct plan *plan, const IMAGE_IMPORT_DESCRIPTOR *from, enum owner dll )
{
    DWORD list = from->OriginalFirstThunk ? from->OriginalFirstThunk : from->FirstThunk;
    enum owner owner, last = OWNER_NONE;
    DWORD i, first = 0;
    ULONG64 thunk;

    for (i = 0; i < MAX_THUNKS; i++)
    {
        if (!fetch( plan, list + i * sizeof(thunk), &thunk, sizeof(thunk) )) return FALSE;
        owner = thunk ? thunk_owner( plan, thunk, dll ) : OWNER_NONE;
        if (i && owner != last)
        {
            add_run( plan, from, first, i - first, last );
            first = i;
        }
        if (!thunk) return TRUE;
        if (owner == OWNER_NONE) return FALSE;
        add_thunk( plan, thunk );
        last = owner;
    }
    return FALSE;
}

/* Hosts refuse to load a program whose imports they lack (Windows), or give it a trap (Wine): so
 * the names of UMS are asked of the shim from the start. */
static BOOL add_program_imports( struct plan *plan )
{
    IMAGE_IMPORT_DESCRIPTOR descriptor;
    enum owner dll;
    char name[32];
    DWORD i;

    if (!plan->imports.VirtualAddress) return TRUE;
    for (i = 0; i < MAX_DESCRIPTORS; i++)
    {
        if (!fetch( plan, plan->imports.VirtualAddress + i * sizeof(descriptor), &descriptor,
                    sizeof(descriptor) ))
            return FALSE;
        if (!descriptor.Name || !descriptor.FirstThunk) return TRUE;
        if (!fetch_string( plan, descriptor.Name, name, sizeof(name) )) return FALSE;

        if ((dll = dll_owner( name )) != OWNER_HOST)
        {
            if (!add_split( plan, &descriptor, dll )) return FALSE;
        }
        else
        {
            if (descriptor.OriginalFirstThunk) descriptor.TimeDateStamp = 0;
            add_descriptor( plan, &descriptor );
        }
    }
    return FALSE;
}

static void add_our_imports( struct plan *plan )
{
    static const IMAGE_IMPORT_DESCRIPTOR zero;
    IMAGE_IMPORT_DESCRIPTOR descriptor = zero;
    DWORD i, rva;

    for (i = 0; i < ARRAYSIZE(plan->block->dlls); i++)
    {
        rva = plan->rva + offsetof( struct inject_block, dlls[i] );
        if (plan->block)
        {
            plan->block->dlls[i].names[0] = rva + offsetof( struct inject_dll, import );
            plan->block->dlls[i].slots[0] = rva + offsetof( struct inject_dll, import );
        }
        descriptor.OriginalFirstThunk = rva + offsetof( struct inject_dll, names );
        descriptor.FirstThunk = rva + offsetof( struct inject_dll, slots );
        descriptor.Name = rva + offsetof( struct inject_dll, path );
        add_descriptor( plan, &descriptor );
    }
}

static BOOL walk_imports( struct plan *plan )
{
    static const IMAGE_IMPORT_DESCRIPTOR zero;

    plan->descriptor_count = 0;
    plan->thunk_count = 0;
    add_our_imports( plan );
    if (!add_program_imports( plan )) return FALSE;
    add_descriptor( plan, &zero );
    return TRUE;
}

/***********************************************************************
 * the block
 */

/* A full path that the import table can hold: bytes, which loaders widen one by one. Where the
 * folder's name has other characters or is too long, its short name serves. */
static BOOL set_path( struct inject_dll *dll, const WCHAR *dir, const char *file )
{
    WCHAR buffer[INJECT_MAX_PATH];
    DWORD i, len = lstrlenW( dir ), file_len = lstrlenA( file );
    BOOL fits = len + file_len < INJECT_MAX_PATH;

    for (i = 0; fits && i < len; i++) fits = dir[i] < 0x80;
    if (!fits)
    {
        len = GetShortPathNameW( dir, buffer, ARRAYSIZE(buffer) );
        if (!len || len + file_len >= INJECT_MAX_PATH) return FALSE;
        dir = buffer;
    }
    for (i = 0; i < len; i++)
    {
        if (dir[i] >= 0x80) return FALSE;
        dll->path[i] = (char)dir[i];
    }
    memcpy( dll->path + len, file, file_len + 1 );
    return TRUE;
}

void *inject_alloc_above( HANDLE process, BYTE *base, DWORD image_size, SIZE_T size )
{
    const ULONG64 limit = 0x7fffffff0000, step = 0x100000;
    ULONG64 at = ALIGN_UP( (ULONG64)base + image_size, 0x10000 ), region_end = 0;
    ULONG64 end = min( (ULONG64)base + 0xffff0000, limit ) - size;
    MEMORY_BASIC_INFORMATION info;
    void *ret;

    /* what is told to be free is not always to be had, so a large region gets more than one try */
    for (; at < end; at = ALIGN_UP( at, 0x10000 ))
    {
        if (at >= region_end)
        {
            if (!VirtualQueryEx( process, (void *)at, &info, sizeof(info) )) break;
            region_end = (ULONG64)info.BaseAddress + info.RegionSize;
        }
        if (info.State == MEM_FREE && region_end - at >= size)
        {
            ret = VirtualAllocEx( process, (void *)at, size, MEM_RESERVE | MEM_COMMIT,
                                  PAGE_READWRITE );
            if (ret) return ret;
            at = min( at + step, region_end );
        }
        else at = region_end;
    }
    return NULL;
}

static void fill_block( struct plan *plan, DWORD size, DWORD flags,
                        const IMAGE_DATA_DIRECTORY *bound )
{
    struct inject_block *block = plan->block;

    block->magic = INJECT_MAGIC;
    block->version = INJECT_VERSION;
    block->flags = flags;
    block->size = size;
    block->imports = plan->imports;
    block->bound = *bound;
    memcpy( block->dlls[0].import.name, "NtUmsThreadYield", sizeof("NtUmsThreadYield") );
    memcpy( block->dlls[1].import.name, "ExecuteUmsThread", sizeof("ExecuteUmsThread") );
}

static BOOL write_headers( HANDLE process, void *where, const void *data, SIZE_T size )
{
    DWORD old;
    BOOL ret;

    if (!VirtualProtectEx( process, where, size, PAGE_READWRITE, &old )) return FALSE;
    ret = WriteProcessMemory( process, where, data, size, NULL );
    VirtualProtectEx( process, where, size, old, &old );
    return ret;
}

/* the last step: from here on the process's loader sees the new table */
static const char *set_directories( HANDLE process, IMAGE_DATA_DIRECTORY *where,
                                    const IMAGE_DATA_DIRECTORY *imports,
                                    const IMAGE_DATA_DIRECTORY *bound )
{
    static const IMAGE_DATA_DIRECTORY none;
    IMAGE_DATA_DIRECTORY *bound_entry = where + IMAGE_DIRECTORY_ENTRY_BOUND_IMPORT;

    if (bound->VirtualAddress && !write_headers( process, bound_entry, &none, sizeof(none) ))
        return "its headers cannot be written";
    if (write_headers( process, where + IMAGE_DIRECTORY_ENTRY_IMPORT, imports, sizeof(*imports) ))
        return NULL;
    if (bound->VirtualAddress) write_headers( process, bound_entry, bound, sizeof(*bound) );
    return "its headers cannot be written";
}

static const char *write_block( struct plan *plan, const WCHAR *dir, DWORD flags, DWORD image_size,
                                IMAGE_DATA_DIRECTORY *where, const IMAGE_DATA_DIRECTORY *bound )
{
    DWORD offset = sizeof(*plan->block) + plan->descriptor_count * sizeof(IMAGE_IMPORT_DESCRIPTOR);
    DWORD thunks = ALIGN_UP( offset, sizeof(ULONG64) );
    DWORD size = thunks + plan->thunk_count * sizeof(ULONG64);
    IMAGE_DATA_DIRECTORY imports;
    const char *error;
    void *remote;

    if (!(remote = inject_alloc_above( plan->process, plan->base, image_size, size )))
        return "there is no free memory above its image";
    error = "there is no memory left";
    if (!(plan->block = VirtualAlloc( NULL, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE )))
        goto free_remote;

    plan->rva = (BYTE *)remote - plan->base;
    plan->descriptors = (IMAGE_IMPORT_DESCRIPTOR *)(plan->block + 1);
    plan->thunks = (ULONG64 *)((BYTE *)plan->block + thunks);
    plan->thunks_rva = plan->rva + thunks;
    fill_block( plan, size, flags, bound );
    error = "the path of kernel32_ums.dll is too long, or not for an import table";
    if (!set_path( &plan->block->dlls[0], dir, "ntdll_ums.dll" )) goto free_block;
    if (!set_path( &plan->block->dlls[1], dir, "kernel32_ums.dll" )) goto free_block;
    error = does_not_fit;
    if (!walk_imports( plan )) goto free_block;
    error = "its memory cannot be written";
    if (!WriteProcessMemory( plan->process, remote, plan->block, size, NULL )) goto free_block;

    imports.VirtualAddress = plan->rva + sizeof(*plan->block);
    imports.Size = offset - sizeof(*plan->block);
    error = set_directories( plan->process, where, &imports, bound );

free_block:
    VirtualFree( plan->block, 0, MEM_RELEASE );
free_remote:
    if (error) VirtualFreeEx( plan->process, remote, 0, MEM_RELEASE );
    return error;
}

const char *inject_process( HANDLE process, const WCHAR *dir, DWORD flags )
{
    PROCESS_BASIC_INFORMATION info;
    const IMAGE_NT_HEADERS64 *nt;
    IMAGE_DATA_DIRECTORY *where;
    struct plan *plan;
    const char *error;
    BYTE *page;
    PEB peb;

    if (NtQueryInformationProcess( process, ProcessBasicInformation, &info, sizeof(info), NULL )
        || !info.PebBaseAddress
        || !read_remote( process, info.PebBaseAddress, &peb, offsetof( PEB, Ldr ) ))
        return "its environment block cannot be read";
    if (!(plan = VirtualAlloc( NULL, sizeof(*plan) + PAGE, MEM_RESERVE | MEM_COMMIT,
                               PAGE_READWRITE )))
        return "there is no memory left";
    page = (BYTE *)(plan + 1);

    plan->process = process;
    plan->base = peb.Reserved3[1];          /* ImageBaseAddress */
    plan->page_rva = 1;
    error = "its headers cannot be read";
    if (!fetch( plan, 0, page, PAGE ) || (error = inject_check_headers( page, PAGE ))) goto done;

    nt = (const IMAGE_NT_HEADERS64 *)(page + ((const IMAGE_DOS_HEADER *)page)->e_lfanew);
    plan->imports = nt->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_IMPORT];
    where = (void *)(plan->base + ((BYTE *)nt->OptionalHeader.DataDirectory - page));
    error = does_not_fit;
    if (!walk_imports( plan )) goto done;
    error = write_block( plan, dir, flags, nt->OptionalHeader.SizeOfImage, where,
                         &nt->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_BOUND_IMPORT] );
done:
    VirtualFree( plan, 0, MEM_RELEASE );
    return error;
}

struct inject_block *inject_find_block( void *base )
{
    const IMAGE_DOS_HEADER *dos = base;
    const IMAGE_NT_HEADERS64 *nt = (const IMAGE_NT_HEADERS64 *)((const BYTE *)base + dos->e_lfanew);
    DWORD rva = nt->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_IMPORT].VirtualAddress;
    struct inject_block *block = (struct inject_block *)((BYTE *)base + rva) - 1;

    if (rva < nt->OptionalHeader.SizeOfImage) return NULL;      /* a table of its own, as linked */
    return block->magic == INJECT_MAGIC && block->version == INJECT_VERSION ? block : NULL;
}
