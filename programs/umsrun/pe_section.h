/*
 * Shared by the files that read and write images: pe_section.c (headers, our section), pe_image.c
 * (programs), pe_forward.c (Wine's kernel32).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMSRUN_PE_SECTION_H
#define UMSRUN_PE_SECTION_H

#include "private/install_record.h"
#include "pe_image.h"

#define PE_ALIGN_UP( x, n ) (((ULONG64)(x) + (n) - 1) & ~((ULONG64)(n) - 1))

/* A file whose headers are sound: every section lies within the file and the image. */
struct pe
{
    const BYTE                 *data;
    size_t                      size;
    const IMAGE_NT_HEADERS64   *nt;
    const IMAGE_SECTION_HEADER *sections;
    DWORD                       section_count;
    DWORD                       headers_end;    /* first byte behind the section headers */
    DWORD                       headers_limit;  /* first byte of a section, or of none */
    DWORD                       raw_end;        /* in the file, behind the last section */
};

/* Takes the headers apart. NULL, or what is wrong. */
const char *pe_parse( struct pe *pe, const struct pe_bytes *file );

/* The COUNT bytes of the image at RVA; zeros where the file holds none. FALSE: outside. */
BOOL pe_fetch( const struct pe *pe, DWORD rva, void *to, DWORD count );

/* Is the last section ours by its name? */
BOOL pe_has_our_section( const struct pe *pe );

/* The record in FILE's last section; NULL if there is none that is sound. */
const struct pe_record *pe_find_record( const struct pe *pe );

/* What is in a file that was just made. */
void pe_report_new( const struct pe_bytes *out, struct pe_report *report );

/* Where the tables of a new section will lie. */
DWORD pe_new_rva( const struct pe *pe );

/* Makes FILE anew with a section that holds TABLES, and the directory entry INDEX leading to ENTRY.
 * Bound imports are dropped. */
const char *pe_add_section( const struct pe *pe, enum pe_kind kind,
                            const struct pe_request *request, const struct pe_bytes *tables,
                            DWORD index, IMAGE_DATA_DIRECTORY entry, struct pe_bytes *out );

#endif /* UMSRUN_PE_SECTION_H */
