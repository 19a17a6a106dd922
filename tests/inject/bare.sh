#!/bin/sh
# bare.sh UMSRUN PROGRAM DLL: the DLL's import table says "KERNEL32", without ".dll", which the loader adds.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
run=$(dirname "$0")/../../scripts/winerun
bare=$(mktemp -d)
trap 'rm -rf "$bare"' EXIT

cp "$2" "$bare"
LC_ALL=C sed 's/KERNEL32\.dll/KERNEL32\x00\x00\x00\x00/' "$3" > "$bare/$(basename "$3")"
! cmp -s "$3" "$bare/$(basename "$3")" || { echo "$3 has no KERNEL32.dll"; exit 1; }
"$run" "$1" "$bare/$(basename "$2")"
