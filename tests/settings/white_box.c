/*
 * White box: how settings are read. Natively, under the address sanitizer.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "private/log_spec.h"
#include "private/settings.h"

#define FILE_NAME "Z:\\game\\ums.conf"

static struct settings s;

/* In a block of just that size, so that a look behind its end is noticed. */
static void read_bytes( const char *text, size_t size )
{
    char *copy = malloc( size );

    memcpy( copy, text, size );
    settings_read_conf( &s, FILE_NAME, copy, size, "Game.exe" );
    free( copy );
}

static void read_conf( const char *text )
{
    read_bytes( text, strlen( text ) );
}

static void begin( const char *text )
{
    settings_init( &s, 1 );
    read_conf( text );
}

static void check( enum setting id, const char *text, uint32_t number, enum setting_origin origin,
                   uint32_t line )
{
    assert_string_equal( s.values[id].text, text );
    assert_int_equal( s.values[id].number, number );
    assert_int_equal( s.values[id].origin, origin );
    assert_int_equal( s.values[id].line, line );
}

/* There is one problem, and its text has all the words. */
static void check_problem( const char *const *words )
{
    assert_int_equal( s.problem_count, 1 );
    for (; *words; words++)
        if (!strstr( s.problems[0], *words ))
            fail_msg( "\"%s\" is not in \"%s\"", *words, s.problems[0] );
}
#define check_problem( ... ) check_problem( (const char *const []){ __VA_ARGS__, NULL } )

static int setup( void **state )
{
    (void)state;
    settings_init( &s, 1 );
    return 0;
}

/* ---- values ---- */

static void defaults_are_those_of_the_table( void **state )
{
    int i;

    (void)state;
    for (i = 0; i < SETTINGS; i++)
    {
        assert_string_equal( s.values[i].text, settings_rows[i].standard );
        assert_int_equal( s.values[i].origin, ORIGIN_DEFAULT );
    }
    assert_int_equal( s.problem_count, 0 );
    assert_string_equal( s.refusal, "" );
    check( SETTING_GRACE_US, "200", 200, ORIGIN_DEFAULT, 0 );
    check( SETTING_CHILDREN, "1", 1, ORIGIN_DEFAULT, 0 );
}

static void each_choice_has_its_number( void **state )
{
    (void)state;
    settings_read_variable( &s, SETTING_ENGINE, "auto" );
    check( SETTING_ENGINE, "auto", 0, ORIGIN_ENVIRONMENT, 0 );
    settings_read_variable( &s, SETTING_ENGINE, "carry" );
    check( SETTING_ENGINE, "carry", 1, ORIGIN_ENVIRONMENT, 0 );
    settings_read_variable( &s, SETTING_ENGINE, "handoff" );
    check( SETTING_ENGINE, "handoff", 2, ORIGIN_ENVIRONMENT, 0 );
    settings_read_variable( &s, SETTING_PAGE_FAULTS, "1" );
    check( SETTING_PAGE_FAULTS, "1", 1, ORIGIN_ENVIRONMENT, 0 );
    assert_int_equal( s.problem_count, 0 );
}

static void a_part_of_a_choice_is_none( void **state )
{
    static const char *const wrong[] =
        { "aut", "autox", "Auto", "|", "auto|carry", " auto", "carry|handoff", "andoff" };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
    {
        settings_init( &s, 1 );
        settings_read_variable( &s, SETTING_ENGINE, wrong[i] );
        if (!s.refusal[0]) fail_msg( "\"%s\" was taken", wrong[i] );
        check( SETTING_ENGINE, "auto", 0, ORIGIN_DEFAULT, 0 );
    }
}

static void numbers_have_bounds( void **state )
{
    static const char *const wrong[] =
        { "0", "60000001", "-1", "+1", "1 ", "0x10", "1.5", "4294967297", "18446744073709551617",
          "99999999999999999999999999999999", "2000us", "us" };
    size_t i;

    (void)state;
    settings_read_variable( &s, SETTING_GRACE_US, "1" );
    check( SETTING_GRACE_US, "1", 1, ORIGIN_ENVIRONMENT, 0 );
    settings_read_variable( &s, SETTING_GRACE_US, "60000000" );
    check( SETTING_GRACE_US, "60000000", 60000000, ORIGIN_ENVIRONMENT, 0 );
    settings_read_variable( &s, SETTING_GRACE_US, "00070" );
    check( SETTING_GRACE_US, "00070", 70, ORIGIN_ENVIRONMENT, 0 );
    for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
    {
        settings_init( &s, 1 );
        settings_read_variable( &s, SETTING_GRACE_US, wrong[i] );
        check_problem( "UMS_GRACE_US=", wrong[i], "(environment)", "1-60000000" );
        check( SETTING_GRACE_US, "200", 200, ORIGIN_DEFAULT, 0 );
    }
}

static void an_empty_value_is_none( void **state )
{
    (void)state;
    settings_read_variable( &s, SETTING_HOOK, "" );
    read_conf( "UMS_ENGINE=\nUMS_PARK =  \t\n" );
    assert_int_equal( s.problem_count, 0 );
    check( SETTING_HOOK, "auto", 0, ORIGIN_DEFAULT, 0 );
    check( SETTING_ENGINE, "auto", 0, ORIGIN_DEFAULT, 0 );
}

static void a_wrong_value_names_key_value_place_and_choices( void **state )
{
    (void)state;
    begin( "# a comment\n\nUMS_PARK=bench\n" );
    check_problem( "UMS_PARK=bench", FILE_NAME " line 3", "auto, address" );
    assert_string_equal( s.refusal, "" );
    settings_init( &s, 1 );
    settings_read_variable( &s, SETTING_LOG, "loud" );
    check_problem( "UMS_LOG=loud", "(environment)", "none, err, warn, info, trace", "worker" );
}

static void who_insists_is_refused( void **state )
{
    (void)state;
    settings_read_variable( &s, SETTING_HOOK, "line" );
    assert_int_equal( s.problem_count, 0 );
    assert_non_null( strstr( s.refusal, "UMS_HOOK=line (environment)" ) );
    assert_non_null( strstr( s.refusal, "auto, dispatcher, stubs" ) );
    settings_read_variable( &s, SETTING_ENGINE, "steam" );       /* the first stays */
    assert_non_null( strstr( s.refusal, "UMS_HOOK" ) );
    check_problem( "UMS_ENGINE=steam" );
}

static void what_is_quoted_is_short_and_plain( void **state )
{
    char value[3000], text[4000];

    (void)state;
    begin( "UMS_GS=\x1b[31mred\x07\n" );
    check_problem( "UMS_GS=?[31mred? (" );
    memset( value, 'x', sizeof(value) );
    value[59] = (char)0xc3, value[60] = (char)0xa4;             /* not in the middle of a letter */
    value[sizeof(value) - 1] = 0;
    snprintf( text, sizeof(text), "UMS_GS=%s", value );
    begin( text );
    check_problem( "xxx... (Z:" );
    assert_null( strchr( s.problems[0], '\xc3' ) );
    assert_true( strlen( s.problems[0] ) >= 100 && strlen( s.problems[0] ) <= 300 );
    begin( text + 7 );                                          /* no = in it */
    check_problem( "KEY=value", "xxx..." );
}

static void a_value_has_no_end_in_it( void **state )
{
    (void)state;
    read_bytes( "UMS_HOOK=stubs\0", 15 );
    assert_non_null( strstr( s.refusal, "UMS_HOOK=stubs?" ) );
    settings_init( &s, 1 );
    read_bytes( "UMS_LOG_FILE=a\0b\nUMS_GS=auto", 28 );
    check_problem( "UMS_LOG_FILE=a?b" );
    check( SETTING_GS, "auto", 0, ORIGIN_CONF, 2 );
}

/* ---- paths, and whom they are followed for ---- */

static void paths_are_not_followed_with_more_rights( void **state )
{
    (void)state;
    settings_init( &s, 0 );
    settings_read_variable( &s, SETTING_LOG_FILE, "Z:\\tmp\\log" );
    settings_read_variable( &s, SETTING_LOG, "trace" );
    check( SETTING_LOG_FILE, "", 0, ORIGIN_DEFAULT, 0 );
    check( SETTING_LOG, "trace", 0, ORIGIN_ENVIRONMENT, 0 );
    check_problem( "UMS_LOG_FILE", "more rights" );
    settings_init( &s, 1 );
    settings_read_variable( &s, SETTING_LOG_FILE, "Z:\\tmp\\log" );
    check( SETTING_LOG_FILE, "Z:\\tmp\\log", 0, ORIGIN_ENVIRONMENT, 0 );
}

static void a_path_that_is_too_long_is_wrong( void **state )
{
    char path[SETTING_TEXT + 1];

    (void)state;
    memset( path, 'p', SETTING_TEXT );
    path[SETTING_TEXT] = 0;
    settings_read_variable( &s, SETTING_LOG_FILE, path );
    check_problem( "UMS_LOG_FILE=ppp" );
    settings_init( &s, 1 );
    path[SETTING_TEXT - 1] = 0;
    settings_read_variable( &s, SETTING_LOG_FILE, path );
    check( SETTING_LOG_FILE, path, 0, ORIGIN_ENVIRONMENT, 0 );
}

static void only_e_and_p_are_put_in( void **state )
{
    char out[64], *small = malloc( 8 );

    (void)state;
    assert_int_equal( log_spec_expand( "Z:\\%e-%p.log", "game", 4294967295u, out, sizeof(out) ),
                      1 );
    assert_string_equal( out, "Z:\\game-4294967295.log" );
    assert_int_equal( log_spec_expand( "100%%%p", "game", 0, out, sizeof(out) ), 1 );
    assert_string_equal( out, "100%0" );
    /* what is put in is not looked at again */
    assert_int_equal( log_spec_expand( "%e", "%p%s%n", 7, out, sizeof(out) ), 1 );
    assert_string_equal( out, "%p%s%n" );
    assert_int_equal( log_spec_expand( "a%", "game", 1, out, sizeof(out) ), 0 );
    assert_int_equal( log_spec_expand( "%s", "game", 1, out, sizeof(out) ), 0 );
    assert_int_equal( log_spec_expand( "%e", "1234567", 1, small, 8 ), 1 );
    assert_int_equal( log_spec_expand( "%e", "12345678", 1, small, 8 ), 0 );
    free( small );
    settings_read_variable( &s, SETTING_LOG_FILE, "Z:\\%d.log" );
    check_problem( "UMS_LOG_FILE=Z:\\%d.log", "%e, %p and %%" );
}

/* ---- levels ---- */

static void levels_are_read_from_left_to_right( void **state )
{
    unsigned char levels[LOG_CHANNELS];
    int i;

    (void)state;
    assert_int_equal( log_spec_read( "1", levels ), 1 );
    for (i = 0; i < LOG_CHANNELS; i++) assert_int_equal( levels[i], LOG_INFO );
    assert_int_equal( log_spec_read( "0", levels ), 1 );
    for (i = 0; i < LOG_CHANNELS; i++) assert_int_equal( levels[i], LOG_NONE );
    assert_int_equal( log_spec_read( "trace+hook", levels ), 1 );
    for (i = 0; i < LOG_CHANNELS; i++)
        assert_int_equal( levels[i], i == LOG_CHANNEL_hook ? LOG_TRACE : LOG_WARN );
    assert_int_equal( log_spec_read( "none,info+main,trace+worker,err+main", levels ), 1 );
    for (i = 0; i < LOG_CHANNELS; i++)
        assert_int_equal( levels[i], i == LOG_CHANNEL_worker ? LOG_TRACE
                                     : i == LOG_CHANNEL_main ? LOG_ERR : LOG_NONE );
    assert_int_equal( log_spec_read( "trace+main,warn", levels ), 1 );
    assert_int_equal( levels[LOG_CHANNEL_main], LOG_WARN );
}

static void a_wrong_level_changes_nothing( void **state )
{
    static const char *const wrong[] =
        { "", ",", "info,", ",info", "2", "10", "INFO", "info+", "+hook", "info+Hook", "info+hooks",
          "info+hook+main", "info hook", "trace+hook,loud", "in" };
    unsigned char levels[LOG_CHANNELS];
    size_t i;

    (void)state;
    memset( levels, 99, sizeof(levels) );
    for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
    {
        if (log_spec_read( wrong[i], levels )) fail_msg( "\"%s\" was taken", wrong[i] );
        assert_int_equal( levels[0], 99 );
        assert_int_equal( levels[LOG_CHANNELS - 1], 99 );
    }
}

/* ---- ums.conf ---- */

static void the_environment_beats_the_profile_beats_the_rest( void **state )
{
    char origin[200];

    (void)state;
    begin( "UMS_HOOK=stubs\nUMS_PARK=address\nUMS_GS=arch_prctl\n[gAmE.eXe]\nUMS_HOOK=dispatcher\n"
           "UMS_PARK=auto\n" );
    settings_read_variable( &s, SETTING_HOOK, "auto" );
    check( SETTING_HOOK, "auto", 0, ORIGIN_ENVIRONMENT, 0 );
    check( SETTING_PARK, "auto", 0, ORIGIN_PROFILE, 6 );
    check( SETTING_GS, "arch_prctl", 1, ORIGIN_CONF, 3 );
    assert_int_equal( s.problem_count, 0 );
    settings_origin( &s, SETTING_HOOK, origin, sizeof(origin) );
    assert_string_equal( origin, "environment" );
    settings_origin( &s, SETTING_PARK, origin, sizeof(origin) );
    assert_string_equal( origin, FILE_NAME " line 6" );
    settings_origin( &s, SETTING_FORCE, origin, sizeof(origin) );
    assert_string_equal( origin, "default" );
}

static void a_wrong_value_does_not_hide_the_one_below( void **state )
{
    (void)state;
    begin( "UMS_PARK=address\n" );
    settings_read_variable( &s, SETTING_PARK, "bench" );
    check( SETTING_PARK, "address", 1, ORIGIN_CONF, 1 );
    check_problem( "UMS_PARK=bench", "(environment)" );
}

static void profiles_are_for_their_program( void **state )
{
    (void)state;
    begin( "[other.exe]\nUMS_HOOK=stubs\nUMS_NONSENSE=1\nno pair\n[game]\nUMS_HOOK=nonsense\n"
           "[game.exe.exe]\nUMS_GS=arch_prctl\n[ game.exe ]\nUMS_PARK=address\n[ame.exe]\n"
           "UMS_FORCE=1\n[game.exe]\nUMS_PAGE_FAULTS=1\n" );
    assert_int_equal( s.problem_count, 0 );
    assert_string_equal( s.refusal, "" );
    check( SETTING_HOOK, "auto", 0, ORIGIN_DEFAULT, 0 );
    check( SETTING_GS, "auto", 0, ORIGIN_DEFAULT, 0 );
    check( SETTING_FORCE, "0", 0, ORIGIN_DEFAULT, 0 );
    check( SETTING_PARK, "address", 1, ORIGIN_PROFILE, 10 );
    check( SETTING_PAGE_FAULTS, "1", 1, ORIGIN_PROFILE, 14 );
}

static void a_damaged_section_is_nobodys( void **state )
{
    (void)state;
    begin( "UMS_GS=arch_prctl\n[game.exe\nUMS_HOOK=stubs\n" );
    check_problem( FILE_NAME " line 2", "[program.exe]", "[game.exe" );
    check( SETTING_HOOK, "auto", 0, ORIGIN_DEFAULT, 0 );
    begin( "[]\nUMS_HOOK=stubs\n" );
    check_problem( "line 1" );
    check( SETTING_HOOK, "auto", 0, ORIGIN_DEFAULT, 0 );
    begin( "[" );
    check_problem( "line 1" );
}

static void keys_are_known_or_reported( void **state )
{
    (void)state;
    begin( "UMS_ENGIN=carry\n" );
    check_problem( FILE_NAME " line 1", "no setting", "UMS_ENGIN" );
    begin( "ums_engine = carry\r\n" );
    assert_int_equal( s.problem_count, 0 );
    check( SETTING_ENGINE, "carry", 1, ORIGIN_CONF, 1 );
    begin( "ENGINE=carry\n" );
    check_problem( "line 1", "no setting" );
    begin( "UMS_ACTIVE=1\n" );                  /* it is no setting */
    check_problem( "line 1", "no setting" );
    begin( "=carry\n" );
    check_problem( "line 1", "no setting" );
    begin( "\n \nUMS_ENGINE carry\n" );
    check_problem( "line 3", "KEY=value", "UMS_ENGINE carry" );
}

static void lines_are_trimmed_and_comments_left_out( void **state )
{
    (void)state;
    begin( "\xef\xbb\xbf  # UMS_HOOK=stubs\r\n\t\r\n \tUMS_GS\t=\tarch_prctl \t\r\n"
           "UMS_LOG_FILE= Z:\\a b\\%e #1.log\r\nUMS_PARK=address" );
    assert_int_equal( s.problem_count, 0 );
    check( SETTING_HOOK, "auto", 0, ORIGIN_DEFAULT, 0 );
    check( SETTING_GS, "arch_prctl", 1, ORIGIN_CONF, 3 );
    check( SETTING_LOG_FILE, "Z:\\a b\\%e #1.log", 0, ORIGIN_CONF, 4 );
    check( SETTING_PARK, "address", 1, ORIGIN_CONF, 5 );
}

static void the_last_line_of_a_kind_counts( void **state )
{
    (void)state;
    begin( "UMS_GRACE_US=10\nUMS_GRACE_US=20\nUMS_GRACE_US=x\n" );
    check( SETTING_GRACE_US, "20", 20, ORIGIN_CONF, 2 );
    check_problem( "UMS_GRACE_US=x", "line 3" );
}

static void utf_16_is_left_out( void **state )
{
    (void)state;
    read_bytes( "\xff\xfeU\0M\0S\0", 8 );
    check_problem( FILE_NAME, "UTF-16" );
    settings_init( &s, 1 );
    read_bytes( "\xfe\xff", 2 );
    check_problem( FILE_NAME, "UTF-16" );
    settings_init( &s, 1 );
    read_bytes( "", 0 );
    read_bytes( "\xff", 1 );
    check_problem( "line 1" );
}

static void of_many_problems_some_are_kept( void **state )
{
    char text[8000] = "";
    int i;

    (void)state;
    for (i = 0; i < 500; i++) strcat( text, "wrong\n" );
    begin( text );
    assert_int_equal( s.problem_count, 500 );
    for (i = 0; i < SETTING_PROBLEMS - 1; i++)
    {
        char place[40];

        snprintf( place, sizeof(place), " line %d: ", i + 1 );
        assert_non_null( strstr( s.problems[i], place ) );
    }
}

static void a_long_path_is_shown_by_its_end( void **state )
{
    char path[SETTING_TEXT * 2];

    (void)state;
    memset( path, 'd', sizeof(path) );
    strcpy( path + 500, "\\ums.conf" );
    settings_read_conf( &s, path, "wrong", 5, "game.exe" );
    check_problem( "...ddd", "ddd\\ums.conf line 1" );
    assert_true( strlen( s.problems[0] ) >= 200 && strlen( s.problems[0] ) <= 300 );
    settings_init( &s, 1 );
    memset( path, 'd', sizeof(path) );          /* longer than there is room for */
    path[sizeof(path) - 1] = 0;
    settings_read_conf( &s, path, "UMS_GS=auto", 11, "game.exe" );
    assert_int_equal( strlen( s.conf ), SETTING_TEXT - 1 );
}

int main( void )
{
#define T( name ) cmocka_unit_test_setup( name, setup )
    const struct CMUnitTest tests[] =
    {
        T( defaults_are_those_of_the_table ),
        T( each_choice_has_its_number ),
        T( a_part_of_a_choice_is_none ),
        T( numbers_have_bounds ),
        T( an_empty_value_is_none ),
        T( a_wrong_value_names_key_value_place_and_choices ),
        T( who_insists_is_refused ),
        T( what_is_quoted_is_short_and_plain ),
        T( a_value_has_no_end_in_it ),
        T( paths_are_not_followed_with_more_rights ),
        T( a_path_that_is_too_long_is_wrong ),
        T( only_e_and_p_are_put_in ),
        T( levels_are_read_from_left_to_right ),
        T( a_wrong_level_changes_nothing ),
        T( the_environment_beats_the_profile_beats_the_rest ),
        T( a_wrong_value_does_not_hide_the_one_below ),
        T( profiles_are_for_their_program ),
        T( a_damaged_section_is_nobodys ),
        T( keys_are_known_or_reported ),
        T( lines_are_trimmed_and_comments_left_out ),
        T( the_last_line_of_a_kind_counts ),
        T( utf_16_is_left_out ),
        T( of_many_problems_some_are_kept ),
        T( a_long_path_is_shown_by_its_end ),
    };

    return cmocka_run_group_tests( tests, NULL, NULL );
}
