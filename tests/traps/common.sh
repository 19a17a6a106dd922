# Sourced by the scripts beside it. The script sets $library before.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh disable=SC2034,SC2154

run=$(readlink -f "$(dirname "$0")/../../scripts/winerun")
. "$(dirname "$0")/../lost_start.sh"
failed=0
out=$(mktemp)
trap 'rm -f "$out"' EXIT

# trapped TRAPS SETTINGS... COMMAND...: status in got, output in $out
trapped()
{
    traps=$1
    shift
    begin "$out" "$out" env TRAPS="$traps" LD_PRELOAD="$library" "$@"
}

wrong()
{
    echo "FAIL $1:"
    tr -d '\r' < "$out" | grep -v '  [0-9a-f]\{16\}'
    failed=1
}

# said WHAT PATTERNS...: lines of the output
said()
{
    what=$1
    shift
    for pattern in "$@"; do
        tr -d '\r' < "$out" | grep -q -- "$pattern" || wrong "$what: no [$pattern]"
    done
}
