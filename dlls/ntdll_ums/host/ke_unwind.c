/*
 * Where a thread that stands still goes on when it has left our code: the frames between are unwound.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Our code calls functions of the host's DLLs, in which threads are suspended as well: it looks up a thread's id, or sleeps in
 * RtlWaitOnAddress. So theirs are unwound too, where they lead to our code. RtlLookupFunctionEntry takes a lock that the thread may
 * hold; these few DLLs stay where they are for as long as the process lives, and this searches their tables itself.
 */

#include <windows.h>
#include "core/ums_core.h"
#include "syscalls/hook/native.h"
#include "access.h"
#include "ke_win32.h"

#define MOST_FRAMES 64
#define MOST_STACK  0x100000                    /* bytes of one frame; more is no frame of theirs */

struct image
{
    ULONG_PTR               base;
    DWORD                   size, count;
    const RUNTIME_FUNCTION *table;              /* by address */
};

enum { OURS, NTDLL, IMAGES = 4 };

/* Written once, at start. */
static struct image images[IMAGES];
static ULONG_PTR entries[3];                    /* where the kernel calls user code: what is above is another call */

static void find_image( struct image *image, const void *module )
{
    const IMAGE_NT_HEADERS *nt;
    const IMAGE_DATA_DIRECTORY *dir;

    if (!module) return;
    nt  = (const void *)((const char *)module + ((const IMAGE_DOS_HEADER *)module)->e_lfanew);
    dir = &nt->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_EXCEPTION];
    image->base  = (ULONG_PTR)module;
    image->size  = nt->OptionalHeader.SizeOfImage;
    image->table = (const void *)((const char *)module + dir->VirtualAddress);
    image->count = dir->VirtualAddress ? dir->Size / sizeof(*image->table) : 0;
}

void ke_unwind_start( void )
{
    extern IMAGE_DOS_HEADER __ImageBase;
    HMODULE ntdll = GetModuleHandleA( "ntdll.dll" );

    find_image( &images[OURS], &__ImageBase );
    find_image( &images[NTDLL], ntdll );
    find_image( &images[2], GetModuleHandleA( "kernelbase.dll" ) );
    find_image( &images[3], GetModuleHandleA( "kernel32.dll" ) );
    entries[0] = (ULONG_PTR)GetProcAddress( ntdll, "KiUserApcDispatcher" );
    entries[1] = (ULONG_PTR)GetProcAddress( ntdll, "KiUserCallbackDispatcher" );
    entries[2] = (ULONG_PTR)GetProcAddress( ntdll, "KiUserExceptionDispatcher" );
}

static const struct image *image_of( ULONG_PTR rip )
{
    int i;

    for (i = 0; i < IMAGES; i++) if (rip - images[i].base < images[i].size) return &images[i];
    return NULL;
}

static const RUNTIME_FUNCTION *function_at( const struct image *image, ULONG_PTR rip )
{
    DWORD first = 0, last = image->count;

    while (first < last)
    {
        DWORD middle = (first + last) / 2;

        if (rip - image->base < image->table[middle].BeginAddress) last = middle;
        else if (rip - image->base >= image->table[middle].EndAddress) first = middle + 1;
        else return &image->table[middle];
    }
    return NULL;
}

static int is_entry( const struct image *image, const RUNTIME_FUNCTION *function )
{
    ULONG_PTR begin = image->base + function->BeginAddress;

    return begin == entries[0] || begin == entries[1] || begin == entries[2];
}

/* To the caller. A function without an entry is a leaf: a copy of a stub, a call in ntdll, libc's code. 0: this is no frame. */
static int unwind_one( CONTEXT *context, const struct image *image, const RUNTIME_FUNCTION *function )
{
    ULONG_PTR rsp = context->Rsp, frame;
    uint64_t caller;
    void *data;

    if (function)
    {
        if (is_entry( image, function ) || (function->UnwindData & 1)) return 0;
        RtlVirtualUnwind( UNW_FLAG_NHANDLER, image->base, context->Rip, (RUNTIME_FUNCTION *)function, context, &data, &frame, NULL );
    }
    else
    {
        if (!ums_try_load( (const void *)rsp, &caller )) return 0;
        context->Rip = caller;
        context->Rsp += sizeof(ULONG_PTR);
    }
    return context->Rsp - rsp - 1 < MOST_STACK;
}

/* A call that came through the hook begins in the hook's frame, whose caller is the program, or a DLL of the host that the program has
   called; or it is one of our own, and our code is above. Of a function that the program jumps into as its last, the caller may be our
   code, which has called the program; that is no frame of the hook. At the hook's first and last instructions the call is not
   begun, or over. */
void ke_unwind( const CONTEXT *registers, struct ke_unwound *out )
{
    CONTEXT context = *registers;
    int frames;

    out->returns = 0;
    out->frames  = 0;
    for (frames = 0; frames < MOST_FRAMES; frames++)
    {
        const int ours = ke_is_our_code( context.Rip, context.Rsp );
        const struct image *image = image_of( context.Rip );
        const RUNTIME_FUNCTION *function = image ? function_at( image, context.Rip ) : NULL;

        if ((!ours && !image) || !unwind_one( &context, image, function )) return;
        if (!ours) continue;
        out->frames++;
        if (frames && function && ums_hook_is_frame( (const char *)image->base + function->BeginAddress ))
        {
            out->returns = context.Rsp;
            out->context = context;
        }
        else if (!out->returns) out->context = context;
    }
}
