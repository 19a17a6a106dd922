# Sourced by umsrun and check: what they need from the machine, the build, the Wine prefix. POSIX sh.
# The sourcing script sets $top. Sets nothing up twice; one line on standard error for each thing that is installed or built,
# and how far that is while it lasts.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later

# shellcheck disable=SC2154
build=$top/build
log=$build/setup.log
. "$top/scripts/wine.sh"
. "$top/scripts/progress.sh"

# try_logged COMMAND...: its output goes to the log, and its last line to the user while it runs
try_logged()
{
    printf '\n$ %s\n' "$*" >> "$log"
    with_progress "$log" '' "$@"
}

# run_logged COMMAND...: the same; the log's end is shown if it fails
run_logged()
{
    if try_logged "$@"; then return 0; fi
    tail -n 30 "$log" >&2
    return 1
}

# Only one at a time sets up: lock ... unlock. What stays running must not inherit file 9: 9>&-.
lock()
{
    mkdir -p "$build"
    exec 9> "$build/.lock"
    flock 9
}

unlock()
{
    exec 9>&-
}

# has COMMAND | has /PATH
has()
{
    case $1 in
    /*) [ -e "$1" ] ;;
    *)  command -v "$1" > /dev/null ;;
    esac
}

# to_fetch PACKAGES...: how much that is, as apt says it, and how long it usually takes
to_fetch()
{
    size=$(LC_ALL=C apt-get -q --assume-no --no-install-recommends install "$@" 2> /dev/null < /dev/null \
        | sed -n 's/^Need to get \([^/]*\)[ /].*of archives.*/\1/p')
    case $size in
    '')                         ;;
    [0-9][0-9][0-9]*\ MB | *GB) echo ": $size to fetch, usually a minute or two" ;;
    *)                          echo ": $size to fetch, usually some seconds" ;;
    esac
}

# need COMMAND-OR-PATH:PACKAGE[,PACKAGE]...: installs the packages of what is missing
need()
{
    missing=
    for pair in "$@"; do
        has "${pair%%:*}" || missing="$missing $(echo "${pair#*:}" | tr , ' ')"
    done
    [ -n "$missing" ] || return 0
    command -v apt-get > /dev/null || die "please install:$missing"
    [ "$(id -u)" = 0 ] || die "please install, as root: apt-get install$missing"

    export DEBIAN_FRONTEND=noninteractive
    if [ -z "${updated-}" ]; then
        say 'asking Debian for its lists of packages: usually 5 seconds'
        run_logged apt-get -q update || say "apt-get update failed; trying with what is known"
        updated=1
    fi
    # shellcheck disable=SC2086
    say "installing$missing$(to_fetch $missing)"
    # shellcheck disable=SC2086
    run_logged apt-get -qy -o DPkg::Lock::Timeout=120 install --no-install-recommends $missing \
        || die "apt-get could not install$missing (see $log)"
}

# own_prefix: the Wine prefix of this tree for $wine. A prefix that a newer Wine has seen is no longer an older one's.
own_prefix()
{
    case $wine in
    wine)   echo "$build/prefix" ;;
    *)      echo "$build/prefix-$(echo "$wine" | cksum | cut -d ' ' -f 1)" ;;
    esac
}

need_wine()
{
    [ "$wine" != wine ] || need wine:wine,wine64
}

# to make packages, and to test them and the headers
need_packagers()
{
    need zip:zip unzip:unzip pkg-config:pkg-config man:man-db clang:clang
}

need_compiler()
{
    need x86_64-w64-mingw32-gcc:gcc-mingw-w64-x86-64 x86_64-w64-mingw32-g++:g++-mingw-w64-x86-64-win32 \
        cmake:cmake ninja:ninja-build
}

# for the tests with windows
need_display()
{
    need Xvfb:xvfb
}

# for the native tests
need_native_compiler()
{
    need gcc:gcc,libc6-dev /usr/include/cmocka.h:libcmocka-dev spin:spin
}

# to build the DLLs as modules of Wine
need_wine_tools()
{
    need winegcc:wine64-tools /usr/include/wine/wine/windows/winternl.h:libwine-dev
}

# for umstrace and its tests
need_python()
{
    need python3:python3
}

# for the test of a process that is traced
need_tracer()
{
    need strace:strace
}

# for the long test of the packages
need_lintian()
{
    need lintian:lintian
}

# for the long test of umstrace's page
need_browser()
{
    need chromium:chromium
}

# configure [CMAKE-ARGUMENTS...]
configure()
{
    run_logged cmake -G Ninja -S "$top" -B "$build" -DCMAKE_TOOLCHAIN_FILE="$top/toolchain-mingw.cmake" "$@" \
        || die "cmake failed (see $log)"
}

# compile [TARGETS...]: $build_time is how long it usually takes
compile()
{
    : > "$build/build.log"
    if with_progress "$build/build.log" "building into $build: $build_time" ninja -C "$build" "$@"; then return 0; fi
    tail -n 30 "$build/build.log" >&2
    die "the build failed (see $build/build.log)"
}
