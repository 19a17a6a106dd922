#!/bin/sh
# modules.sh UMSTEST MODULES: the DLLs built as modules of Wine (dlls/wine_modules.cmake) are loaded as Wine loads its own,
# and serve.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
run=$(readlink -f "$(dirname "$0")/../../scripts/winerun")
modules=$2
failed=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# Wine looks for a module in WINEDLLPATH when it has found a file of that name with its mark
cp "$1" "$modules/x86_64-windows/"*.dll "$dir"
export WINEDLLPATH="$modules"

WINEDEBUG=+loaddll "$run" "$dir/umstest.exe" --impl=shim execute_null > "$dir/out" 2>&1
for name in ntdll_ums kernel32_ums; do
    if ! grep -qi "Loaded.*$name.dll.*: builtin" "$dir/out"; then
        echo "$name was not loaded as a module of Wine"
        grep -i _ums "$dir/out"
        failed=1
    fi
done
"$run" "$dir/umstest.exe" --impl=shim execute create_thread native > "$dir/out" 2>&1 || { cat "$dir/out"; failed=1; }
exit $failed
