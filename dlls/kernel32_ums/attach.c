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
#include "export_table.h"
#include "patch.h"

#define MAX_NAMES    64
#define EXIT_REFUSED 2

/* one module of the host, and its names that are redirected */
struct host_module
{
    BYTE              *base;
    struct export_name names[MAX_NAMES];    /* and our functions */
    void              *system[MAX_NAMES];   /* the host's, NULL if it lacks the name */
    size_t             count;
};

/* static, because a stack may be too small for it; used once */
struct attachment
{
    struct host_module   kernel32;
    struct host_module   kernelbase;
    struct host_module   ntdll;
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

    for (i = 0; i < module->count; i++)
        module->system[i] = export_find( module->base, module->names[i].name );
}

/* do not add names to kernelbase that it does not have */
static void drop_missing( struct host_module *module )
{
    size_t i, kept = 0;

    for (i = 0; i < module->count; i++)
    {
        if (!module->system[i]) continue;
        module->names[kept] = module->names[i];
        module->system[kept++] = module->system[i];
    }
    module->count = kept;
}

/* Each export of kernel32_ums and ntdll_ums replaces the function of the same name in kernel32,
 * kernelbase and ntdll. */
static const char *find_modules( struct attachment *attachment )
{
    struct host_module *kernel32 = &attachment->kernel32, *kernelbase = &attachment->kernelbase;
    struct host_module *ntdll = &attachment->ntdll;

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

    if ((error = add_export_table( attachment, &attachment->kernel32, &tables[0] )))
        return error;
    if ((error = add_export_table( attachment, &attachment->kernelbase, &tables[1] )))
        return error;
    return add_export_table( attachment, &attachment->ntdll, &tables[2] );
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
static BOOL starts_with( const char *name, const char *lower )
{
    for (; *lower; name++, lower++)
        if ((*name >= 'A' && *name <= 'Z' ? *name + 32 : *name) != *lower) return FALSE;
    return TRUE;
}

/* The loader adds ".dll" where there is no extension. */
static BOOL is_dll( const char *name, const char *lower )
{
    if (!starts_with( name, lower )) return FALSE;
    name += strlen( lower );
    return !*name || (starts_with( name, ".dll" ) && !name[4]);
}

static const struct host_module *imported_module( const struct attachment *attachment,
                                                  const char *dll )
{
    if (is_dll( dll, "ntdll" )) return &attachment->ntdll;
    if (is_dll( dll, "kernel32" ) || is_dll( dll, "kernelbase" )
        || starts_with( dll, "api-ms-win-core-ums-" )
        || starts_with( dll, "api-ms-win-core-processthreads-" ))
        return &attachment->kernel32;
    return NULL;
}

/* The index of the name that an import slot belongs to; -1 if none. If the table has no names any
 * more, or an ordinal, the address in the slot decides. */
static int slot_name( const struct host_module *module, const BYTE *image, const ULONG64 *names,
                      void *address )
{
    const IMAGE_IMPORT_BY_NAME *import = NULL;
    size_t i;

    if (names && !IMAGE_SNAP_BY_ORDINAL64( *names ))
        import = (const IMAGE_IMPORT_BY_NAME *)(image + (DWORD)*names);
    for (i = 0; i < module->count; i++)
    {
        if (!import && address == module->system[i]) return (int)i;
        if (import && !strcmp( (const char *)import->Name, module->names[i].name )) return (int)i;
    }
    return -1;
}

static BOOL add_slots( struct attachment *attachment, BYTE *image,
                       const IMAGE_IMPORT_DESCRIPTOR *descriptor, const struct host_module *module,
                       BOOL to_system )
{
    const ULONG64 *names = NULL;
    void **slot = (void **)(image + descriptor->FirstThunk);
    void *target;
    int i;

    if (descriptor->OriginalFirstThunk)
        names = (const ULONG64 *)(image + descriptor->OriginalFirstThunk);
    for (; names ? *names : (ULONG64)*slot; slot++)
    {
        i = slot_name( module, image, names, *slot );
        if (names) names++;
        if (i < 0) continue;
        target = to_system ? module->system[i] : module->names[i].target;
        if (!target || target == *slot) continue;
        if (!patch_add( &attachment->patch, slot, (ULONG64)target )) return FALSE;
    }
    return TRUE;
}

/* the slots of one image, by the import table at RVA */
static BOOL add_image( struct attachment *attachment, BYTE *image, DWORD rva, BOOL to_system )
{
    const IMAGE_IMPORT_DESCRIPTOR *descriptor = (const IMAGE_IMPORT_DESCRIPTOR *)(image + rva);
    const struct host_module *module;

    if (!rva) return TRUE;
    for (; descriptor->Name && descriptor->FirstThunk; descriptor++)
    {
        if (!(module = imported_module( attachment, (const char *)image + descriptor->Name )))
            continue;
        if (!add_slots( attachment, image, descriptor, module, to_system )) return FALSE;
    }
    return TRUE;
}

/* kernel32 is not one of them: its CreateRemoteThreadEx and similar functions jump to kernelbase through
 * kernel32's own import slots. With those slots set, an address in kernel32 that was looked up before
 * the redirection leads to us, too. Our own calls to the host go to kernelbase's functions
 * (ums_original), so they do not come back. An address in kernelbase that was looked up before still
 * leads to the host. */
static BOOL is_left_alone( const struct attachment *attachment, const BYTE *image )
{
    return image == attachment->self || image == attachment->ntdll_ums || image == attachment->exe
           || image == attachment->kernelbase.base || image == attachment->ntdll.base;
}

static DWORD program_imports( const struct attachment *attachment )
{
    const IMAGE_DATA_DIRECTORY *entries = export_directory_entry( attachment->exe );

    return attachment->block ? attachment->block->imports.VirtualAddress
                             : entries[IMAGE_DIRECTORY_ENTRY_IMPORT].VirtualAddress;
}

/* every module that is loaded now; for the program itself, the table that it was linked with */
static const char *add_import_slots( struct attachment *attachment )
{
    LIST_ENTRY *list = &RtlGetCurrentPeb()->Ldr->InMemoryOrderModuleList, *entry;
    const IMAGE_DATA_DIRECTORY *imports;
    BYTE *image;

    if (!add_image( attachment, attachment->exe, program_imports( attachment ), FALSE ))
        return "there is no memory left";
    for (entry = list->Flink; entry != list; entry = entry->Flink)
    {
        image = CONTAINING_RECORD( entry, LDR_DATA_TABLE_ENTRY, InMemoryOrderLinks )->DllBase;
        if (is_left_alone( attachment, image )) continue;
        imports = export_directory_entry( image ) + IMAGE_DIRECTORY_ENTRY_IMPORT;
        if (!add_image( attachment, image, imports->VirtualAddress, FALSE ))
            return "there is no memory left";
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
    if (add_image( attachment, attachment->exe, program_imports( attachment ), TRUE )
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
    BOOL prefix = !error && is_prefix_kernel32( attachment->kernel32.base );

    if (prefix) check_prefix( attachment->kernel32.base );
    else if (!error && system_ums_works( (HMODULE)attachment->kernel32.base ) &&
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
static BOOL imports_ordinal_one( BYTE *image )
{
    const IMAGE_DATA_DIRECTORY *entries = export_directory_entry( image );
    DWORD rva = entries[IMAGE_DIRECTORY_ENTRY_IMPORT].VirtualAddress;
    const IMAGE_IMPORT_DESCRIPTOR *descriptor = (const IMAGE_IMPORT_DESCRIPTOR *)(image + rva);
    const ULONG64 *names;

    for (; rva && descriptor->Name && descriptor->FirstThunk; descriptor++)
    {
        if (!descriptor->OriginalFirstThunk
            || !is_file_name( (const char *)image + descriptor->Name, "kernel32_ums.dll" ))
            continue;
        for (names = (const ULONG64 *)(image + descriptor->OriginalFirstThunk); *names; names++)
            if (IMAGE_SNAP_BY_ORDINAL64( *names ) && IMAGE_ORDINAL64( *names ) == 1) return TRUE;
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

/* helper programs of the host, which are not children of the program itself */
static BOOL is_host_helper( HANDLE process )
{
    static const WCHAR *const helpers[] =
        { L"conhost.exe", L"explorer.exe", L"services.exe", L"wineboot.exe", L"winedbg.exe",
          L"winemenubuilder.exe" };
    struct
    {
        UNICODE_STRING string;
        WCHAR          text[MAX_PATH * 2];
    } image;
    WCHAR *name;
    ULONG size;
    size_t i;

    if (NtQueryInformationProcess( process, ProcessImageFileName, &image,
                                   sizeof(image) - sizeof(WCHAR), &size ))
        return FALSE;
    name = image.string.Buffer + image.string.Length / sizeof(WCHAR);
    *name = 0;
    while (name > image.string.Buffer && name[-1] != '\\') name--;
    for (i = 0; i < ARRAYSIZE(helpers); i++)
        if (!lstrcmpiW( name, helpers[i] )) return TRUE;
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
