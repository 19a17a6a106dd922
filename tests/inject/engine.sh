#!/bin/sh
# engine.sh UMSRUN PROGRAM: which engine serves a program, by what is asked for and what the host can do; that the log
# and UMS_ACTIVE say so; and that it is true.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
run=$(dirname "$0")/../../scripts/winerun
. "$(dirname "$0")/../lost_start.sh"
umsrun=$1
program=$2
failed=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
unset UMS_ENGINE UMS_PARK UMS_GS UMS_HOOK UMS_LOG_FILE
export UMS_LOG=1

# start SETTINGS...: status in got, output in out, our lines in log
start()
{
    begin "$dir/out" "$dir/err" env "$@" "$run" "$umsrun" "$program"
    tr -d '\r' < "$dir/out" > "$dir/plain"
    grep '^ums: ' "$dir/err" > "$dir/log"
}

wrong()
{
    echo "$1:"
    cat "$dir/out" "$dir/err"
    failed=1
}

# served ENGINE WHERE REASONS SETTINGS...: the program runs, workers are WHERE, and that many lines give a reason
served()
{
    engine=$1 where=$2 reasons=$3
    shift 3
    start "$@"
    active=$(sed -n 's/^ums: active, //p' "$dir/log")
    [ $got = 0 ] || wrong "$*: status $got"
    case $active in
    "engine=$engine "*) ;;
    *) wrong "$*: the log says active [$active], expected engine=$engine" ;;
    esac
    [ "$(cat "$dir/plain")" = "$active, $where" ] || wrong "$*: expected [$active, $where]"
    [ "$(grep -c because "$dir/log")" = "$reasons" ] || wrong "$*: expected $reasons reasons"
    [ "$(wc -l < "$dir/log")" = $((reasons + 1)) ] || wrong "$*: expected $((reasons + 1)) lines"
}

# refused WORDS SETTINGS...: one line with these words, and the program does not run; without UMS_LOG too
refused()
{
    words=$1
    shift
    for log in 1 0; do
        start UMS_LOG=$log "$@"
        if [ $got != 2 ] || [ -s "$dir/out" ] || [ "$(wc -l < "$dir/log")" != 1 ]; then
            wrong "$*: status $got, expected 2 and one line"
        fi
        for word in $words; do
            grep -q "$word" "$dir/log" || wrong "$*: expected \"$word\""
        done
        grep -q active "$dir/log" && wrong "$*: it is active"
    done
}

# chosen ENGINE SETTINGS...: nobody asks for one, so it depends on what setting GS costs here (auto_engine.py)
chosen()
{
    engine=$1
    shift
    case $engine in
    carry)   served carry 'carried' 0 "$@" ;;
    handoff) served handoff 'at home' 1 "$@"
             grep -q 'because a system call that sets GS takes [0-9]* ns here' "$dir/log" || wrong "$*: expected the cost of GS" ;;
    *)       start "$@"
             [ $got = 0 ] || wrong "$*: status $got" ;;
    esac
}

auto=$("$(dirname "$0")/../auto_engine.py")
by_call=$("$(dirname "$0")/../auto_engine.py" --call)
echo "auto: $auto, $by_call where a system call sets GS"

served carry   'carried' 0 UMS_ENGINE=carry
chosen "$auto" UMS_ENGINE=auto
chosen "$auto" UMS_ENGINE=
served handoff 'at home' 0 UMS_ENGINE=handoff
served carry   'carried' 0 UMS_ENGINE=carry UMS_HOOK=stubs
served handoff 'at home' 0 UMS_ENGINE=handoff UMS_HOOK=stubs

# what GS is written with is no reason not to carry, but where that takes longer than to wake a thread
served carry   'carried' 0 UMS_ENGINE=carry UMS_GS=arch_prctl
chosen "$by_call" UMS_ENGINE=auto UMS_GS=arch_prctl

# a thread that sleeps inside NT calls cannot be left there while its worker is carried
served handoff 'at home' 1 UMS_ENGINE=auto UMS_PARK=address
served handoff 'at home' 1 UMS_PARK=address
served handoff 'at home' 0 UMS_ENGINE=handoff UMS_PARK=address
refused 'cannot sleep' UMS_ENGINE=carry UMS_PARK=address

refused 'UMS_ENGINE auto carry handoff' UMS_ENGINE=nonsense
refused 'UMS_ENGINE auto carry handoff' UMS_ENGINE=carryx
refused 'UMS_ENGINE auto carry handoff' UMS_ENGINE=a-value-that-is-longer-than-any-buffer-for-it-is
exit $failed
