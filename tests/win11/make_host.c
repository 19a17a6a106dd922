/*
 * make_host FILE ANSWERS...: writes a copy of this Wine's kernel32.dll that answers as Windows 11 does, or as a Windows
 * with something special. Beside a program, with the override kernel32=n,b, Wine takes it for the process. ANSWERS:
 *
 *   no-ums        the 13 functions of UMS fail with ERROR_NOT_SUPPORTED
 *   arm64         IsWow64Process2 says that the machine is an Arm64 one
 *   policy=N:F    GetProcessMitigationPolicy gives the flags F for policy N, 0 for all others
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <ums.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "private/exports.h"

/* mov dword gs:[0x68],50 (the last error); xor eax,eax; ret */
static const BYTE not_supported[] =
{
    0x65, 0xc7, 0x04, 0x25, 0x68, 0x00, 0x00, 0x00, 0x32, 0x00, 0x00, 0x00, 0x31, 0xc0, 0xc3
};
/* mov word [rdx],0; mov word [r8],0xaa64; push 1; pop rax; ret */
static const BYTE arm64[] =
{
    0x66, 0xc7, 0x02, 0x00, 0x00, 0x66, 0x41, 0xc7, 0x00, 0x64, 0xaa, 0x6a, 0x01, 0x58, 0xc3
};
/* xor eax,eax; cmp edx,N; jne 1f; mov al,F; 1: mov [r8],eax; push 1; pop rax; ret */
static BYTE policy[] =
{
    0x31, 0xc0, 0x83, 0xfa, 0, 0x75, 0x02, 0xb0, 0, 0x41, 0x89, 0x00, 0x6a, 0x01, 0x58, 0xc3
};

static BYTE *file;
static DWORD size;

static BYTE *at_rva( DWORD rva )
{
    const IMAGE_NT_HEADERS64 *nt = (void *)(file + ((IMAGE_DOS_HEADER *)file)->e_lfanew);
    const IMAGE_SECTION_HEADER *section = IMAGE_FIRST_SECTION( nt );
    int i;

    for (i = 0; i < nt->FileHeader.NumberOfSections; i++, section++)
        if (rva - section->VirtualAddress < section->SizeOfRawData)
            return file + section->PointerToRawData + rva - section->VirtualAddress;
    return NULL;
}

static void answer( const char *name, const BYTE *code, size_t length )
{
    const IMAGE_NT_HEADERS64 *nt = (void *)(file + ((IMAGE_DOS_HEADER *)file)->e_lfanew);
    const IMAGE_EXPORT_DIRECTORY *exports = (void *)at_rva( nt->OptionalHeader.DataDirectory[0].VirtualAddress );
    const DWORD *names = (void *)at_rva( exports->AddressOfNames );
    const DWORD *functions = (void *)at_rva( exports->AddressOfFunctions );
    const WORD *ordinals = (void *)at_rva( exports->AddressOfNameOrdinals );
    DWORD i;

    for (i = 0; i < exports->NumberOfNames; i++)
    {
        if (strcmp( (char *)at_rva( names[i] ), name )) continue;
        memcpy( at_rva( functions[ordinals[i]] ), code, length );
        return;
    }
    printf( "make_host: kernel32.dll has no %s\n", name );
    exit( 1 );
}

static void read_kernel32( void )
{
    char path[MAX_PATH];
    FILE *in;

    GetModuleFileNameA( GetModuleHandleA( "kernel32.dll" ), path, sizeof(path) );
    if (!(in = fopen( path, "rb" ))) exit( 1 );
    fseek( in, 0, SEEK_END );
    size = ftell( in );
    rewind( in );
    if (!(file = malloc( size )) || fread( file, 1, size, in ) != size) exit( 1 );
    fclose( in );
    memset( file + 0x40, 0, 16 );               /* no "Wine builtin DLL" any more */
}

int main( int argc, char **argv )
{
    unsigned int number, flags;
    FILE *out;
    int i;

    if (argc < 3) return 1;
    read_kernel32();
    for (i = 2; i < argc; i++)
    {
#define X( ret, name, args ) answer( #name, not_supported, sizeof(not_supported) );
        if (!strcmp( argv[i], "no-ums" )) { UMS_KERNEL32_EXPORTS_7600( X ) }
#undef X
        else if (!strcmp( argv[i], "arm64" )) answer( "IsWow64Process2", arm64, sizeof(arm64) );
        else if (sscanf( argv[i], "policy=%u:%u", &number, &flags ) == 2)
        {
            policy[4] = number;
            policy[8] = flags;
            answer( "GetProcessMitigationPolicy", policy, sizeof(policy) );
        }
        else return 1;
    }
    if (!(out = fopen( argv[1], "wb" )) || fwrite( file, 1, size, out ) != size) return 1;
    return fclose( out ) != 0;
}
