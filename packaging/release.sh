#!/bin/sh
# release.sh zip|deb|win11|all BUILD OUT: packages of what was built in BUILD, into OUT. VERSION and CMAKE come from the
# build. The same source gives the same bytes: all times are SOURCE_DATE_EPOCH, by default that of the last commit.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
set -eu
export LC_ALL=C TZ=UTC
umask 022
what=$1
build=$(readlink -f "$2")
mkdir -p "$3"
out=$(readlink -f "$3")
source=$(dirname "$(dirname "$(readlink -f "$0")")")
packaging=$source/packaging
: "${VERSION:?the build sets it: cmake --build build --target package-release}" "${CMAKE:=cmake}"

die()
{
    echo "release.sh: $*" >&2
    exit 1
}

if [ -z "${SOURCE_DATE_EPOCH-}" ]; then
    SOURCE_DATE_EPOCH=$(git -C "$source" log -1 --format=%ct 2> /dev/null) \
        || die 'this is no git repository: please set SOURCE_DATE_EPOCH to the time of the release, in seconds'
fi
export SOURCE_DATE_EPOCH
stage=$(mktemp -d "$out/stage.XXXXXX")
trap 'rm -rf "$stage"' EXIT

# install_parts PREFIX COMPONENTS...
install_parts()
{
    prefix=$1
    shift
    for part in "$@"; do
        "$CMAKE" --install "$build" --prefix "$prefix" --component "$part" --strip > "$stage/log" 2>&1 \
            || die "cmake --install failed: $(tail -n 5 "$stage/log")"
    done
}

# one time for all, and rights that do not depend on who builds
settle()
{
    find "$1" -type d -exec chmod 755 {} +
    find "$1" -type f -exec chmod 644 {} +
    find "$1" -type f \( -path '*/bin/umsrun' -o -path '*/bin/umstrace' \) -exec chmod 755 {} +
    find "$1" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}

# zip_folder FOLDER ZIP: names in order, no owners
zip_folder()
{
    command -v zip > /dev/null || die 'zip is missing: please install the package zip'
    settle "$1"
    rm -f "$2"
    (cd "$(dirname "$1")" && find "$(basename "$1")" | sort | zip -X -q -9 -@ "$2") || die "zip failed for $2"
    echo "$2"
}

# For Windows, for Wine without Debian, and for developers: programs, import libraries, documents.
make_zip()
{
    folder=$stage/ums-$VERSION-win64
    install_parts "$folder" runtime development documentation
    mv "$folder/share/ums/umstrace.html" "$folder/share/ums/umstrace_ring.py" "$folder/bin"
    mv "$folder/share/doc/ums" "$folder/doc"
    # umsrun, for Linux, needs share/ums; the rest of share is the part of a Linux package
    mv "$folder/share/ums" "$folder/ums"
    rm -r "$folder/share"
    mkdir "$folder/share"
    mv "$folder/ums" "$folder/share/ums"
    mv "$folder/doc/README.md" "$folder/doc/CHANGELOG.md" "$folder/doc/LICENSE" "$folder"
    mv "$folder/doc/samples" "$folder"
    mv "$folder/doc/docs" "$folder/docs"                # as README.md names it
    rmdir "$folder/doc"
    zip_folder "$folder" "$out/ums-$VERSION-win64.zip"
}

# ums, and ums-dev: by CPack, with debian/*.cmake
make_deb()
{
    command -v dpkg-deb > /dev/null || die 'dpkg-deb is missing: please install the package dpkg'
    for package in ums ums-dev; do
        rm -rf "$stage/deb"
        "$(dirname "$(readlink -f "$(command -v "$CMAKE")")")/cpack" -G DEB --config "$build/packaging/cpack-$package.cmake" \
            -B "$stage/deb" > "$stage/log" 2>&1 || die "cpack failed: $(tail -n 20 "$stage/log")"
        for deb in "$stage"/deb/*.deb; do
            mv "$deb" "$out"
            echo "$out/${deb##*/}"
        done
    done
}

# For a person with a Windows 11 and half an hour: one folder, programs beside their DLLs, one page.
make_win11()
{
    folder=$out/win11
    rm -rf "$folder"
    install_parts "$stage/win11" runtime
    mkdir "$folder"
    mv "$stage"/win11/bin/*.exe "$stage"/win11/bin/*.dll "$folder"
    cp "$packaging/win11/try.cmd" "$folder"
    cp "$source/conformance/oracle/WINDOWS11.md" "$folder/README.txt"
    cp "$source/LICENSE" "$folder/LICENSE.txt"
    # Windows' editors and its command interpreter want CR LF
    sed -i 's/$/\r/' "$folder/README.txt" "$folder/LICENSE.txt" "$folder/try.cmd"
    cp -r "$folder" "$stage/ums-$VERSION-win11"
    zip_folder "$stage/ums-$VERSION-win11" "$out/ums-$VERSION-win11.zip"
    echo "$folder"
}

case $what in
zip | deb | win11) make_"$what" ;;
all) make_zip && make_deb && make_win11 ;;
*)   die "$what: there is zip, deb, win11 and all" ;;
esac
