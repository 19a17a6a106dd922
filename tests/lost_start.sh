# Sourced: starts a program, and makes the start in thousands again that Wine loses: it ends with 1 and not a word. What Wine
# kills after its end is never started again (docs/wine.md): what it has said counts.
# shellcheck shell=sh
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later

# lost_start STATUS FILES...: what the program ended with, and where its words would be. Once in a script, and not
# quietly: ./check counts them in all scripts, and fails when there is more than one.
lost_start()
{
    [ -z "${lost-}" ] && [ "$1" = 1 ] || return 1
    shift
    for file; do
        [ ! -s "$file" ] || return 1
    done
    lost=1
    echo "a start was lost, it is made again"
    [ -z "${UMS_LOST_STARTS-}" ] || echo "$0" >> "$UMS_LOST_STARTS"
}

# made_again NAME FILE [FILE]: CreateProcess has said that it lost a start (error 1359, docs/wine.md), and the program in
# question has made it again and said so, in one of these files, which may be one. ./check counts these, too.
made_again()
{
    made=$1
    shift
    [ "$1" != "${2-}" ] || shift
    for file; do
        grep 'a start was lost (error 1359)' "$file" || continue
        [ -z "${UMS_LOST_STARTS-}" ] || sed -n "s|.*a start was lost (error 1359).*|$made (error 1359)|p" "$file" >> "$UMS_LOST_STARTS"
        sed -i '/a start was lost (error 1359)/d' "$file"
    done
}

# killed_after_end STATUS FILE NAME: the program's own status is lost, but its report, in this file, says that nothing
# has failed. The report is the last that umstest and the programs with inject/test.h say. Not quietly: ./check counts.
killed_after_end()
{
    [ "$1" = 137 ] && [ -n "${UMS_LOST_STARTS-}" ] || return 1
    reported=$(tr -d '\r' < "$2" | sed -n '/^# FAIL/p; /^no test or group/p; /^# tests [0-9]*: /p; /^[0-9]* checks, [0-9]* failed$/p')
    echo "$reported" | grep -q -x '# tests [0-9]*: [1-9][0-9]* passed, 0 failed, .*\|[1-9][0-9]* checks, 0 failed' || return 1
    [ "$(echo "$reported" | wc -l)" = 1 ] || return 1
    echo "$3 was killed after its end, its report is there"
    echo "$3 (killed after its end)" >> "$UMS_LOST_STARTS"
}

# begin OUT ERR COMMAND...: its status in got, its output in these files, which may be one; a lost start is made again
begin()
{
    begin_once "$@"
    if lost_start $got "$1" "$2"; then
        begin_once "$@"
    fi
    made_again "$0" "$1" "$2"
    # CTest looks for this (wine.cmake), and sees only what the script prints
    grep -h 'gave up after waiting' "$1" "$2" || true
    if killed_after_end $got "$1" "$0"; then
        got=0
    fi
}

begin_once()
{
    got=0
    if [ "$1" = "$2" ]; then
        (shift 2 && "$@") > "$1" 2>&1 || got=$?
    else
        (shift 2 && "$@") > "$1" 2> "$2" || got=$?
    fi
}
