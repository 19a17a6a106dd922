# Sourced: starts a program, and makes the start in thousands again that Wine loses: it ends with 1 and not a word. So it does
# with the program in thousands that Wine kills after its end: its status is SIGKILL's then (docs/wine.md).
# shellcheck shell=sh
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later

# lost_start STATUS FILES...: what the program ended with, and where its words would be. Once in a script, and not
# quietly: ./check counts them in all scripts, and fails when there is more than one.
lost_start()
{
    [ -z "${lost-}" ] || return 1
    case $1 in
    1)   shift
         for file; do
             [ ! -s "$file" ] || return 1
         done
         echo "a start was lost, it is made again" ;;
    137) echo "a program was killed after its end, it is started again" ;;
    *)   return 1 ;;
    esac
    lost=1
    [ -z "${UMS_LOST_STARTS-}" ] || echo "$0" >> "$UMS_LOST_STARTS"
}

# begin OUT ERR COMMAND...: its status in got, its output in these files, which may be one; a lost start is made again
begin()
{
    begin_once "$@"
    if lost_start $got "$1" "$2"; then
        begin_once "$@"
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
