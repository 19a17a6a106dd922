#!/bin/sh
# headers.sh INCLUDE: the public headers, each alone and all together, are ISO C11 and C++17 to gcc, and C and C++ to
# Microsoft's compiler, as far as clang in its place can tell; both before and behind the declarations of Microsoft's SDK.
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

for header in ums umsnt workerfactory; do echo "#include <$header.h>"; done > "$tmp/all.c"
for header in umsnt workerfactory; do echo "#include <$header.h>" > "$tmp/$header.c"; done
for source in "$tmp"/*.c; do
    name=$(basename "$source" .c)
    try "gcc, $name.h" x86_64-w64-mingw32-gcc -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$include" -fsyntax-only "$source"
done
cp "$tmp/all.c" "$tmp/all.cpp"
try 'g++' x86_64-w64-mingw32-g++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -I"$include" -fsyntax-only "$tmp/all.cpp"

# Microsoft's rules, mingw's headers (msvc.h). /WX: no warning of level 4.
for case in c:c11: cpp:c++17:/DWITH_SDK; do
    IFS=: read -r suffix standard with_sdk << END
$case
END
    # shellcheck disable=SC2086
    try "clang-cl, $standard $with_sdk" clang --driver-mode=cl --target=x86_64-pc-windows-msvc /Zs /W4 /WX \
        "/std:$standard" "/FI$here/msvc.h" $with_sdk -imsvc /usr/share/mingw-w64/include "-I$include" "$tmp/all.$suffix"
done

# not for 32 bits, and it says so
if x86_64-w64-mingw32-gcc -U_WIN64 -I"$include" -fsyntax-only "$tmp/umsnt.c" > "$tmp/out" 2>&1 ||
    ! grep -q '64-bit' "$tmp/out"; then
    echo 'ums.h does not refuse 32 bits'
    failed=1
fi
exit $failed
