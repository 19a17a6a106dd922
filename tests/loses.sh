#!/bin/sh
# loses.sh LIBRARY UMSRUN PROGRAM UMSTEST: what umsrun and umstest make of starts that Wine loses (loses.c): each is made
# again, twice in a row at most, and not quietly. winerun counts them.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
library=$1 umsrun=$2 program=$3 umstest=$4
run=$(readlink -f "$(dirname "$0")/../scripts/winerun")
failed=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export UMS_LOST_STARTS="$dir/counted" LOSES="$dir/loses"

# expect LOST STATUS LINES WORDS COMMAND...: so many are lost; the command ends so, says so often that a start was made
# again, and says the words
expect()
{
    lost=$1 status=$2 lines=$3 words=$4 got=0
    shift 4
    head -c "$lost" /dev/zero > "$LOSES"
    : > "$UMS_LOST_STARTS"
    UMS_TELL=1 LD_PRELOAD="$library" "$run" "$@" > "$dir/out" 2>&1 || got=$?
    said=$(grep -c 'a start was lost (error 1359), it is made again' "$dir/out")
    counted=$(grep -c '(error 1359)$' "$UMS_LOST_STARTS")
    # shellcheck disable=SC2254
    case $said in
    $lines) [ $got = "$status" ] && [ "$counted" = "$said" ] && grep -q "$words" "$dir/out" && return ;;
    esac
    echo "$lost lost, $*: status $got, expected $status; said $said times, counted $counted, expected $lines; expected [$words]:"
    cat "$dir/out"
    failed=1
}

expect 0 0 0 '' "$umsrun" "$program"
# A Wine of which no lost starts are known may give another error, 10.0 does. Then nothing is made again.
case $("$run" --version) in
wine-8.*) ;;
*)  expect 3 2 '[02]' ' (error [0-9]*)' "$umsrun" "$program"
    grep -q 'error 1359' "$dir/out" || exit $failed ;;
esac
expect 1 0 1 '^umsrun: a start' "$umsrun" "$program"
expect 2 0 2 '^umsrun: a start' "$umsrun" "$program"
expect 3 2 2 'error 1359' "$umsrun" "$program"
expect 1 0 1 '^# a start' "$umstest" --impl=shim execute_null
expect 2 0 2 '1 passed, 0 failed' "$umstest" --impl=shim execute_null
expect 3 1 2 'FAIL (cannot start) execute_null' "$umstest" --impl=shim execute_null
exit $failed
