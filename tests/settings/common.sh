# Sourced by the scripts beside it. The script sets $umsrun before.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh disable=SC2034,SC2154

run=$(readlink -f "$(dirname "$0")/../../scripts/winerun")
. "$(dirname "$0")/../lost_start.sh"
failed=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
for name in $(env | sed -n 's/^\(UMS_[A-Z_]*\)=.*/\1/p'); do
    case $name in
    UMS_WINE | UMS_BUILD) ;;
    *) unset "$name" ;;
    esac
done

# conf LINES...: this is in ums.conf
conf()
{
    printf '%s\n' "$@" > ums.conf
}

# start PROGRAM SETTINGS...: status in got, output in out, our lines in log
start()
{
    program=$1
    shift
    begin out err env "$@" "$run" "$umsrun" "$program"
    grep '^ums: ' err | tr -d '\r' > log
}

wrong()
{
    echo "$1:"
    grep -v "  [0-9a-f]\{16\}" out
    cat err
    failed=1
}

# ended STATUS LINES WHAT: the program has ended so, and we have said so many lines
ended()
{
    [ "$got" = "$1" ] || wrong "$3: status $got, expected $1"
    [ "$(wc -l < log)" = "$2" ] || wrong "$3: $(wc -l < log) lines of the log, expected $2"
}

# said WHAT PATTERNS...: one line of the log has them all
said()
{
    what=$1
    shift
    cp log match
    for pattern in "$@"; do
        grep -- "$pattern" match > match2
        mv match2 match
    done
    [ "$(wc -l < match)" = 1 ] || wrong "$what: no line, or several, with $*"
}
