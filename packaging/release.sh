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
    mv "$folder/share/ums/umstrace.html" "$folder/bin"
    mv "$folder/share/doc/ums" "$folder/doc"
    rm "$folder/bin/umsrun"                             # with share, the part of a Linux package
    rm -r "$folder/share"
    mv "$folder/doc/README.md" "$folder/doc/CHANGELOG.md" "$folder/doc/LICENSE" "$folder"
    mv "$folder/doc/samples" "$folder"
    mv "$folder/doc/docs" "$folder/docs"                # as README.md names it
    rmdir "$folder/doc"
    zip_folder "$folder" "$out/ums-$VERSION-win64.zip"
}

# write_deb PACKAGE ARCHITECTURE: from the folder deb, with what Debian's policy wants of every package
write_deb()
{
    root=$stage/deb
    doc=$root/usr/share/doc/$1
    mkdir -p "$doc" "$root/DEBIAN"
    cp "$packaging/debian/copyright" "$doc/copyright"
    # a native package's changelog has Debian's form; ours comes beside it
    { printf 'ums (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md of the package ums.\n\n' "$VERSION"
      printf ' -- the UMS shim authors <ums@localhost>  %s\n' "$(date -R -d "@$SOURCE_DATE_EPOCH")"; } > "$doc/changelog"
    gzip -9n "$doc/changelog"
    if [ -e "$packaging/debian/$1.lintian-overrides" ]; then
        mkdir -p "$root/usr/share/lintian/overrides"
        cp "$packaging/debian/$1.lintian-overrides" "$root/usr/share/lintian/overrides/$1"
    fi
    size=$(find "$root/usr" -type f -printf '%s\n' | awk '{ sum += int(($1 + 1023) / 1024) } END { print sum }')
    sed -e "s/@VERSION@/$VERSION/; s/@SIZE@/$size/" "$packaging/debian/$1.control" > "$root/DEBIAN/control"
    (cd "$root" && find usr -type f | sort | xargs -d '\n' md5sum) > "$root/DEBIAN/md5sums"
    settle "$root"
    deb=$out/$1_${VERSION}_$2.deb
    dpkg-deb --root-owner-group -Zxz --threads-max=1 --build "$root" "$deb" > "$stage/log" 2>&1 \
        || die "dpkg-deb failed: $(cat "$stage/log")"
    rm -r "$root"
    echo "$deb"
}

# ums: what runs programs. What is a Windows program goes to /usr/lib/ums, where umsrun looks.
# ums-dev: what mingw-w64's compilers find without being told, as Debian's own packages for them have it.
make_deb()
{
    command -v dpkg-deb > /dev/null || die 'dpkg-deb is missing: please install the package dpkg'
    usr=$stage/deb/usr
    install_parts "$usr" runtime documentation
    mkdir -p "$usr/lib/ums"
    mv "$usr"/bin/*.exe "$usr"/bin/*.dll "$usr/lib/ums"
    rm "$usr/share/doc/ums/LICENSE"                         # Debian has it in common-licenses
    gzip -9n "$usr/share/doc/ums/CHANGELOG.md" "$usr"/share/man/man1/*.1
    ln -s umsrun "$usr/share/bash-completion/completions/umstrace"      # bash looks a command up by its own name
    write_deb ums amd64

    install_parts "$usr/x86_64-w64-mingw32" runtime development
    mkdir -p "$usr/share/doc/ums-dev"
    # the CMake package knows where the two DLLs are, and who builds a program needs them beside it
    find "$usr/x86_64-w64-mingw32/bin" -type f ! -name 'kernel32_ums.dll' ! -name 'ntdll_ums.dll' -delete
    mv "$usr/x86_64-w64-mingw32/share/doc/ums/samples" "$usr/share/doc/ums-dev/examples"
    rm -r "$usr/x86_64-w64-mingw32/share"
    write_deb ums-dev all
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
