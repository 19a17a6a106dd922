/*
 * The parts of the image file format that the shim handles. On Windows they come from its headers;
 * elsewhere from here, so that the code that reads files of unknown origin also builds natively for
 * the sanitizers and the fuzzer.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_PRIVATE_PE_FORMAT_H
#define UMS_PRIVATE_PE_FORMAT_H

#ifdef _WIN32
#include <windows.h>
#else
#include <stddef.h>
#include <stdint.h>

typedef int      BOOL;
typedef uint8_t  BYTE;
typedef uint16_t WORD;
typedef uint32_t DWORD;
typedef uint64_t ULONG64;

#define TRUE  1
#define FALSE 0
#define ARRAYSIZE( a ) (sizeof(a) / sizeof((a)[0]))
#define C_ASSERT( e ) _Static_assert( e, #e )
#define min( a, b ) ((a) < (b) ? (a) : (b))
#define max( a, b ) ((a) > (b) ? (a) : (b))

#define IMAGE_DOS_SIGNATURE                   0x5a4d
#define IMAGE_NT_SIGNATURE                    0x4550
#define IMAGE_NT_OPTIONAL_HDR64_MAGIC         0x20b
#define IMAGE_FILE_MACHINE_I386               0x14c
#define IMAGE_FILE_MACHINE_AMD64              0x8664
#define IMAGE_FILE_MACHINE_ARM64              0xaa64
#define IMAGE_FILE_DLL                        0x2000
#define IMAGE_SUBSYSTEM_WINDOWS_GUI           2
#define IMAGE_SUBSYSTEM_WINDOWS_CUI           3
#define IMAGE_DLLCHARACTERISTICS_FORCE_INTEGRITY 0x80
#define IMAGE_DIRECTORY_ENTRY_EXPORT          0
#define IMAGE_DIRECTORY_ENTRY_IMPORT          1
#define IMAGE_DIRECTORY_ENTRY_SECURITY        4
#define IMAGE_DIRECTORY_ENTRY_BOUND_IMPORT    11
#define IMAGE_DIRECTORY_ENTRY_COM_DESCRIPTOR  14
#define IMAGE_NUMBEROF_DIRECTORY_ENTRIES      16
#define IMAGE_SCN_CNT_INITIALIZED_DATA        0x00000040
#define IMAGE_SCN_MEM_READ                    0x40000000
#define IMAGE_SCN_MEM_WRITE                   0x80000000u
#define IMAGE_ORDINAL_FLAG64                  0x8000000000000000
#define IMAGE_SNAP_BY_ORDINAL64( thunk ) (((thunk) >> 63) != 0)

typedef struct
{
    WORD  e_magic;
    WORD  e_unused[29];
    int32_t e_lfanew;
} IMAGE_DOS_HEADER;

typedef struct
{
    DWORD VirtualAddress;
    DWORD Size;
} IMAGE_DATA_DIRECTORY;

typedef struct
{
    WORD  Machine;
    WORD  NumberOfSections;
    DWORD TimeDateStamp;
    DWORD PointerToSymbolTable;
    DWORD NumberOfSymbols;
    WORD  SizeOfOptionalHeader;
    WORD  Characteristics;
} IMAGE_FILE_HEADER;

typedef struct
{
    WORD    Magic;
    BYTE    MajorLinkerVersion;
    BYTE    MinorLinkerVersion;
    DWORD   SizeOfCode;
    DWORD   SizeOfInitializedData;
    DWORD   SizeOfUninitializedData;
    DWORD   AddressOfEntryPoint;
    DWORD   BaseOfCode;
    DWORD   ImageBase[2];
    DWORD   SectionAlignment;
    DWORD   FileAlignment;
    WORD    Versions[6];
    DWORD   Win32VersionValue;
    DWORD   SizeOfImage;
    DWORD   SizeOfHeaders;
    DWORD   CheckSum;
    WORD    Subsystem;
    WORD    DllCharacteristics;
    DWORD   Reserves[8];
    DWORD   LoaderFlags;
    DWORD   NumberOfRvaAndSizes;
    IMAGE_DATA_DIRECTORY DataDirectory[IMAGE_NUMBEROF_DIRECTORY_ENTRIES];
} IMAGE_OPTIONAL_HEADER64;

typedef struct
{
    DWORD                   Signature;
    IMAGE_FILE_HEADER       FileHeader;
    IMAGE_OPTIONAL_HEADER64 OptionalHeader;
} IMAGE_NT_HEADERS64;

typedef struct
{
    BYTE  Name[8];
    union { DWORD VirtualSize; } Misc;
    DWORD VirtualAddress;
    DWORD SizeOfRawData;
    DWORD PointerToRawData;
    DWORD PointerToRelocations;
    DWORD PointerToLinenumbers;
    WORD  NumberOfRelocations;
    WORD  NumberOfLinenumbers;
    DWORD Characteristics;
} IMAGE_SECTION_HEADER;

typedef struct
{
    DWORD OriginalFirstThunk;
    DWORD TimeDateStamp;
    DWORD ForwarderChain;
    DWORD Name;
    DWORD FirstThunk;
} IMAGE_IMPORT_DESCRIPTOR;

typedef struct
{
    DWORD Characteristics;
    DWORD TimeDateStamp;
    WORD  MajorVersion;
    WORD  MinorVersion;
    DWORD Name;
    DWORD Base;
    DWORD NumberOfFunctions;
    DWORD NumberOfNames;
    DWORD AddressOfFunctions;
    DWORD AddressOfNames;
    DWORD AddressOfNameOrdinals;
} IMAGE_EXPORT_DIRECTORY;

C_ASSERT( sizeof(IMAGE_DOS_HEADER) == 64 );
C_ASSERT( sizeof(IMAGE_NT_HEADERS64) == 264 );
C_ASSERT( sizeof(IMAGE_SECTION_HEADER) == 40 );
#endif

#endif /* UMS_PRIVATE_PE_FORMAT_H */
