/*
 * Where the threads of the victim were when they were stopped. The DLL's symbols tell: the file
 * has them, the image in memory does not.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "signals.h"
#include "../../dlls/ntdll_ums/host/auxv.h"

static const char *const place_names[PLACES] =
    { "worker", "upcall", "switch", "hook", "call", "park", "ours", "system", "unix" };
static const char *const target_names[TARGETS] = { "scheduler", "home", "plain" };

/* By the beginning of the function's name; what is not here is PLACE_OURS. */
static const struct { const char *name; enum place place; } names[] =
{
    { "ke_carry", PLACE_SWITCH }, { "become_scheduler", PLACE_SWITCH },
    { "load_user_part", PLACE_SWITCH }, { "return_by_jump", PLACE_SWITCH },
    { "ke_leave_carrier", PLACE_SWITCH }, { "ke_scheduler_upcall", PLACE_SWITCH },
    { "ke_scheduler_run", PLACE_SWITCH }, { "ke_switch", PLACE_SWITCH }, { "parking_place", PLACE_SWITCH },
    { "ums_call_dispatcher", PLACE_CALL }, { "ums_dispatcher_land", PLACE_CALL },
    { "ums_call_stub", PLACE_CALL },
    { "ums_linux_syscall", PLACE_PARK },
    { "ums_dispatcher_hook", PLACE_HOOK }, { "ums_stub_hook", PLACE_HOOK },
    { "hook_frame", PLACE_HOOK }, { "stub_frame", PLACE_HOOK }, { "ums_hook", PLACE_HOOK },
    { "call_", PLACE_HOOK }, { "ums_call_", PLACE_HOOK }, { "ums_local", PLACE_HOOK },
    { "ums_set_teb", PLACE_HOOK },
};

/* The function at this address of the DLL's code. */
static const char *symbol_at( const char *file, uint32_t rva, char *space )
{
    const IMAGE_NT_HEADERS *nt = (void *)(file + ((IMAGE_DOS_HEADER *)file)->e_lfanew);
    const char *symbols = file + nt->FileHeader.PointerToSymbolTable, *entry, *found = NULL;
    const char *strings = symbols + nt->FileHeader.NumberOfSymbols * IMAGE_SIZEOF_SYMBOL;
    const IMAGE_SECTION_HEADER *text = IMAGE_FIRST_SECTION( nt );
    uint32_t i, best = 0;

    for (i = 0; i < nt->FileHeader.NumberOfSymbols; i++)
    {
        const IMAGE_SYMBOL *symbol = (void *)(entry = symbols + i * IMAGE_SIZEOF_SYMBOL);
        uint32_t at = symbol->Value + text->VirtualAddress;

        i += symbol->NumberOfAuxSymbols;
        if (symbol->SectionNumber != 1 || entry[0] == '.' || at > rva || at < best) continue;
        found = entry;
        best = at;
    }
    if (!found) return "";
    if (!*(uint32_t *)found) return strings + *(uint32_t *)(found + 4);
    memcpy( space, found, 8 );
    space[8] = 0;
    return space;
}

static const char *map_dll( void )
{
    HANDLE file = CreateFileA( shared->dll_path, GENERIC_READ, FILE_SHARE_READ, NULL, OPEN_EXISTING,
                               0, NULL );

    return MapViewOfFile( CreateFileMappingA( file, NULL, PAGE_READONLY, 0, 0, NULL ),
                          FILE_MAP_READ, 0, 0, 0 );
}

static int on_scheduler_stack( uint64_t rsp )
{
    int i;

    for (i = 0; i < SCHEDS; i++)
        if (rsp > shared->stacks[i][0] && rsp <= shared->stacks[i][1]) return 1;
    return 0;
}

static int is_windows( HANDLE process, uint64_t address, MEMORY_BASIC_INFORMATION *info )
{
    return VirtualQueryEx( process, (void *)address, info, sizeof(*info) ) &&
           info->State == MEM_COMMIT;
}

enum place place_of( HANDLE process, const CONTEXT *context )
{
    static const char *file;
    uint64_t rip = context->Rip;
    MEMORY_BASIC_INFORMATION info;
    const char *name;
    char space[9];
    unsigned int i;

    /* what of libc a Linux call is made from, of ours */
    if (!is_windows( process, rip, &info ) &&
        (!ReadProcessMemory( process, (void *)context->Rsp, &rip, sizeof(rip), NULL ) ||
         !is_windows( process, rip, &info ) || info.AllocationBase != shared->dll))
        return PLACE_UNIX;
    if (info.Type != MEM_IMAGE) return PLACE_CALL;      /* a private copy of a stub */
    if (info.AllocationBase == shared->exe)
        return on_scheduler_stack( context->Rsp ) ? PLACE_UPCALL : PLACE_WORKER;
    if (info.AllocationBase != shared->dll) return PLACE_SYSTEM;
    if (!file) file = map_dll();
    name = symbol_at( file, (uint32_t)((char *)rip - (char *)shared->dll), space );
    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strncmp( name, names[i].name, strlen( names[i].name ) )) return names[i].place;
    return PLACE_OURS;
}

/* What each storm is for, where workers are carried. */
static const struct { enum storm storm; enum target target; enum place place; } aims[] =
{
    { STORM_SWITCH, TARGET_SCHEDULER, PLACE_SWITCH },
    { STORM_SWITCH, TARGET_SCHEDULER, PLACE_WORKER },
    { STORM_SWITCH, TARGET_SCHEDULER, PLACE_UPCALL },
    { STORM_SWITCH, TARGET_HOME, PLACE_PARK },
    { STORM_HOOK,   TARGET_SCHEDULER, PLACE_HOOK },
    { STORM_LOCAL,  TARGET_SCHEDULER, PLACE_CALL },
    { STORM_CALLS,  TARGET_SCHEDULER, PLACE_PARK },
    { STORM_CALLS,  TARGET_HOME, PLACE_CALL },
    { STORM_HOME,   TARGET_SCHEDULER, PLACE_PARK },      /* the switch at home is too short */
    { STORM_HOME,   TARGET_HOME, PLACE_PARK },
    { STORM_WAIT,   TARGET_HOME, PLACE_CALL },
    { STORM_IO,     TARGET_HOME, PLACE_CALL },
    { STORM_IO,     TARGET_HOME, PLACE_PARK },
    { STORM_STACK,  TARGET_SCHEDULER, PLACE_WORKER },
    { STORM_MIX,    TARGET_SCHEDULER, PLACE_CALL },
    { STORM_MIX,    TARGET_HOME, PLACE_CALL },
};

void places_print( void )
{
    int i, j;

    for (i = 0; i < TARGETS; i++)
    {
        printf( "%-9s", target_names[i] );
        for (j = 0; j < PLACES; j++) printf( " %s %ld", place_names[j], shared->places[i][j] );
        printf( "\n" );
    }
}

/* Where GS is written by a system call, Linux stops a carrier at the end of that call nearly always, but for where it sleeps. The file is
   Linux's, so it is opened by the name that Wine has for it. If it cannot be read nothing is let off. */
static int gs_by_syscall( void )
{
    uint64_t auxv[AUXV_MOST], caps;
    DWORD size = 0;
    HANDLE file = CreateFileA( "\\\\?\\unix\\proc\\self\\auxv", GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_EXISTING,
                               0, NULL );

    if (file == INVALID_HANDLE_VALUE) return 0;
    if (!ReadFile( file, auxv, sizeof(auxv), &size, NULL )) size = 0;
    CloseHandle( file );
    return size && !(auxv_find( auxv, size / sizeof(auxv[0]), AUXV_HWCAP2, &caps ) && (caps & HWCAP2_FSGSBASE));
}

int places_hit( int say )
{
    static int by_syscall = -1;
    unsigned int i;
    int hit = 1;

    if (by_syscall < 0) by_syscall = gs_by_syscall();
    for (i = 0; i < sizeof(aims) / sizeof(aims[0]) && shared->carried; i++)
    {
        if (aims[i].storm != shared->storm) continue;
        if (shared->places[aims[i].target][aims[i].place]) continue;
        if (by_syscall && aims[i].target == TARGET_SCHEDULER && aims[i].place != PLACE_PARK)
        {
            if (say) printf( "not asked, since GS is written by a system call: a scheduler at \"%s\"\n", place_names[aims[i].place] );
            continue;
        }
        hit = 0;
        if (say) printf( "FAIL no %s was found at \"%s\"\n", target_names[aims[i].target],
                         place_names[aims[i].place] );
    }
    return hit;
}
