/*
 * Comes before everything: mingw-w64's headers in their own dialect, then nothing of GNU's any more, so that what follows is
 * read as Microsoft's compiler reads it. (mingw-w64's headers do not compile in its dialect.)
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma push_macro( "_MSC_VER" )
#undef _MSC_VER
#define __GNUC__ 12
#define __GNUC_MINOR__ 0
#define __GNUC_PATCHLEVEL__ 0
#define __MINGW32__ 1
#define __MINGW64__ 1
#include <windows.h>
#include <winternl.h>
#undef __GNUC__
#undef __GNUC_MINOR__
#undef __GNUC_PATCHLEVEL__
#undef __MINGW32__
#undef __MINGW64__
#pragma pop_macro( "_MSC_VER" )
#pragma GCC poison __attribute__ __extension__ __asm__ __typeof__
