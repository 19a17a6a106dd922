/*
 * A small image file to try things on: a program, or a DLL with exports as Wine's kernel32 has them.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef TESTS_INSTALL_MAKE_PE_H
#define TESTS_INSTALL_MAKE_PE_H

#include "pe_image.h"

#define MAKE_OVERLAY   0x01     /* 100 bytes behind the last section */
#define MAKE_SIGNATURE 0x02     /* certificates at the end of the file */
#define MAKE_NO_ROOM   0x04     /* no room for a section header, but a DOS stub */
#define MAKE_NO_STUB   0x08     /* nor that */
#define MAKE_BOUND     0x10     /* bound imports behind the section headers */
#define MAKE_SYMBOLS   0x20     /* COFF symbols behind the last section */
#define MAKE_CHECKSUM  0x40
#define MAKE_UNALIGNED 0x80     /* the last section's end is not that of a file block */
#define MAKE_DLL       0x100    /* Wine's mark, exports */

#define MAKE_TEXT_RVA  0x1000
#define MAKE_DATA_RVA  0x2000
#define MAKE_NAME      "KERNEL32.dll"

/* A file of malloc; always the same for the same FLAGS. */
struct pe_bytes make_pe( unsigned int flags );

/* The headers of such a file. */
IMAGE_NT_HEADERS64 *make_nt( const struct pe_bytes *file );
IMAGE_SECTION_HEADER *make_sections( const struct pe_bytes *file );

/* Good enough to see a change. */
void make_digest( const BYTE *data, size_t size, BYTE digest[PE_DIGEST_SIZE] );

#endif /* TESTS_INSTALL_MAKE_PE_H */
