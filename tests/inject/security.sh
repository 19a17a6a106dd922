#!/bin/sh
# security.sh UMSRUN DECOYS DECOY_DLL: DLLs of the shim's names, and of what it and the launcher import, in the program's
# directory and the current one are not loaded; a log file is written where UMS_LOG_FILE says.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
run=$(readlink -f "$(dirname "$0")/../../scripts/winerun")
. "$(dirname "$0")/../lost_start.sh"
umsrun=$1
program=$2
decoy=$3
failed=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fill()
{
    mkdir "$1"
    for name in ntdll_ums kernel32_ums ums umsrun inject ntdll kernel32 kernelbase msvcrt; do
        cp "$decoy" "$1/$name.dll"
    done
}

# decoys DIRECTORY: status 99 would be a decoy's
decoys()
{
    begin "$dir/out" "$dir/out" env -C "$1" "$run" "$umsrun" "$program" "$shim"
    [ $got = 0 ] || { echo "in $1: status $got"; cat "$dir/out"; failed=1; }
}

shim=Z:$(dirname "$umsrun" | tr / \\\\)
fill "$dir/current"
decoys "$dir/current"
fill "$dir/beside"
rm "$dir/beside/msvcrt.dll"                     # the program itself may take that one
cp "$program" "$dir/beside/program.exe"
program=$dir/beside/program.exe
decoys "$dir/beside"
decoys "$dir/current"

begin "$dir/out" "$dir/out" env UMS_LOG=1 UMS_LOG_FILE="Z:$dir/log" "$run" "$umsrun" "$program" "$shim"
grep -q '^ums: active' "$dir/log" || { echo "no log file"; cat "$dir/out"; failed=1; }
exit $failed
