/*
 * A vectored handler sees each single step, and walks from there with RtlLookupFunctionEntry and
 * RtlVirtualUnwind until it finds one of the callers of anchor_x86_64.S: it has to find it, with the
 * stack pointer and all kept registers as they were at the call.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <string.h>
#include "steps.h"

#define MAX_FRAMES 64
#define MAX_RANGES 16
#define MAX_WRONG  64
#define TRAP_FLAG  0x100

int test_checks, test_failures;
struct anchor anchors[ANCHORS];
const char *volatile steps_root_bottom, *volatile steps_root_top;

struct range
{
    const char *begin, *end;
};

static struct range stacks[MAX_RANGES], watched[MAX_RANGES];
static int stack_count, watched_count;
static struct place *named;
static int named_count;

static volatile LONG stepping, steps, walks, wrong_count, hopeless_count;
static struct
{
    const char *code;
    const char *why;
} wrong[MAX_WRONG];

static int is_in( const struct range *ranges, int count, uint64_t address )
{
    int i;

    for (i = 0; i < count; i++)
        if (address >= (uint64_t)ranges[i].begin && address < (uint64_t)ranges[i].end) return 1;
    return 0;
}

static int is_stack( uint64_t address )
{
    NT_TIB *tib;

    __asm__ volatile( "movq %%gs:0x30, %0" : "=r" (tib) );
    if (address & 7) return 0;
    return (address >= (uint64_t)tib->StackLimit && address < (uint64_t)tib->StackBase) ||
           is_in( stacks, stack_count, address );
}

/* ---- the end of a function that jumps to another [doc] ----
 *
 * Wine (8.0 and 10.0) does not know that an epilogue may end so, Windows does. Only the first frame
 * can be in one. */

static int is_outside( const uint8_t *target, uint64_t base, const RUNTIME_FUNCTION *function )
{
    return (uint64_t)target < base + function->BeginAddress ||
           (uint64_t)target >= base + function->EndAddress;
}

static int leaves( const uint8_t *pc, uint64_t base, const RUNTIME_FUNCTION *function )
{
    if (pc[0] == 0xe9)
        return is_outside( pc + 5 + *(const int32_t *)(pc + 1), base, function );
    if (pc[0] == 0xeb) return is_outside( pc + 2 + (int8_t)pc[1], base, function );
    /* jmp *memory; jmp *reg only if it has an otherwise useless rex.W, as compilers emit it */
    if ((pc[0] & 0xf8) == 0x48 && pc[1] == 0xff && (pc[2] & 0xf8) == 0xe0) return 1;
    if (pc[0] == 0x48) pc++;
    return pc[0] == 0xff && (pc[1] & 0xf8) == 0x20;
}

static int epilogue_jumps( CONTEXT *context, uint64_t base, const RUNTIME_FUNCTION *function )
{
    const uint8_t *pc = (const uint8_t *)context->Rip;
    uint64_t rsp = context->Rsp, popped[16], which = 0;
    int i;

    if (pc[0] == 0x48 && pc[1] == 0x83 && pc[2] == 0xc4)
    {
        rsp += (int8_t)pc[3];
        pc += 4;
    }
    else if (pc[0] == 0x48 && pc[1] == 0x81 && pc[2] == 0xc4)
    {
        rsp += *(const int32_t *)(pc + 3);
        pc += 7;
    }
    for (;; pc++)
    {
        int reg = 0;

        if (*pc == 0x41 && (pc[1] & 0xf8) == 0x58) reg = 8, pc++;
        if ((*pc & 0xf8) != 0x58) break;
        reg += *pc & 7;
        if (!is_stack( rsp )) return 0;
        popped[reg] = *(const uint64_t *)rsp;
        which |= 1 << reg;
        rsp += 8;
    }
    if (!leaves( pc, base, function ) || !is_stack( rsp )) return 0;
    for (i = 0; i < 16; i++) if (which & (1 << i)) (&context->Rax)[i] = popped[i];
    context->Rip = *(const uint64_t *)rsp;
    context->Rsp = rsp + 8;
    return 1;
}

/* ---- the walk ---- */

static const char registers_wrong[] = "the registers are wrong";

static const char *compare( const CONTEXT *context )
{
    uint64_t number = context->Rbx, i;
    const M128A *xmm = &context->Xmm6;

    for (i = 0; i < ANCHORS; i++) if (context->Rsp == anchors[i].rsp) break;
    if (i == ANCHORS) return "rsp is wrong";
    if (number < (uint64_t)anchors || number >= (uint64_t)(anchors + ANCHORS) ||
        context->Rsp != ((struct anchor *)number)->rsp) return registers_wrong;
    if (context->Rbp != ++number || context->Rsi != ++number || context->Rdi != ++number ||
        context->R12 != ++number || context->R13 != ++number || context->R14 != ++number ||
        context->R15 != ++number) return registers_wrong;
    for (i = 0; i < 10; i++) if (xmm[i].Low != ++number) return registers_wrong;
    return NULL;
}

static int is_system( uint64_t rip )
{
    HMODULE module;

    return RtlPcToFileHeader( (void *)rip, (void **)&module ) &&
           module == GetModuleHandleA( "ntdll.dll" );
}

static const char *walk( CONTEXT context )
{
    uint64_t start = context.Rsp;
    int frame;

    for (frame = 0; frame < MAX_FRAMES; frame++)
    {
        RUNTIME_FUNCTION *function;
        uint64_t base, establisher;
        void *data;

        if (context.Rip == (uint64_t)anchor_return) return compare( &context );
        if (!context.Rip && start > (uint64_t)steps_root_bottom && start <= (uint64_t)steps_root_top)
            return NULL;
        if (!is_stack( context.Rsp )) return "the walk leaves the stack";
        function = RtlLookupFunctionEntry( context.Rip, &base, NULL );
        /* Wine's system-call thunks have none, and need none: they are leaves that call */
        if (!function && (!frame || is_system( context.Rip )))
        {
            context.Rip = *(const uint64_t *)context.Rsp;
            context.Rsp += 8;
        }
        else if (!function) return "the walk comes to code without unwind data";
        else if (frame || !epilogue_jumps( &context, base, function ))
            RtlVirtualUnwind( UNW_FLAG_NHANDLER, base, context.Rip, function, &context, &data,
                              &establisher, NULL );
    }
    return "the walk does not end";
}

/* ---- where it cannot hold ---- */

/* pop %rcx; jmp *%rcx: at the jump the return address is in rcx, which unwind data cannot say. */
static int is_return_by_jump( const uint8_t *pc )
{
    return pc[0] == 0xff && pc[1] == 0xe1 && pc[-1] == 0x59;
}

/* A preempted worker's registers are loaded one by one, behind a machine frame with its rip and rsp:
   who unwinds finds these, and the other registers as far as they are loaded. */
static int has_machine_frame( uint64_t rip )
{
    uint64_t base;
    const RUNTIME_FUNCTION *function = RtlLookupFunctionEntry( rip, &base, NULL );
    const uint8_t *info = function ? (const uint8_t *)base + function->UnwindData : NULL;

    return info && info[2] && (info[5] & 0xf) == 10;          /* UWOP_PUSH_MACHFRAME */
}

static int is_hopeless( const CONTEXT *context, const char *why )
{
    return is_return_by_jump( (const uint8_t *)context->Rip ) ||
           (why == registers_wrong && has_machine_frame( context->Rip ));
}

static void note_wrong( const char *code, const char *why )
{
    LONG i, count = wrong_count;

    for (i = 0; i < count && i < MAX_WRONG; i++) if (wrong[i].code == code) return;
    i = InterlockedIncrement( &wrong_count ) - 1;
    if (i >= MAX_WRONG) return;
    wrong[i].code = code;
    wrong[i].why = why;
}

static LONG CALLBACK on_step( EXCEPTION_POINTERS *pointers )
{
    CONTEXT *context = pointers->ContextRecord;
    const char *why;
    int i;

    if (pointers->ExceptionRecord->ExceptionCode != EXCEPTION_SINGLE_STEP)
        return EXCEPTION_CONTINUE_SEARCH;
    /* the flag is clear by now */
    if (!stepping || context->Rip == (uint64_t)trap_is_off) return EXCEPTION_CONTINUE_EXECUTION;
    context->EFlags |= TRAP_FLAG;
    InterlockedIncrement( &steps );
    for (i = 0; i < named_count; i++)
        if (context->Rip == (uint64_t)named[i].code) named[i].entered = 1;
    if (!is_in( watched, watched_count, context->Rip )) return EXCEPTION_CONTINUE_EXECUTION;
    InterlockedIncrement( &walks );
    if ((why = walk( *context )))
    {
        if (is_hopeless( context, why )) InterlockedIncrement( &hopeless_count );
        else note_wrong( (const char *)context->Rip, why );
    }
    return EXCEPTION_CONTINUE_EXECUTION;
}

/* ---- the face ---- */

void steps_add_stack( const void *bottom, const void *top )
{
    stacks[stack_count].begin = bottom;
    stacks[stack_count++].end = top;
}

void steps_watch( const void *begin, const void *end )
{
    watched[watched_count].begin = begin;
    watched[watched_count++].end = end;
}

HMODULE steps_watch_module( const char *name )
{
    HMODULE module = LoadLibraryA( name );
    const IMAGE_NT_HEADERS *nt;

    ok( module != NULL, "%s cannot be loaded, error %lu", name, GetLastError() );
    if (!module) return NULL;
    nt = (void *)((char *)module + ((IMAGE_DOS_HEADER *)module)->e_lfanew);
    steps_watch( module, (char *)module + nt->OptionalHeader.SizeOfImage );
    return module;
}

void steps_name( struct place *places, int count )
{
    named = places;
    named_count = count;
}

void steps_begin( void )
{
    steps = walks = wrong_count = hopeless_count = 0;
    stepping = 1;
}

static void where( const char *code, char *text, size_t size )
{
    const struct place *best = NULL;
    char path[MAX_PATH] = "";
    HMODULE module = NULL;
    int i;

    for (i = 0; i < named_count; i++)
        if ((const char *)named[i].code <= code && (!best || named[i].code > best->code))
            best = &named[i];
    GetModuleHandleExA( GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
                        GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT, code, &module );
    GetModuleFileNameA( module, path, sizeof(path) );
    if (best && module == GetModuleHandleA( NULL ))
        snprintf( text, size, "%s+%#llx", best->name,
                  (unsigned long long)(code - (const char *)best->code) );
    else snprintf( text, size, "%s+%#llx", strrchr( path, '\\' ) ? strrchr( path, '\\' ) + 1 : "?",
                   (unsigned long long)(code - (const char *)module) );
}

void steps_end( const char *what )
{
    char text[128];
    int i;

    stepping = 0;
    printf( "%s: %ld steps, %ld walks, %ld where it cannot hold\n", what, steps, walks,
            hopeless_count );
    ok( walks > 10, "%s: nothing was stepped through", what );
    for (i = 0; i < wrong_count && i < MAX_WRONG; i++)
    {
        where( wrong[i].code, text, sizeof(text) );
        ok( 0, "%s: %s: %s", what, text, wrong[i].why );
    }
    for (i = 0; i < named_count; i++)
        ok( named[i].entered, "%s: %s was not entered", what, named[i].name );
    named_count = 0;
}

int main( void )
{
    AddVectoredExceptionHandler( 1, on_step );
    play_assembly();
    step_dlls();
    printf( "%d checks, %d failed\n", test_checks, test_failures );
    return test_failures || !test_checks;
}
