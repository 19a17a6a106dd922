/*
 * Redirects the host's names to the shim. It does so in a process that umsrun.exe or one of its
 * children has started, or whose kernel32 forwards a UMS name to this DLL. Windows has no
 * counterpart. No code is changed. The export tables of kernel32, kernelbase and ntdll are replaced
 * by copies that name our functions, so that GetProcAddress, API sets and every DLL that is loaded
 * later find those. The import slots of modules that are already loaded are set. All of it is one
 * transaction of 64-bit words (patch.h).
 *
 * inject.c gives the shim to child processes.
 *
 * This runs in DllMain, before any code of the program; in a prefix, at the first look-up of a UMS
 * name. It uses no heap, and no lock except for the loader's, which is held. Each word is written
 * with one store, so threads that run meanwhile find the old function or the new one.
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
#include "private/install_record.h"
#include "private/trace.h"
#include "private/ums_private.h"
#include "attach.h"
#include "kernel32_ums.h"
#include "import_slots.h"
#include "lower_case.h"
#include "mapped_image.h"

#define EXIT_REFUSED 2

/* static, because a stack may be too small for it; used once */
struct attachment
{
    struct host_modules  host;
    BYTE                *exe;
    BYTE                *self;
    BYTE                *ntdll_ums;
    struct inject_block *block;                 /* NULL: the prefix's kernel32 led here */
    struct patch         patch;
    void                *tables[3];
};

#define DOOR( type, name, args ) { #name, NULL },
static struct export_name doors[] = { UMS_KERNEL32_DOORS( DOOR ) };
#undef DOOR

static WCHAR shim_dir[MAX_PATH];            /* empty: children do not get the shim */

PEB *WINAPI RtlGetCurrentPeb( void );       /* [seen], not in mingw-w64's headers */

static BYTE *image_base( void )
{
    return (BYTE *)GetModuleHandleW( NULL );
}

static const IMAGE_NT_HEADERS64 *nt_headers( const BYTE *base )
{
    return (const IMAGE_NT_HEADERS64 *)(base + ((const IMAGE_DOS_HEADER *)base)->e_lfanew);
}

static BOOL is_set( enum setting id )
{
    return ums_ntdll->settings->values[id].number != 0;
}

void *ums_original( const char *name )
{
    HMODULE kernelbase;
    size_t i;

    for (i = 0; i < ARRAYSIZE(doors); i++)
    {
        if (strcmp( doors[i].name, name )) continue;
        if (!doors[i].target && (kernelbase = GetModuleHandleW( L"kernelbase.dll" )))
            doors[i].target = (void *)GetProcAddress( kernelbase, name );
        return doors[i].target;
    }
    return NULL;
}

/***********************************************************************
 * prefixes
 */

/* Does this kernel32 forward its UMS names to us? (umsrun --install-prefix) Then the first use of
 * one of them loads this DLL, at the start of the process or later. */
static BOOL is_prefix_kernel32( const BYTE *kernel32 )
{
    const char *forwarder = export_forwarder( kernel32, "ExecuteUmsThread" );
    static const char ours[] = "KERNEL32_UMS.";
    size_t i;

    for (i = 0; forwarder && i < sizeof(ours) - 1; i++)
        if (forwarder[i] != ours[i]) forwarder = NULL;
    return forwarder != NULL;
}

/* That kernel32 is a modified copy of the file of one version of Wine. It often works in another
 * version, but not always: log it if the versions differ. */
static void check_prefix( const BYTE *kernel32 )
{
    const IMAGE_NT_HEADERS64 *nt = nt_headers( kernel32 );
    const IMAGE_SECTION_HEADER *last = IMAGE_FIRST_SECTION( nt ) + nt->FileHeader.NumberOfSections;
    const struct pe_record *record = (const void *)(kernel32 + last[-1].VirtualAddress);
    const char *(__cdecl *version)( void ) =
        (void *)GetProcAddress( GetModuleHandleW( L"ntdll.dll" ), "wine_get_version" );

    if (!version || record->magic != PE_RECORD_MAGIC || !strcmp( record->host, version() )) return;
    ums_warn( "kernel32.dll of this prefix was made for Wine %s, and this is %s: "
             "run umsrun --install-prefix again", record->host, version() );
}

/***********************************************************************
 * what is redirected
 */

/* the host's functions for our names, before anything is redirected */
static void find_system( struct host_module *module )
{
    size_t i;

    module->size = nt_headers( module->base )->OptionalHeader.SizeOfImage;
    for (i = 0; i < module->count; i++)
    {
        module->system[i] = export_find( module->base, module->names[i].name );
        module->shim[i] = module->names[i].target;
    }
}

/* do not add names to kernelbase that it does not have */
static void drop_missing( struct host_module *module )
{
    size_t i, kept = 0;

    for (i = 0; i < module->count; i++)
    {
        if (!module->system[i]) continue;
        module->names[kept] = module->names[i];
        module->shim[kept] = module->shim[i];
        module->system[kept++] = module->system[i];
    }
    module->count = kept;
}

/* Each export of kernel32_ums and ntdll_ums replaces the function of the same name in kernel32,
 * kernelbase and ntdll. */
static const char *find_modules( struct attachment *attachment )
{
    struct host_module *kernel32 = &attachment->host.kernel32, *kernelbase = &attachment->host.kernelbase;
    struct host_module *ntdll = &attachment->host.ntdll;

    kernel32->base = (BYTE *)GetModuleHandleW( L"kernel32.dll" );
    kernelbase->base = (BYTE *)GetModuleHandleW( L"kernelbase.dll" );
    ntdll->base = (BYTE *)GetModuleHandleW( L"ntdll.dll" );
    attachment->ntdll_ums = (BYTE *)GetModuleHandleW( L"ntdll_ums.dll" );
    if (!kernel32->base || !kernelbase->base || !ntdll->base || !attachment->ntdll_ums)
        return "kernel32, kernelbase, ntdll or ntdll_ums is not loaded";

    kernel32->count = kernelbase->count = export_list( attachment->self, kernel32->names,
                                                       MAX_NAMES );
    memcpy( kernelbase->names, kernel32->names, sizeof(kernelbase->names) );
    ntdll->count = export_list( attachment->ntdll_ums, ntdll->names, MAX_NAMES );
    if (!kernel32->count || !ntdll->count) return "the shim's own export tables cannot be read";

    find_system( kernel32 );
    find_system( kernelbase );
    find_system( ntdll );
    drop_missing( kernelbase );
    return NULL;
}

/***********************************************************************
 * export tables
 */
static const char *add_export_table( struct attachment *attachment, struct host_module *module,
                                     void **table )
{
    IMAGE_DATA_DIRECTORY entry;
    size_t i, size, code_size;
    ULONG64 word;
    DWORD old;

    if (!module->count) return NULL;
    if (!(size = export_table_size( module->base, module->names, module->count )))
        return "an export table of the host is of an unknown kind";
    *table = inject_alloc_above( GetCurrentProcess(), module->base,
                                 nt_headers( module->base )->OptionalHeader.SizeOfImage, size );
    if (!*table) return "there is no free memory above a module of the host";

    entry = export_table_build( module->base, *table, module->names, module->count, &code_size );
    if (!entry.Size) return "an export table of the host is of an unknown kind";
    if (!VirtualProtect( *table, code_size, PAGE_EXECUTE_READ, &old )
        || !VirtualProtect( (BYTE *)*table + code_size, size - code_size, PAGE_READONLY, &old ))
        return "the new export tables cannot be protected";
    /* import slots get what GetProcAddress will say */
    for (i = 0; i < module->count; i++)
        module->names[i].target = export_table_find( module->base, entry, module->names[i].name );
    memcpy( &word, &entry, sizeof(word) );
    if (!patch_add( &attachment->patch, export_directory_entry( module->base ), word ))
        return "there is no memory left";
    return NULL;
}

static const char *add_export_tables( struct attachment *attachment )
{
    void **tables = attachment->tables;
    const char *error;

    if ((error = add_export_table( attachment, &attachment->host.kernel32, &tables[0] )))
        return error;
    if ((error = add_export_table( attachment, &attachment->host.kernelbase, &tables[1] )))
        return error;
    return add_export_table( attachment, &attachment->host.ntdll, &tables[2] );
}

static void free_tables( struct attachment *attachment )
{
    size_t i;

    for (i = 0; i < ARRAYSIZE(attachment->tables); i++)
        if (attachment->tables[i]) VirtualFree( attachment->tables[i], 0, MEM_RELEASE );
}

/***********************************************************************
 * import slots
 */
/* kernel32 is not one of them: its CreateRemoteThreadEx and similar functions jump to kernelbase through
 * kernel32's own import slots. With those slots set, an address in kernel32 that was looked up before
 * the redirection leads to us, too. Our own calls to the host go to kernelbase's functions
 * (ums_original), so they do not come back. An address in kernelbase that was looked up before still
 * leads to the host. */
static BOOL is_left_alone( const struct attachment *attachment, const BYTE *image )
{
    return image == attachment->self || image == attachment->ntdll_ums
           || image == attachment->host.kernelbase.base || image == attachment->host.ntdll.base;
}

/* 0: the headers say where */
static DWORD program_imports( const struct attachment *attachment )
{
    return attachment->block ? attachment->block->imports.VirtualAddress : 0;
}

/* FALSE: no memory. A program that protects itself may have overwritten its tables by then, or taken them away. */
static BOOL add_module( struct attachment *attachment, void *image, DWORD imports, const UNICODE_STRING *name )
{
    enum slots_result result = import_slots_add( &attachment->patch, &attachment->host, image, imports, SLOTS_TO_SHIM );

    if (result == SLOTS_UNREADABLE)
        ums_warn( "the import table of %.*ls cannot be read: what it has imported by then leads to the host",
                  (int)(name->Length / sizeof(WCHAR)), name->Buffer );
    return result != SLOTS_NO_MEMORY;
}

/* every module that is loaded now; for the program itself, the table that it was linked with */
static const char *add_import_slots( struct attachment *attachment )
{
    LIST_ENTRY *list = &RtlGetCurrentPeb()->Ldr->InMemoryOrderModuleList, *entry;
    const LDR_DATA_TABLE_ENTRY *module;
    DWORD imports;

    for (entry = list->Flink; entry != list; entry = entry->Flink)
    {
        module = CONTAINING_RECORD( entry, LDR_DATA_TABLE_ENTRY, InMemoryOrderLinks );
        if (is_left_alone( attachment, module->DllBase )) continue;
        imports = module->DllBase == attachment->exe ? program_imports( attachment ) : 0;
        if (attachment->block && module->DllBase == attachment->exe && !imports) continue;
        if (!add_module( attachment, module->DllBase, imports, &module->FullDllName )) return "there is no memory left";
    }
    return NULL;
}

/* the program's headers as they were linked */
static BOOL add_headers( struct attachment *attachment )
{
    IMAGE_DATA_DIRECTORY *entries = export_directory_entry( attachment->exe );
    ULONG64 imports, bound;

    if (!attachment->block) return TRUE;
    memcpy( &imports, &attachment->block->imports, sizeof(imports) );
    memcpy( &bound, &attachment->block->bound, sizeof(bound) );
    return patch_add( &attachment->patch, &entries[IMAGE_DIRECTORY_ENTRY_IMPORT], imports )
           && (!bound || patch_add( &attachment->patch,
                                    &entries[IMAGE_DIRECTORY_ENTRY_BOUND_IMPORT], bound ));
}

/***********************************************************************
 * the steps together
 */
static BOOL system_ums_works( HMODULE kernel32 )
{
    BOOL (WINAPI *create_list)( void ** );
    BOOL (WINAPI *delete_list)( void * );
    void *list;

    create_list = (void *)GetProcAddress( kernel32, "CreateUmsCompletionList" );
    delete_list = (void *)GetProcAddress( kernel32, "DeleteUmsCompletionList" );
    if (!create_list || !delete_list || !create_list( &list )) return FALSE;
    delete_list( list );
    return TRUE;
}

/* Point the program's imports from the shim back to the host, as if it ran without us. */
static void step_aside( struct attachment *attachment )
{
    patch_free( &attachment->patch );
    if (import_slots_add( &attachment->patch, &attachment->host, attachment->exe, program_imports( attachment ),
                          SLOTS_TO_HOST ) == SLOTS_ADDED
        && add_headers( attachment ))
        patch_apply( &attachment->patch );
}

static const char *redirect( struct attachment *attachment )
{
    const char *error;

    if ((error = add_export_tables( attachment ))) return error;
    if ((error = add_import_slots( attachment ))) return error;
    if (!add_headers( attachment )) return "there is no memory left";
    if (!patch_apply( &attachment->patch )) return "a table of the host cannot be written";
    return NULL;
}

static void remember_dir( HMODULE self )
{
    DWORD len = GetModuleFileNameW( self, shim_dir, ARRAYSIZE(shim_dir) );

    if (len >= ARRAYSIZE(shim_dir)) len = 0;
    while (len && shim_dir[len - 1] != '\\') len--;
    shim_dir[len] = 0;
}

static void refuse( struct attachment *attachment, const char *error )
{
    ums_log( "cannot serve this program: %s", error );
    if (attachment->block && (attachment->block->flags & INJECT_REQUIRED))
        TerminateProcess( GetCurrentProcess(), EXIT_REFUSED );
    free_tables( attachment );
    step_aside( attachment );
}

/* Mark the process as one with the shim, and give the shim to its children, unless the prefix does
 * that. The loader must not unload this DLL any more. */
static void settle( HMODULE self, BOOL with_children )
{
    HMODULE pinned;

    GetModuleHandleExA( GET_MODULE_HANDLE_EX_FLAG_PIN, "ntdll_ums.dll", &pinned );
    GetModuleHandleExA( GET_MODULE_HANDLE_EX_FLAG_PIN, "kernel32_ums.dll", &pinned );
    SetEnvironmentVariableA( "UMS_ACTIVE", ums_ntdll->describe() );
    if (!with_children || !is_set( SETTING_CHILDREN )) return;
    remember_dir( self );
    ums_ntdll->set_child_hook( ums_child_created );
}

static void attach( struct attachment *attachment )
{
    const char *error = find_modules( attachment );
    BOOL prefix = !error && is_prefix_kernel32( attachment->host.kernel32.base );

    if (prefix) check_prefix( attachment->host.kernel32.base );
    else if (!error && system_ums_works( (HMODULE)attachment->host.kernel32.base ) &&
             !is_set( SETTING_FORCE ))
    {
        ums_info( "not used: the host has a working UMS of its own (UMS_FORCE=1 uses this one)" );
        step_aside( attachment );
        return;
    }
    if (!error) error = ums_ntdll->activate();
    if (!error) error = redirect( attachment );
    if (error) refuse( attachment, error );
    /* in a prefix, children get the shim through kernel32, except programs that use only ntdll's names;
       so if this process got it from the launcher, its children get it in the same way */
    else settle( (HMODULE)attachment->self, attachment->block || !prefix );
}

void WINAPI ums_injected( void )
{
}

/* A DLL of the file name NAME, wherever it lies. */
static BOOL is_file_name( const char *path, const char *name )
{
    const char *at, *last = path;

    for (at = path; *at; at++) if (*at == '\\' || *at == '/') last = at + 1;
    return starts_with( last, name ) && !last[strlen( name )];
}

/* Does the import table have an injector's descriptor for kernel32_ums.dll, with ordinal 1? A
 * program that imports our functions by name uses the shim knowingly, and is not redirected. */
static BOOL imports_ordinal_one( void *base )
{
    const IMAGE_IMPORT_DESCRIPTOR *descriptor;
    struct mapped_image image;
    const ULONG64 *name;
    const char *dll;
    DWORD rva, names;

    if (!image_open( &image, base ) || !(rva = image.imports.VirtualAddress)) return FALSE;
    for (; (descriptor = image_at( &image, rva, sizeof(*descriptor) )); rva += sizeof(*descriptor))
    {
        if (!descriptor->Name || !descriptor->FirstThunk) break;
        if (!(names = descriptor->OriginalFirstThunk) || !(dll = image_string( &image, descriptor->Name ))
            || !is_file_name( dll, "kernel32_ums.dll" ))
            continue;
        for (; (name = image_at( &image, names, sizeof(*name) )) && *name; names += sizeof(*name))
            if (IMAGE_SNAP_BY_ORDINAL64( *name ) && IMAGE_ORDINAL64( *name ) == 1) return TRUE;
    }
    return FALSE;
}

BOOL ums_attach_requested( void )
{
    return inject_find_block( image_base() ) || imports_ordinal_one( image_base() )
           || is_prefix_kernel32( (const BYTE *)GetModuleHandleW( L"kernel32.dll" ) );
}

BOOL ums_attach( HMODULE self )
{
    struct attachment *attachment;
    size_t i;

    for (i = 0; i < ARRAYSIZE(doors); i++) ums_original( doors[i].name );
    attachment = VirtualAlloc( NULL, sizeof(*attachment), MEM_RESERVE | MEM_COMMIT,
                               PAGE_READWRITE );
    if (!attachment) return FALSE;
    attachment->self = (BYTE *)self;
    attachment->exe = image_base();
    attachment->block = inject_find_block( attachment->exe );
    attach( attachment );

    patch_free( &attachment->patch );
    VirtualFree( attachment, 0, MEM_RELEASE );
    return TRUE;
}

/***********************************************************************
 * children
 */

static BOOL ends_with( const UNICODE_STRING *path, const WCHAR *end )
{
    int length = path->Length / sizeof(WCHAR), end_length = lstrlenW( end );

    return length >= end_length &&
           CompareStringOrdinal( path->Buffer + length - end_length, end_length, end, end_length, TRUE ) == CSTR_EQUAL;
}

/* helper programs of the host, which are not children of the program itself; one of the same name elsewhere is */
static BOOL is_host_helper( HANDLE process )
{
    static const WCHAR *const helpers[] =
        { L"\\windows\\system32\\conhost.exe", L"\\windows\\system32\\explorer.exe", L"\\windows\\explorer.exe",
          L"\\windows\\system32\\services.exe", L"\\windows\\system32\\wineboot.exe", L"\\windows\\system32\\winedbg.exe",
          L"\\windows\\system32\\winemenubuilder.exe" };
    struct
    {
        UNICODE_STRING string;
        WCHAR          text[MAX_PATH * 2];
    } image;
    ULONG size;
    size_t i;

    if (NtQueryInformationProcess( process, ProcessImageFileName, &image, sizeof(image), &size )) return FALSE;
    for (i = 0; i < ARRAYSIZE(helpers); i++)
        if (ends_with( &image.string, helpers[i] )) return TRUE;
    return FALSE;
}

void ums_child_created( HANDLE process )
{
    DWORD error = GetLastError();

    if (shim_dir[0] && !is_host_helper( process ))
    {
        const char *why = inject_process( process, shim_dir, 0 );

        if (why) UMS_SAY( LOG_CHANNEL_child, LOG_INFO, "process %lu does not get the shim: %s",
                          GetProcessId( process ), why );
        else UMS_SAY( LOG_CHANNEL_child, LOG_TRACE, "process %lu gets the shim",
                      GetProcessId( process ) );
    }
    SetLastError( error );
}
