#!/bin/sh
# rebuild.sh SOURCE: built from nothing in two other folders, the packages are the same bytes. VERSION, CMAKE: from CTest.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
set -eu
source=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$source" log -1 --format=%ct 2> /dev/null || echo 1700000000)}
export SOURCE_DATE_EPOCH

for folder in a another/one; do
    mkdir -p "$tmp/$folder"
    (cd "$source" && tar cf - --exclude=./build --exclude=./.git .) | tar xf - -C "$tmp/$folder"
    "$CMAKE" -G Ninja -S "$tmp/$folder" -B "$tmp/$folder/build" \
        -DCMAKE_TOOLCHAIN_FILE="$tmp/$folder/toolchain-mingw.cmake" > "$tmp/log" 2>&1 || { tail "$tmp/log"; exit 1; }
    ninja -C "$tmp/$folder/build" package-release > "$tmp/log" 2>&1 || { tail -n 30 "$tmp/log"; exit 1; }
done
for file in "ums-$VERSION-win64.zip" "ums_${VERSION}_amd64.deb" "ums-dev_${VERSION}_all.deb" "ums-$VERSION-win11.zip"; do
    cmp "$tmp/a/build/dist/$file" "$tmp/another/one/build/dist/$file"
done
echo 'the same bytes from two folders'
