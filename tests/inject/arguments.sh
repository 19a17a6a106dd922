#!/bin/sh
# arguments.sh UMSRUN ARGUMENTS: what arguments.c expects, also of an umsrun in a folder with a blank in its name. (CMake's lists
# would change some of the arguments.)
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
set -eu
winerun=$(dirname "$0")/../../scripts/winerun
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/our own"
cp "$1" "$(dirname "$1")/kernel32_ums.dll" "$(dirname "$1")/ntdll_ums.dll" "$dir/our own"
failed=0
for umsrun in "$1" "$dir/our own/$(basename "$1")"; do
    "$winerun" "$umsrun" "$2" 'a b' 'c"d' 'e\\' 'f\\"g' '' '%PATH%' '*' "h'i" "j k\\" ';' ' ' 'l;m' || failed=1
done
exit $failed
