/*
 * Gives the shim to a process that was created suspended, as its first two imports. Windows has no
 * counterpart. Only data is written: a block above the image, and then one entry of the image's
 * headers. The process's own loader does the rest. umsrun.exe uses this for the first process, and
 * kernel32_ums.dll for its children. It needs no C runtime.
 *
 * It redirects nothing. attach.c does that when the loader runs it in the process.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <winternl.h>
#include <string.h>

#include "private/inject.h"
#include "import_table.h"
#include "mapped_image.h"

#define PAGE           0x1000
#define PAGES          8
#define HEADERS        (16 * PAGE)      /* headers that begin later are taken for damaged */
#define DISTANCE       0x1000000        /* of our block from the image, if there is memory */
#define NO_PAGE        1                /* no page begins there */
#define PEB_IMAGE_BASE 0x10             /* ImageBaseAddress in a PEB [seen] */
#define ALIGN_UP( x, n ) (((x) + (n) - 1) & ~((ULONG64)(n) - 1))

/* A walk over the process's import table. It goes to and fro between descriptors, slots and names,
 * and Wine stops the process for each read: with one page, these took most of a start's time. */
struct plan
{
    struct import_table table;
    HANDLE              process;
    BYTE               *base;
    unsigned int        next;           /* the page that is given up next */
    DWORD               page_rva[PAGES];    /* what each of `pages` holds, NO_PAGE at first */
    BYTE                pages[PAGES][PAGE];
};

static const char does_not_fit[] = "its import table is damaged or of an unknown kind";

/***********************************************************************
 * reading the process
 */
static BOOL read_remote( HANDLE process, const void *from, void *to, SIZE_T size )
{
    SIZE_T done;

    return ReadProcessMemory( process, from, to, size, &done ) && done == size;
}

/* the page of the image that begins at RVA; NULL if it cannot be read */
static const BYTE *get_page( struct plan *plan, DWORD rva )
{
    unsigned int i;

    for (i = 0; i < PAGES; i++)
        if (plan->page_rva[i] == rva) return plan->pages[i];

    i = plan->next;
    plan->next = (i + 1) % PAGES;
    plan->page_rva[i] = NO_PAGE;
    if (!read_remote( plan->process, plan->base + rva, plan->pages[i], PAGE )) return NULL;
    plan->page_rva[i] = rva;
    return plan->pages[i];
}

static BOOL fetch( struct import_table *table, DWORD rva, void *to, DWORD size )
{
    struct plan *plan = CONTAINING_RECORD( table, struct plan, table );
    const BYTE *page;
    BYTE *out = to;
    DWORD part;

    while (size)
    {
        if (!(page = get_page( plan, rva & ~(PAGE - 1) ))) return FALSE;
        part = min( size, PAGE - rva % PAGE );
        memcpy( out, page + rva % PAGE, part );
        out += part;
        rva += part;
        size -= part;
    }
    return TRUE;
}

/***********************************************************************
 * the block
 */

/* A full path for the import table, which holds bytes that loaders widen one by one. If the
 * folder's name has other characters or is too long, its short name is used. */
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

static void *alloc_above( HANDLE process, BYTE *base, ULONG64 distance, SIZE_T size )
{
    const ULONG64 limit = 0x7fffffff0000, step = 0x100000;
    ULONG64 at = ALIGN_UP( (ULONG64)base + distance, 0x10000 ), region_end = 0;
    ULONG64 end = min( (ULONG64)base + 0xffff0000, limit ) - size;
    MEMORY_BASIC_INFORMATION info;
    void *ret;

    /* memory that is reported as free cannot always be reserved: try large regions again */
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

/* Not right behind the image: there a parent may put something of its own, such as a larger image. */
void *inject_alloc_above( HANDLE process, BYTE *base, DWORD image_size, SIZE_T size )
{
    void *ret = alloc_above( process, base, (ULONG64)image_size + DISTANCE, size );

    return ret ? ret : alloc_above( process, base, image_size, size );
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

/* the last step: from here on the loader of the process uses the new table */
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
    DWORD size = import_table_size( &plan->table );
    struct inject_block *block;
    IMAGE_DATA_DIRECTORY imports;
    const char *error;
    void *remote;

    if (!size) return does_not_fit;
    if (!(remote = inject_alloc_above( plan->process, plan->base, image_size, size )))
        return "there is no free memory above its image";
    error = "there is no memory left";
    if (!(block = VirtualAlloc( NULL, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE )))
        goto free_remote;

    error = "the path of kernel32_ums.dll is too long, or not for an import table";
    if (!set_path( &block->dlls[0], dir, "ntdll_ums.dll" )) goto free_block;
    if (!set_path( &block->dlls[1], dir, "kernel32_ums.dll" )) goto free_block;
    error = does_not_fit;
    if (!import_table_write( &plan->table, block, (BYTE *)remote - plan->base, size, flags,
                             &imports ))
        goto free_block;
    error = "its memory cannot be written";
    if (!WriteProcessMemory( plan->process, remote, block, size, NULL )) goto free_block;
    error = set_directories( plan->process, where, &imports, bound );

free_block:
    VirtualFree( block, 0, MEM_RELEASE );
free_remote:
    if (error) VirtualFreeEx( plan->process, remote, 0, MEM_RELEASE );
    return error;
}

/* A page at first: each read takes long. */
static const char *get_headers( struct plan *plan, BYTE *headers )
{
    const IMAGE_DOS_HEADER *dos = (const IMAGE_DOS_HEADER *)headers;
    DWORD size = PAGE;

    if (!fetch( &plan->table, 0, headers, PAGE )) return "its headers cannot be read";
    if (dos->e_magic == IMAGE_DOS_SIGNATURE && dos->e_lfanew > PAGE - (LONG)sizeof(IMAGE_NT_HEADERS64)
        && dos->e_lfanew <= HEADERS - (LONG)sizeof(IMAGE_NT_HEADERS64))
        size = dos->e_lfanew + sizeof(IMAGE_NT_HEADERS64);
    if (size > PAGE && !fetch( &plan->table, PAGE, headers + PAGE, size - PAGE )) return "its headers cannot be read";
    return inject_check_headers( headers, size );
}

static const char *inject_plan( struct plan *plan, BYTE *headers, const WCHAR *dir, DWORD flags )
{
    static const IMAGE_DATA_DIRECTORY none;
    const IMAGE_NT_HEADERS64 *nt;
    const IMAGE_DATA_DIRECTORY *bound = &none;
    IMAGE_DATA_DIRECTORY *where;
    const char *error;

    if ((error = get_headers( plan, headers ))) return error;
    nt = (const IMAGE_NT_HEADERS64 *)(headers + ((const IMAGE_DOS_HEADER *)headers)->e_lfanew);
    import_table_init( &plan->table, nt );
    where = (void *)(plan->base + ((BYTE *)nt->OptionalHeader.DataDirectory - headers));
    if (nt->OptionalHeader.NumberOfRvaAndSizes > IMAGE_DIRECTORY_ENTRY_BOUND_IMPORT)
        bound = &nt->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_BOUND_IMPORT];
    return write_block( plan, dir, flags, nt->OptionalHeader.SizeOfImage, where, bound );
}

const char *inject_process( HANDLE process, const WCHAR *dir, DWORD flags )
{
    PROCESS_BASIC_INFORMATION info;
    struct plan *plan;
    const char *error;
    BYTE *base;
    unsigned int i;

    if (NtQueryInformationProcess( process, ProcessBasicInformation, &info, sizeof(info), NULL )
        || !info.PebBaseAddress
        || !read_remote( process, (BYTE *)info.PebBaseAddress + PEB_IMAGE_BASE, &base,
                         sizeof(base) ))
        return "its memory cannot be read: it is being traced (strace -f, gdb), or this system "
               "forbids ptrace; a program with UMS installed needs no umsrun (umsrun --install)";
    if (!(plan = VirtualAlloc( NULL, sizeof(*plan) + HEADERS, MEM_RESERVE | MEM_COMMIT,
                               PAGE_READWRITE )))
        return "there is no memory left";
    plan->table.fetch = fetch;
    plan->process = process;
    plan->base = base;
    for (i = 0; i < PAGES; i++) plan->page_rva[i] = NO_PAGE;
    error = inject_plan( plan, (BYTE *)(plan + 1), dir, flags );
    VirtualFree( plan, 0, MEM_RELEASE );
    return error;
}

/* A block above the image was written by umsrun or the parent process; one inside it is in the file. */
struct inject_block *inject_find_block( void *base )
{
    struct inject_block *block;
    struct mapped_image image;
    DWORD rva;

    if (!image_open( &image, base )) return NULL;
    rva = image.imports.VirtualAddress;
    if (rva % PAGE < sizeof(*block)) return NULL;       /* our block begins in the same page */
    block = (struct inject_block *)(image.base + rva) - 1;
    if (!image_can_read( &image, block, sizeof(*block) )) return NULL;
    return block->magic == INJECT_MAGIC && block->version == INJECT_VERSION ? block : NULL;
}
