#!/bin/sh
# bare.sh UMSRUN PROGRAM DLL: the DLL's import table says "KERNEL32" and "ntdll", without ".dll", which the loader adds.
# Wine has the DLL's name of kernel32, and lacks that of ntdll: the one slot can be known by what is in it, the other only
# by the name of its DLL.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
run=$(dirname "$0")/../../scripts/winerun
bare=$(mktemp -d)
trap 'rm -rf "$bare"' EXIT

cp "$2" "$bare"
LC_ALL=C sed 's/KERNEL32\.dll/KERNEL32\x00\x00\x00\x00/; s/ntdll\.dll/ntdll\x00\x00\x00\x00/' "$3" > "$bare/$(basename "$3")"
for name in KERNEL32 ntdll; do
    grep -q -a "$name.dll" "$3" || { echo "$3 has no $name.dll"; exit 1; }
    ! grep -q -a "$name.dll" "$bare/$(basename "$3")" || { echo "$name.dll is still there"; exit 1; }
done
"$run" "$1" "$bare/$(basename "$2")"
