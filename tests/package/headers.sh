#!/bin/sh
# headers.sh INCLUDE: the public headers, each alone and all together, are C11 and C++17 to gcc and to clang, and to
# Microsoft's compiler, as far as clang in its place can tell; all that beside a winbase.h that declares UMS, and beside one
# that does not.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
include=$1
here=$(dirname "$(readlink -f "$0")")
failed=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# try WHAT COMMAND...
try()
{
    what=$1
    shift
    "$@" > "$tmp/out" 2>&1 && return
    echo "$what:"
    head -n 20 "$tmp/out"
    failed=1
}

# The compiler's own winbase.h declares UMS or not (mingw-w64 does since version 12): two copies, one of each kind.
winbase=$(echo '#include <windows.h>' | x86_64-w64-mingw32-gcc -M -x c - | tr ' ' '\n' | grep '/winbase\.h$' | head -n 1)
mkdir "$tmp/silent" "$tmp/declares"
awk '/^ *#define UMS_VERSION/ { cut = 1 } !cut { print } /GetUmsSystemThreadInformation/ { cut = 0 }' "$winbase" > "$tmp/silent/winbase.h"
awk '{ print } /ConvertThreadToFiber *\(LPVOID/ { print "#include \"declares_ums.h\"" }' "$tmp/silent/winbase.h" \
    > "$tmp/declares/winbase.h"
cp "$here/declares_ums.h" "$tmp/declares"
if grep -q UmsThreadYield "$tmp/silent/winbase.h" || [ "$(grep -c declares_ums "$tmp/declares/winbase.h")" != 1 ]; then
    echo "$winbase has another shape than this test knows"
    failed=1
fi

for header in ums umsnt workerfactory; do echo "#include <$header.h>"; done > "$tmp/all.c"
for header in umsnt workerfactory; do echo "#include <$header.h>" > "$tmp/$header.c"; done
cp "$tmp/all.c" "$tmp/all.cpp"
warnings='-Wall -Wextra -Wpedantic -Werror -fsyntax-only'
# shellcheck disable=SC2086
for kind in silent declares; do
    for name in all umsnt workerfactory; do
        try "gcc, $name.h, $kind" x86_64-w64-mingw32-gcc -std=c11 $warnings -isystem "$tmp/$kind" -I"$include" "$tmp/$name.c"
    done
    try "g++, $kind" x86_64-w64-mingw32-g++ -std=c++17 $warnings -isystem "$tmp/$kind" -I"$include" "$tmp/all.cpp"
    # Microsoft's rules, mingw's headers (msvc.h). /WX: no warning of level 4.
    for case in c:c11 cpp:c++17; do
        try "clang, ${case#*:}, $kind" clang --target=x86_64-w64-mingw32 "-std=${case#*:}" $warnings \
            -isystem "$tmp/$kind" -I"$include" "$tmp/all.${case%:*}"
        try "clang-cl, ${case#*:}, $kind" clang --driver-mode=cl --target=x86_64-pc-windows-msvc /Zs /W4 /WX "/std:${case#*:}" \
            "/FI$here/msvc.h" -imsvc "$tmp/$kind" -imsvc "$(dirname "$winbase")" "-I$include" "$tmp/all.${case%:*}"
    done
done

# not for 32 bits, and it says so
if x86_64-w64-mingw32-gcc -U_WIN64 -I"$include" -fsyntax-only "$tmp/umsnt.c" > "$tmp/out" 2>&1 ||
    ! grep -q '64-bit' "$tmp/out"; then
    echo 'ums.h does not refuse 32 bits'
    failed=1
fi
exit $failed
