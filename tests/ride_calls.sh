#!/bin/sh
# ride_calls.sh UMSRUN UMSBENCH: benchmarks/ride_calls counts in a trace what a mix is known to make, and finds a call that was told.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
umsrun=$1 umsbench=$2
top=$(dirname "$(dirname "$(readlink -f "$0")")")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

# counted MIX PATTERNS...: these lines are there
counted()
{
    mix=$1
    shift
    UMS_TRACE=trace.json "$top/scripts/winerun" "$umsrun" "$umsbench" --batches=1 --ops=20 --arm="yield_$mix" \
        --save="Z:$dir/samples" rides-traced || exit 1
    "$top/benchmarks/ride_calls" "$mix" 40 trace.json > out || exit 1
    for line in "$@"; do
        grep -q -- "$line" out && continue
        echo "$mix: expected [$line]:"
        cat out
        exit 1
    done
}

# calls of a round; then how many rode out and were told, which depends on the machine but for the pipes
counted close '^  close  *goes home  *[0-9.]*$' '^  *NtDuplicateObject  *1\.00 ' '^  *NtClose  *1\.00 '
counted registry '^  registry  *goes home  *0\.'           # its calls stay on the carrier, so the trace has none
counted pipe '^  *NtWriteFile  *1\.00 ' '^  *NtReadFile  *1\.00  *0\.[0-9]*  *[0-9.]*[1-9]'
