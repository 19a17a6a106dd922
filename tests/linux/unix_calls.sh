#!/bin/sh
# unix_calls.sh PROGRAM [ROUNDS]: gives the program a FIFO for the C library to wait on.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
run=$(dirname "$0")/../../scripts/winerun
failed=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkfifo "$dir/aliases"
export HOSTALIASES="$dir/aliases"

for mode in early late; do
    "$run" "$1" $mode "$dir/aliases" "${2-6}" || { echo "$mode: failed"; failed=1; }
done
exit $failed
