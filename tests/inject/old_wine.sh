#!/bin/sh
# old_wine.sh BUILD UMSRUN PROGRAM: Wine of Debian bullseye, 5.0.3, has no system calls to hook. The launcher says so in
# one line, whatever is asked for, with status 2, and the program does not run. Without the shim it does.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
scripts=$(dirname "$(readlink -f "$0")")/../../scripts
umsrun=$2
program=$3
failed=0
export UMS_WINE=bullseye UMS_BUILD="$1"
unset UMS_ENGINE UMS_HOOK UMS_PARK UMS_LOG UMS_LOG_FILE

if ! "$scripts/getwine" bullseye "$1/wine-bullseye" > "$1/wine-bullseye.log" 2>&1; then
    echo "Wine of bullseye cannot be fetched: $(tail -n 1 "$1/wine-bullseye.log")"
    exit 77
fi
dir=$(mktemp -d)
trap '"$scripts/winerun" --cleanup; rm -rf "$dir"' EXIT
"$scripts/winerun" --setup || exit 1

# refused SETTINGS...
refused()
{
    env "$@" "$scripts/winerun" "$umsrun" "$program" 5 > "$dir/out" 2> "$dir/err"
    got=$?
    if [ $got != 2 ] || [ -s "$dir/out" ] || [ "$(wc -l < "$dir/err")" != 1 ] ||
        ! grep -q 'this is Wine 5\.0\.3, .*; please use a Wine that is known to work' "$dir/err"; then
        echo "$*: status $got, expected 2 and one line that names Wine 5.0.3 and says what to do:"
        cat "$dir/out" "$dir/err"
        failed=1
    fi
}

refused UMS_ENGINE=auto
refused UMS_ENGINE=carry UMS_HOOK=dispatcher
refused UMS_ENGINE=handoff UMS_HOOK=stubs

"$scripts/winerun" "$program" 5 > "$dir/out" 2>&1
got=$?
[ $got = 5 ] || { echo "without the shim: status $got, expected 5"; cat "$dir/out"; failed=1; }
exit $failed
