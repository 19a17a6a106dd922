/*
 * Where Linux calls are made: a "syscall; ret" in libc.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Wine 11 (Syscall User Dispatch) and Proton (a filter on the address) treat a system call from
 * Windows memory as an NT call, and let libc's through. So this uses libc's code, on any Wine:
 *
 *  - Wine says that it runs on Linux, and ntdll.dll has a pointer to its dispatcher, in ntdll.so;
 *  - the ELF header of ntdll.so is below that address. Some of its relocations are bound to functions of
 *    other libraries;
 *  - one of these libraries is called libc.something. A relocation may also be bound to a library that
 *    replaces functions of libc; such libraries are ignored;
 *  - libc's symbol table has functions that only make a system call which cannot fail.
 *
 * Every pointer is checked before it is read, and nothing is called before one of these functions
 * was found with the expected bytes. In case of doubt no Linux call is made, and nothing that needs one
 * is tried.
 */

#include <windows.h>
#include <string.h>
#include "core/ums_core.h"
#include "access.h"
#include "auxv.h"
#include "ke_win32.h"

#define LINUX_READ  0
#define LINUX_OPEN  2
#define LINUX_CLOSE 3
#define LINUX_PRLIMIT64 302
#define LIMIT_FILE_SIZE 1                       /* RLIMIT_FSIZE */

#define PAGE       0x1000
#define MOST_PAGES 0x4000                       /* 64 MB: how far below an ELF header is searched */
#define MOST_SLOTS 0x4000                       /* maximum number of relocations of a library */

#define ELF_MAGIC  0x00010102464c457full        /* 64 bits, little-endian, version 1 */
#define ELF_X86_64 62
#define PT_LOAD    1
#define PT_DYNAMIC 2
#define R_X86_64_GLOB_DAT  6
#define R_X86_64_JUMP_SLOT 7
#define STT_FUNC   2

/* tags of the dynamic section [the ELF specification] */
enum { DT_PLTRELSZ = 2, DT_STRTAB = 5, DT_SYMTAB, DT_RELA, DT_RELASZ, DT_SONAME = 14, DT_JMPREL = 23,
       DT_KEPT, DT_GNU_HASH = 0x6ffffef5 };

struct library
{
    uint64_t base, end;
    uint64_t value[DT_KEPT];
    uint64_t gnu_hash;
};

struct symbol
{
    uint64_t start, size;
    int      function;
};

/* ---- reading: 0 for what cannot be read, which fits nowhere ---- */

static uint64_t load( uint64_t where )
{
    uint64_t value = 0;

    return ums_try_load( (const void *)where, &value ) ? value : 0;
}

static uint32_t load32( uint64_t where )
{
    return (uint32_t)load( where );
}

static int begins_with( uint64_t where, const char *text )
{
    for (; *text; text++, where++) if ((char)load( where ) != *text) return 0;
    return 1;
}

static int is_text( uint64_t where, const char *text )
{
    return begins_with( where, text ) && !(char)load( where + strlen( text ) );
}

/* ---- a library in memory ---- */

static uint64_t find_header( uint64_t inside )
{
    uint64_t page = inside & ~(uint64_t)(PAGE - 1), word;
    int i;

    for (i = 0; i < MOST_PAGES && page; i++, page -= PAGE)
    {
        if (!ums_try_load( (const void *)page, &word )) return 0;
        if ((word & 0x00ffffffffffffffull) == ELF_MAGIC) return page;
    }
    return 0;
}

/* The addresses in the dynamic section are those of the file with musl; glibc adds the base. */
static void read_dynamic( struct library *lib, uint64_t at )
{
    uint64_t tag;

    for (; at < lib->end && (tag = load( at )); at += 16)
    {
        uint64_t value = load( at + 8 );

        if (tag < DT_KEPT) lib->value[tag] = value;
        else if (tag == DT_GNU_HASH) lib->gnu_hash = value < lib->base ? value + lib->base : value;
    }
    for (tag = DT_STRTAB; tag <= DT_RELA; tag++)
        if (lib->value[tag] < lib->base) lib->value[tag] += lib->base;
    if (lib->value[DT_JMPREL] && lib->value[DT_JMPREL] < lib->base)
        lib->value[DT_JMPREL] += lib->base;
}

/* Find the library that contains this address. */
static int find_library( uint64_t inside, struct library *lib )
{
    uint64_t header, dynamic = 0;
    unsigned int i, count;

    memset( lib, 0, sizeof(*lib) );
    if (!(lib->base = find_header( inside ))) return 0;
    if ((load32( lib->base + 0x12 ) & 0xffff) != ELF_X86_64) return 0;
    header = lib->base + load( lib->base + 0x20 );
    count  = load32( lib->base + 0x38 ) & 0xffff;
    for (i = 0; i < count; i++, header += 0x38)
    {
        uint32_t type = load32( header );
        uint64_t begin = lib->base + load( header + 0x10 ), end = begin + load( header + 0x28 );

        if (type == PT_LOAD && end > lib->end) lib->end = end;
        if (type == PT_DYNAMIC) dynamic = begin;
    }
    if (!dynamic || inside >= lib->end) return 0;
    read_dynamic( lib, dynamic );
    return 1;
}

static uint32_t hash_of( const char *name )
{
    uint32_t hash = 5381;

    for (; *name; name++) hash = hash * 33 + (unsigned char)*name;
    return hash;
}

/* Uses DT_GNU_HASH: the number of buckets, the index of the first symbol in the table, the size of the
   Bloom filter; then the filter, the buckets, and chains of hashes. The last hash of a chain is odd. */
static int find_symbol( const struct library *lib, const char *name, struct symbol *symbol )
{
    uint32_t hash = hash_of( name ), buckets, first, index, found;
    uint64_t bucket, chain, at;

    if (!lib->gnu_hash || !(buckets = load32( lib->gnu_hash ))) return 0;
    first  = load32( lib->gnu_hash + 4 );
    bucket = lib->gnu_hash + 16 + 8 * (uint64_t)load32( lib->gnu_hash + 8 );
    chain  = bucket + 4 * (uint64_t)buckets;
    index  = load32( bucket + 4 * (hash % buckets) );
    if (index < first) return 0;
    do
    {
        if (!ums_try_load( (const void *)(chain + 4 * (uint64_t)(index - first)), &at )) return 0;
        found = (uint32_t)at;
        at = lib->value[DT_SYMTAB] + 24 * (uint64_t)index;
        if ((found | 1) == (hash | 1) && is_text( lib->value[DT_STRTAB] + load32( at ), name ))
        {
            symbol->function = (load( at ) >> 32 & 0xf) == STT_FUNC && (load( at ) >> 48);
            symbol->start    = lib->base + load( at + 8 );
            symbol->size     = load( at + 16 );
            return symbol->function;
        }
        index++;
    }
    while (!(found & 1));
    return 0;
}

/* ---- libc ---- */

static int is_libc( const struct library *lib )
{
    return lib->value[DT_SONAME] &&
           begins_with( lib->value[DT_STRTAB] + lib->value[DT_SONAME], "libc." );
}

/* Search for libc among the libraries to which these relocations are bound. Most are bound to one or two
   libraries, in groups. */
static int libc_among( const struct library *from, uint64_t table, uint64_t size,
                       struct library *libc )
{
    uint64_t at, end = table + size;
    unsigned int i;

    for (at = table, i = 0; at < end && i < MOST_SLOTS; at += 24, i++)
    {
        uint32_t type = load32( at + 8 );
        uint64_t bound;

        if (type != R_X86_64_GLOB_DAT && type != R_X86_64_JUMP_SLOT) continue;
        bound = load( from->base + load( at ) );
        if (!bound || bound - from->base < from->end - from->base) continue;
        if (bound - libc->base < libc->end - libc->base) continue;
        if (find_library( bound, libc ) && is_libc( libc )) return 1;
    }
    return 0;
}

static int find_libc( uint64_t dispatcher, struct library *libc )
{
    struct library ntdll;

    memset( libc, 0, sizeof(*libc) );
    if (!find_library( dispatcher, &ntdll )) return 0;
    return (ntdll.value[DT_JMPREL] &&
            libc_among( &ntdll, ntdll.value[DT_JMPREL], ntdll.value[DT_PLTRELSZ], libc )) ||
           libc_among( &ntdll, ntdll.value[DT_RELA], ntdll.value[DT_RELASZ], libc );
}

/* In glibc and in musl: mov $nr,%eax; syscall; ret, maybe after endbr64. */
static uint64_t find_gate( const struct library *libc )
{
    static const char *const names[] = { "getppid", "getpid", "getuid", "geteuid", "getgid" };
    struct symbol symbol;
    unsigned int i;
    uint64_t at;

    for (i = 0; i < ARRAYSIZE(names); i++)
    {
        if (!find_symbol( libc, names[i], &symbol ) || symbol.size > 64) continue;
        for (at = symbol.start; at + 3 <= symbol.start + symbol.size; at++)
            if ((load32( at ) & 0xffffff) == 0xc3050f) return at;
    }
    return 0;
}

/* ---- once ---- */

static const char *find( void )
{
    HMODULE module = GetModuleHandleA( "ntdll.dll" );
    void (__cdecl *host_version)( const char **, const char ** ) =
        (void *)GetProcAddress( module, "wine_get_host_version" );
    void **dispatcher = (void **)GetProcAddress( module, "__wine_syscall_dispatcher" );
    const char *sysname = "";
    struct library libc;
    void *nowhere = ums_linux_gate;
    uint64_t gate;
    int64_t thread;

    if (!host_version) return "this is not Wine, or a Wine that does not say on which system it runs";
    host_version( &sysname, NULL );
    if (lstrcmpA( sysname, "Linux" )) return "this is not Linux";
    if (!dispatcher || !find_libc( (uint64_t)*dispatcher, &libc )) return "libc was not found";
    if (!(gate = find_gate( &libc ))) return "libc has no plain system call where one is looked for";
    ums_linux_gate = (void *)gate;
    thread = (int64_t)ums_linux_syscall( LINUX_GETTID, 0, 0, 0, 0 );
    if (thread > 0 && thread <= INT32_MAX) return NULL;
    ums_linux_gate = nowhere;
    return "a Linux call out of libc went wrong";
}

const char *ke_find_linux( void )
{
    static const char *why;
    static int done;

    if (!done)
    {
        why = find();
        done = 1;
    }
    return why;
}

unsigned int ke_linux_auxv( uint64_t auxv[AUXV_MOST] )
{
    static const char path[] = "/proc/self/auxv";
    int64_t file, size;

    if (ke_find_linux()) return 0;
    file = (int64_t)ums_linux_syscall( LINUX_OPEN, (uint64_t)(ULONG_PTR)path, 0, 0, 0 );
    if (file < 0) return 0;
    size = (int64_t)ums_linux_syscall( LINUX_READ, (uint64_t)file, (uint64_t)(ULONG_PTR)auxv, AUXV_MOST * sizeof(auxv[0]), 0 );
    ums_linux_syscall( LINUX_CLOSE, (uint64_t)file, 0, 0, 0 );
    return size < 0 ? 0 : (unsigned int)(size / sizeof(auxv[0]));
}

uint64_t ke_largest_file( void )
{
    uint64_t limit[2] = { UINT64_MAX, UINT64_MAX };         /* now, and how far it may be raised */

    if (ke_find_linux() ||
        ums_linux_syscall( LINUX_PRLIMIT64, 0, LIMIT_FILE_SIZE, 0, (uint64_t)(ULONG_PTR)limit )) return UINT64_MAX;
    return limit[0];
}

/* ---- threads that are in there ---- */

/* At both instructions of the gate the return address is on top of the stack. Wine's own code uses the
   same instructions. */
uint64_t ke_linux_caller( uint64_t rip, uint64_t rsp )
{
    uint64_t gate = (uint64_t)ums_linux_gate, from;

    if (rip != gate && rip != gate + 2) return 0;
    return ums_try_load( (const void *)rsp, &from ) ? from : 0;
}

int ke_in_linux_call( uint64_t rip, uint64_t rsp )
{
    extern char ums_linux_syscall_end[];
    uint64_t from = ke_linux_caller( rip, rsp );

    return (from ? from : rip) - (uint64_t)ums_linux_syscall <
           (uint64_t)ums_linux_syscall_end - (uint64_t)ums_linux_syscall;
}
