/*
 * Conformance suite for User-Mode Scheduling: command line, and the parent that holds the verdict.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * UMS code hangs and crashes by nature. So each test is this exe once more, counting into a named
 * section; what counts is what the parent finds there afterwards, and the clock. The parent itself
 * never loads the shim.
 */
#include <stdlib.h>
#include <stdarg.h>
#include "private.h"

#define X( group, name, seconds ) void test_##name( void );
#include "tests.list.h"
#undef X

static const struct test tests[] =
{
#define X( group, name, seconds ) { #group, #name, test_##name, seconds },
#include "tests.list.h"
#undef X
};

#define SLOW 8000                   /* ms */
#define CARRIES_SOME 10             /* a worker that has a reason to stay at home is sent there, too */

enum verdict
{
    PASSED,
    SKIPPED,
    FAILED_CHECKS,
    FAILED_TODO,
    FAILED_CRASH,
    FAILED_EARLY,
    FAILED_TIMEOUT,
    FAILED_EMPTY,
    FAILED_MISUSE,
    FAILED_SKIP,
    FAILED_EXIT,
    FAILED_START
};

static const char *const verdict_text[] = { "PASS",
                                            "SKIP",
                                            "FAIL (checks)",
                                            "FAIL (a todo passes)",
                                            "FAIL (crash)",
                                            "FAIL (ended early)",
                                            "FAIL (time over)",
                                            "FAIL (nothing checked)",
                                            "FAIL (check on a UMS thread)",
                                            "FAIL (a skip that nobody expects)",
                                            "FAIL (bad exit)",
                                            "FAIL (cannot start)" };

/* ---- deliberately bad tests: does the harness notice? Hidden from --all and --list ---- */

static void bad_crash( void )
{
    ok( 1, "fine so far\n" );
    *(volatile int *)(ULONG_PTR)umstest_env( "UMSTEST_NOT_SET", 0 ) = 1;
}

static void bad_exit( void )
{
    ok( 1, "fine so far\n" );
    ExitProcess( 0 );
}

static void bad_hang( void )
{
    ok( 1, "fine so far\n" );
    Sleep( INFINITE );
}

static void bad_empty( void )
{
}

static void bad_todo( void )
{
    todo_shim( 1 ) ok( 1, "a gap that is none\n" );
}

static void bad_check( void )
{
    ok( 0, "a failed check, wanted\n" );
}

static void WINAPI misusing_upcall( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload,
                                    PVOID param )
{
    (void)reason; (void)payload; (void)param;
    ok( 1, "on a scheduler thread\n" );
}

static void bad_misuse( void )
{
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, NULL, misusing_upcall, NULL };

    ok( 1, "fine so far\n" );
    if (!need( EnterUmsSchedulingMode ) || !need( CreateUmsCompletionList )) return;
    pCreateUmsCompletionList( &info.CompletionList );
    pEnterUmsSchedulingMode( &info );
}

static void bad_refusal( void )
{
    ok( 1, "fine so far\n" );
    umstest_refused( ERROR_INVALID_PARAMETER );
}

static void bad_wait( void )
{
    ok( 1, "fine so far\n" );
    wait_signaled( NULL );
}

static void good_refusal( void )
{
    ok( 1, "it was stopped\n" );
    SuspendThread( NULL );
    umstest_refused( ERROR_INVALID_PARAMETER );
}

static void early_refusal( void )
{
    ok( 1, "it is stopped later\n" );
    umstest_refused( ERROR_INVALID_PARAMETER );
    SuspendThread( NULL );
}

static void good_skip( void )
{
    skip( "wanted\n" );
}

static void bad_skip( void )
{
    ok( 1, "fine so far\n" );
    skip( "the rest, wanted\n" );
}

static const struct
{
    struct test  test;
    enum verdict expected;
} self_tests[] =
{
    { { "selftest", "bad_crash",  bad_crash,  20 }, FAILED_CRASH },
    { { "selftest", "bad_exit",   bad_exit,   20 }, FAILED_EARLY },
    { { "selftest", "bad_hang",   bad_hang,    2 }, FAILED_TIMEOUT },
    { { "selftest", "bad_empty",  bad_empty,  20 }, FAILED_EMPTY },
    { { "selftest", "bad_todo",   bad_todo,   20 }, FAILED_TODO },
    { { "selftest", "bad_check",  bad_check,  20 }, FAILED_CHECKS },
    { { "selftest", "bad_misuse", bad_misuse, 20 }, FAILED_MISUSE },
    { { "selftest", "bad_refusal", bad_refusal, 20 }, FAILED_CHECKS },
    { { "selftest", "early_refusal", early_refusal, 20 }, FAILED_CHECKS },
    { { "selftest", "good_refusal", good_refusal, 20 }, PASSED },
    { { "selftest", "bad_wait",   bad_wait,   20 }, FAILED_CHECKS },
    { { "selftest", "good_skip",  good_skip,  20 }, SKIPPED },
    { { "selftest", "bad_skip",   bad_skip,   20 }, FAILED_SKIP },
};

static const char *const impl_names[] = { "auto", "system", "shim", "bound" };

static enum impl impl_wanted = BUILD_IMPL;
static struct
{
    LONG tests, verdicts[FAILED_START + 1];
    LONG passed, failed, confirmed, refuted, todo, todo_fixed, skipped, carries;
    LONG64 carried, sent_home;
} total;
static BOOL host_printed;

static void say( const char *fmt, ... ) UMSTEST_PRINTF( 1, 2 );
static void say( const char *fmt, ... )
{
    char text[1024];
    va_list args;
    DWORD written;
    int length;

    va_start( args, fmt );
    length = vsnprintf( text, sizeof(text), fmt, args );
    va_end( args );
    if (length > (int)sizeof(text) - 1) length = sizeof(text) - 1;
    WriteFile( GetStdHandle( STD_OUTPUT_HANDLE ), text, length, &written, NULL );
}

static const struct test *find_test( const char *name )
{
    size_t i;

    for (i = 0; i < ARRAYSIZE(tests); i++) if (!strcmp( tests[i].name, name )) return &tests[i];
    for (i = 0; i < ARRAYSIZE(self_tests); i++)
        if (!strcmp( self_tests[i].test.name, name )) return &self_tests[i].test;
    return NULL;
}

/* ---- child ---- */

/* As much of the stack as is there. */
static void note_stack( ULONG64 rsp )
{
    MEMORY_BASIC_INFORMATION info;
    int i;

    if (!VirtualQuery( (void *)rsp, &info, sizeof(info) ) || info.State != MEM_COMMIT || rsp & 7) return;
    if (info.Protect & (PAGE_GUARD | PAGE_NOACCESS)) return;
    for (i = 0; i < CRASH_WORDS && rsp + i * 8 < (ULONG64)info.BaseAddress + info.RegionSize; i++)
        shared->crash_stack[i] = ((ULONG64 *)rsp)[i];
}

static LONG WINAPI crash_filter( EXCEPTION_POINTERS *pointers )
{
    const EXCEPTION_RECORD *record = pointers->ExceptionRecord;
    MEMORY_BASIC_INFORMATION info;

    shared->crash = record->ExceptionCode;      /* first: the rest may fail in its turn */
    shared->crash_thread = GetCurrentThreadId();
    shared->crash_at = (ULONG64)record->ExceptionAddress;
    if (VirtualQuery( record->ExceptionAddress, &info, sizeof(info) )) shared->crash_base = (ULONG64)info.AllocationBase;
    note_stack( pointers->ContextRecord->Rsp );
    TerminateProcess( GetCurrentProcess(), record->ExceptionCode );
    return EXCEPTION_EXECUTE_HANDLER;
}

static int child_main( const char *section, const char *name, BOOL print_host )
{
    const struct test *test = find_test( name );
    HANDLE mapping;

    umstest_wait_bound *= umstest_env( "UMSTEST_TIME_FACTOR", 1 );
    SetErrorMode( SEM_NOGPFAULTERRORBOX | SEM_FAILCRITICALERRORS );
    SetUnhandledExceptionFilter( crash_filter );
    if (!(mapping = OpenFileMappingA( FILE_MAP_WRITE, FALSE, section ))) return 2;
    if (!(shared = MapViewOfFile( mapping, FILE_MAP_WRITE, 0, 0, sizeof(*shared) )) || !test)
        return 2;
    shared->pid = GetCurrentProcessId();

    if (!pointers_init( impl_wanted )) shared->no_impl = 1;
    if (print_host) pointers_print_host();
    shared->shim = umstest_is_shim();
    if (!shared->no_impl || !strcmp( test->group, "selftest" )) test->func();
    judge_counts();
    pointers_count_switches( shared );
    shared->done = 1;
    ExitProcess( 0 );
}

/* ---- parent ---- */

/* Whoever has set UMSTEST_MAY_SKIP, a list of tests, knows what this host lacks: that of any other test is missing, and
   what it had checked before must not hide it. */
static BOOL may_skip( const struct test *test )
{
    char list[1024], *name, *next;
    DWORD length = GetEnvironmentVariableA( "UMSTEST_MAY_SKIP", list, sizeof(list) );

    if (!length || length >= sizeof(list)) return TRUE;
    for (name = list; name; name = next)
    {
        if ((next = strchr( name, ',' ))) *next++ = 0;
        if (!strcmp( name, test->name )) return TRUE;
    }
    return FALSE;
}

static enum verdict judge( const struct test *test, const struct shared *s, DWORD exit_code )
{
    LONG checks = s->passed + s->failed + s->confirmed + s->refuted + s->todo + s->todo_fixed;

    if (s->crash) return FAILED_CRASH;
    if (!s->done) return FAILED_EARLY;
    if (s->misused) return FAILED_MISUSE;
    if (s->failed || (s->refuted && s->shim)) return FAILED_CHECKS;
    if (s->todo_fixed) return FAILED_TODO;
    if (exit_code) return FAILED_EXIT;
    if (s->skipped && !may_skip( test )) return FAILED_SKIP;
    if (!checks) return s->skipped ? SKIPPED : FAILED_EMPTY;
    return PASSED;
}

static void kill_child( HANDLE process, DWORD pid )
{
    HANDLE child;

    /* with a launcher in between the test is not our child */
    if (pid && (child = OpenProcess( PROCESS_TERMINATE | SYNCHRONIZE, FALSE, pid )))
    {
        TerminateProcess( child, 258 );
        WaitForSingleObject( child, 2000 );
        CloseHandle( child );
    }
    TerminateProcess( process, 258 );
    WaitForSingleObject( process, 2000 );
}

/* Nothing to test is a skip where somebody looks around, and an error where the shim was asked
 * for: under the launcher, which gives it to the children too. */
static BOOL impl_required( void )
{
    return impl_wanted == IMPL_SHIM || umstest_env( "UMSTEST_REQUIRE", 0 ) ||
           (BUILD_IMPL == IMPL_BOUND && GetModuleHandleA( "kernel32_ums.dll" ));
}

/* It passed all the same: somewhere it has waited for something in vain, or the machine stood still. */
static void tell_slow( const struct test *test, ULONGLONG begin )
{
    ULONGLONG took = GetTickCount64() - begin;

    if (took >= SLOW) say( "# slow: %s took %lu ms\n", test->name, (DWORD)took );
}

static void tell_crash( const struct shared *s )
{
    int i;

    say( "# thread %lx, at %llx (%llx + %llx), stack", s->crash_thread, s->crash_at, s->crash_base,
         s->crash_at - s->crash_base );
    for (i = 0; i < CRASH_WORDS; i++) say( " %llx", s->crash_stack[i] );
    say( "\n" );
}

/* Wine gives these exit codes to a process whose Linux process was killed [seen: 0 under 8.0, 1 under 10.0]: by somebody
   outside, or by a fault in a signal handler. A core dump tells. */
#define LINUX_DEATH " (under Wine: did Linux kill it?)"

static enum verdict run_test( const struct test *test )
{
    char exe[MAX_PATH], command[2 * MAX_PATH], section[64], error_text[96] = "";
    static int serial;
    PROCESS_INFORMATION pi;
    STARTUPINFOA si;
    struct shared *s;
    HANDLE mapping;
    enum verdict verdict;
    DWORD exit_code = 0, wait, limit;
    ULONGLONG begin = GetTickCount64();

    snprintf( section, sizeof(section), "umstest-%lu-%d", GetCurrentProcessId(), ++serial );
    mapping =
        CreateFileMappingA( INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE, 0, sizeof(*s), section );
    if (!mapping || !(s = MapViewOfFile( mapping, FILE_MAP_WRITE, 0, 0, sizeof(*s) )))
    {
        say( "# no section, error %lu\n", GetLastError() );
        return FAILED_START;
    }
    memset( (void *)s, 0, sizeof(*s) );
    GetModuleFileNameA( NULL, exe, sizeof(exe) );
    snprintf( command, sizeof(command), "\"%s\" --child=%s --impl=%s%s %s", exe, section,
              impl_names[impl_wanted], host_printed ? "" : " --host", test->name );
    host_printed = TRUE;
    /* only the shim reads this: what it does for other processes is off by default */
    SetEnvironmentVariableA( "UMS_FOREIGN", strcmp( test->group, "scenario_foreign" ) ? NULL : "1" );

    memset( &si, 0, sizeof(si) );
    si.cb = sizeof(si);
    si.dwFlags = STARTF_USESTDHANDLES;
    si.hStdInput = GetStdHandle( STD_INPUT_HANDLE );
    si.hStdOutput = GetStdHandle( STD_OUTPUT_HANDLE );
    si.hStdError = GetStdHandle( STD_ERROR_HANDLE );
    if (!umstest_create_process( NULL, command, TRUE, 0, &si, &pi ))
    {
        say( "# CreateProcess error %lu: %s\n", GetLastError(), command );
        verdict = FAILED_START;
    }
    else
    {
        limit = test->seconds * umstest_env( "UMSTEST_TIME_FACTOR", 1 );
        wait = WaitForSingleObject( pi.hProcess, limit * 1000 );
        if (wait != WAIT_OBJECT_0)
        {
            kill_child( pi.hProcess, s->pid );
            snprintf( error_text, sizeof(error_text), ", limit %lu s", limit );
            verdict = FAILED_TIMEOUT;
        }
        else
        {
            GetExitCodeProcess( pi.hProcess, &exit_code );
            verdict = judge( test, s, exit_code );
            if (verdict == FAILED_EMPTY && s->no_impl)
                verdict = impl_required() ? FAILED_START : SKIPPED;
            if (verdict == FAILED_CRASH)
                snprintf( error_text, sizeof(error_text), ", exception %08lx", s->crash );
            else if (verdict == FAILED_EARLY)
                snprintf( error_text, sizeof(error_text), ", exit code %08lx%s%s", exit_code, s->pid ? "" : ", not begun",
                          exit_code <= 1 ? LINUX_DEATH : "" );
            else if (exit_code)
                snprintf( error_text, sizeof(error_text), ", exit code %08lx", exit_code );
        }
        CloseHandle( pi.hThread );
        CloseHandle( pi.hProcess );
    }
    say( "%s %s: %ld checks, %ld failed, %ld unverified, %ld refuted, %ld todo, %ld skipped%s%s\n",
         verdict_text[verdict], test->name, s->passed + s->failed, s->failed,
         s->confirmed + s->refuted, s->refuted, s->todo, s->skipped, error_text,
         s->no_impl ? ", no implementation" : "" );
    if (verdict == FAILED_CRASH) tell_crash( s );
    if (verdict == PASSED) tell_slow( test, begin );

    total.tests++;
    total.verdicts[verdict]++;
    total.passed += s->passed;
    total.failed += s->failed;
    total.confirmed += s->confirmed;
    total.refuted += s->refuted;
    total.todo += s->todo;
    total.todo_fixed += s->todo_fixed;
    total.skipped += s->skipped;
    total.carries |= s->carries;
    total.carried += s->carried;
    total.sent_home += s->sent_home;
    UnmapViewOfFile( (void *)s );
    CloseHandle( mapping );
    return verdict;
}

/* The bad tests must end badly, each for its own reason. */
static int run_self_tests( void )
{
    int i, wrong = 0;
    enum verdict verdict;

    SetEnvironmentVariableA( "UMSTEST_MAY_SKIP", "good_skip" );
    for (i = 0; i < (int)ARRAYSIZE(self_tests); i++)
    {
        verdict = run_test( &self_tests[i].test );
        if (verdict == self_tests[i].expected) continue;
        say( "%s: expected %s\n", self_tests[i].test.name, verdict_text[self_tests[i].expected] );
        wrong++;
    }
    say( "# self tests: %d of %d as wanted\n", i - wrong, i );
    return wrong != 0;
}

/* A name is a group, a test, or one of the hidden tests. */
static int run_name( const char *name, int repeat )
{
    const struct test *hidden;
    int found = 0, round;
    size_t i;

    for (i = 0; i < ARRAYSIZE(tests); i++)
    {
        if (strcmp( name, "--all" ) && strcmp( tests[i].group, name ) &&
            strcmp( tests[i].name, name ))
            continue;
        for (round = 0; round < repeat; round++) run_test( &tests[i] );
        found = 1;
    }
    if (!found && (hidden = find_test( name )))
    {
        for (round = 0; round < repeat; round++) run_test( hidden );
        found = 1;
    }
    if (!found) say( "no test or group \"%s\"\n", name );
    return found;
}

static int report( void )
{
    LONG failed = total.tests - total.verdicts[PASSED] - total.verdicts[SKIPPED];

    say( "# tests %ld: %ld passed, %ld failed, %ld skipped; checks %ld (%ld failed), "
         "unverified %ld (%ld refuted), todo %ld (%ld pass), skips %ld\n",
         total.tests, total.verdicts[PASSED], failed, total.verdicts[SKIPPED],
         total.passed + total.failed, total.failed, total.confirmed + total.refuted, total.refuted,
         total.todo + total.todo_fixed, total.todo_fixed, total.skipped );
    if (total.carried || total.sent_home)
        say( "# switches: %lld carried, %lld sent home\n", total.carried, total.sent_home );
    if (total.carries && total.sent_home >= CARRIES_SOME && !total.carried)
    {
        say( "# FAIL: the engine is carry, and has carried nobody\n" );
        return 1;
    }
    if (failed || !total.tests) return 1;
    return total.verdicts[PASSED] ? 0 : 77;
}

static int usage( void )
{
    say( "usage: umstest [--impl=system|shim|auto] [--repeat=N] TEST... | GROUP... | --all\n"
         "       umstest --list | --selftest\n"
         "environment: UMSTEST_TIME_FACTOR=n (longer time limits),\n"
         "             UMSTEST_MAY_SKIP=test,... (no other may skip anything),\n"
         "             UMSTEST_ROUNDS, UMSTEST_LIVES (leak tests)\n" );
    return 1;
}

/* The slots of functions that are imported late are in .idata. Linkers since binutils 2.41 make that section read-only, and
   __delayLoadHelper2 of mingw-w64 writes there all the same. */
static void make_late_imports_writable(void)
{
    char *base = (char *)GetModuleHandleA( NULL );
    const IMAGE_NT_HEADERS *nt = (void *)(base + ((IMAGE_DOS_HEADER *)base)->e_lfanew);
    const IMAGE_SECTION_HEADER *section = IMAGE_FIRST_SECTION( nt );
    DWORD old;
    int i;

    for (i = 0; i < nt->FileHeader.NumberOfSections; i++)
        if (!memcmp( section[i].Name, ".idata", 7 ))
            VirtualProtect( base + section[i].VirtualAddress, section[i].Misc.VirtualSize,
                            PAGE_READWRITE, &old );
}

int main( int argc, char **argv )
{
    const char *section = NULL;
    BOOL print_host = FALSE, known = TRUE;
    int i, repeat = 1, names = 0;
    size_t k;

    make_late_imports_writable();
    for (i = 1; i < argc; i++)
    {
        if (!strncmp( argv[i], "--impl=", 7 ))
        {
            for (k = 0; k < ARRAYSIZE(impl_names); k++)
                if (!strcmp( argv[i] + 7, impl_names[k] )) break;
            if (k == ARRAYSIZE(impl_names)) return usage();
            if (BUILD_IMPL != IMPL_BOUND) impl_wanted = (enum impl)k;
        }
        else if (!strncmp( argv[i], "--child=", 8 )) section = argv[i] + 8;
        else if (!strncmp( argv[i], "--repeat=", 9 )) repeat = atoi( argv[i] + 9 );
        else if (!strcmp( argv[i], "--host" )) print_host = TRUE;
        else if (!strcmp( argv[i], "--list" ))
        {
            for (k = 0; k < ARRAYSIZE(tests); k++) say( "%s %s\n", tests[k].group, tests[k].name );
            return 0;
        }
        else if (!strcmp( argv[i], "--selftest" ) || !strcmp( argv[i], "--all" )) names++;
        else if (argv[i][0] == '-') return usage();
        else names++;
    }
    if (section) return child_main( section, argv[argc - 1], print_host );
    if (!names) return usage();

    /* Upcalls are counted exactly, so a call that is quick must not be taken for a slow one because
       the machine is busy. Only the shim reads this; UMS_GRACE_US=2000 is its own default. */
    if (!GetEnvironmentVariableA( "UMS_GRACE_US", NULL, 0 ))
        SetEnvironmentVariableA( "UMS_GRACE_US", "20000" );
    say( "# umstest begins\n" );                /* from here on it does not fail without a word */
    for (i = 1; i < argc; i++)
    {
        if (!strcmp( argv[i], "--selftest" )) return run_self_tests();
        if (argv[i][0] != '-' || !strcmp( argv[i], "--all" )) known &= run_name( argv[i], repeat );
    }
    i = report();
    return known ? i : 1;
}
