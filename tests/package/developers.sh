#!/bin/sh
# developers.sh BUILD WINERUN [deb]: what is installed, by CMake or by the Debian packages, is found by CMake and by
# pkg-config, from C and C++, and a program that links the import libraries, with -static and without, runs with the two DLLs
# beside it, without a launcher. UMS_WINE, VERSION, CMAKE: from CTest.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
set -eu
build=$1
winerun=$2
here=$(dirname "$(readlink -f "$0")")
source=$(dirname "$(dirname "$here")")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
unset UMS_LOG UMS_CHILDREN

if [ "${3-}" = deb ]; then
    "$source/packaging/release.sh" deb "$build" "$tmp/debs" > "$tmp/log" 2>&1 || { tail "$tmp/log"; exit 1; }
    for deb in "$tmp"/debs/*.deb; do dpkg-deb -x "$deb" "$tmp/root"; done
    prefix=$tmp/root/usr/x86_64-w64-mingw32
    samples=$tmp/root/usr/share/doc/ums-dev/examples
    umsrun=$tmp/root/usr/lib/ums/umsrun.exe
else
    "$CMAKE" --install "$build" --prefix "$tmp/ums" > "$tmp/log" || { tail "$tmp/log"; exit 1; }
    # a prefix is moved where it is wanted
    mv "$tmp/ums" "$tmp/moved"
    prefix=$tmp/moved
    samples=$prefix/share/doc/ums/samples
    umsrun=$prefix/bin/umsrun.exe
fi

# all UMS names of the program from our DLL, none from the system
imports_ours()
{
    x86_64-w64-mingw32-objdump -p "$1" | awk -v exe="$1" '
        /DLL Name:/    { dll = $3 }
        /[0-9] .*Ums[A-Z]|CreateRemoteThreadEx|ProcThreadAttribute/ { if (dll ~ /_ums.dll$/) ours++; else bad = $0 " of " dll }
        END { if (bad || ours < 10) { print exe ": " ours " names are ours; " bad; exit 1 } }'
}

# runs PROGRAM: it says tick and tock in turn, from a folder with nothing but it and the DLLs
runs()
{
    mkdir -p "$tmp/run"
    cp "$1" "$prefix/bin/kernel32_ums.dll" "$prefix/bin/ntdll_ums.dll" "$tmp/run"
    (cd "$tmp/run" && "$winerun" "$(basename "$1")") > "$tmp/out" 2>&1 || { echo "$1 failed:"; cat "$tmp/out"; exit 1; }
    grep -Eq '^((tick tock ){3}|(tock tick ){3})' "$tmp/out" || { echo "$1 printed:"; cat "$tmp/out"; exit 1; }
}

"$CMAKE" -G Ninja -S "$here/consumer" -B "$tmp/consumer" -DCMAKE_TOOLCHAIN_FILE="$source/toolchain-mingw.cmake" \
    -DCMAKE_PREFIX_PATH="$prefix" -DSAMPLES="$samples" > "$tmp/log" 2>&1 || { tail "$tmp/log"; exit 1; }
ninja -C "$tmp/consumer" > "$tmp/log" 2>&1 || { tail -n 30 "$tmp/log"; exit 1; }
for program in with_dll with_dll_cxx; do
    imports_ours "$tmp/consumer/$program.exe"
    runs "$tmp/consumer/$program.exe"
done
# The one that links nothing of ours gets the shim from the launcher.
"$winerun" "$umsrun" "$tmp/consumer/as_ever.exe" > "$tmp/out" 2>&1 || { cat "$tmp/out"; exit 1; }
grep -q 'tick tock' "$tmp/out" || { echo 'as_ever.exe printed:'; cat "$tmp/out"; exit 1; }
! "$winerun" "$tmp/consumer/as_ever.exe" > "$tmp/out" 2>&1 || { echo 'as_ever.exe runs without the launcher'; exit 1; }

# pkg-config, and a linker that is asked for kernel32 by hand
PKG_CONFIG_PATH=$prefix/lib/pkgconfig
export PKG_CONFIG_PATH
# shellcheck disable=SC2046,SC2086
for static in '' -static; do
    program=$tmp/by_pkg_config$static.exe
    x86_64-w64-mingw32-gcc $static -std=c11 $(pkg-config --cflags ums) "$samples/hello_ums.c" \
        $(pkg-config --libs ums) -lkernel32 -o "$program"
    imports_ours "$program"
    runs "$program"
done
echo "4 programs with the DLLs, 1 with the launcher"
