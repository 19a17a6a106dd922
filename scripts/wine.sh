# Sourced by umsrun, in the source tree and where it is installed, and by setup.sh: messages, umsrun's options, Wine's
# environment and its prefix. POSIX sh.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later

say()
{
    printf 'ums: %s\n' "$*" >&2
}

die()
{
    say "$@"
    exit 2
}

# first_file FOLDER NAMES...: the first of these that is a program in the folder
first_file()
{
    folder=$1
    shift
    for name in "$@"; do
        if [ -f "$folder/$name" ] && [ -x "$folder/$name" ]; then
            echo "$folder/$name"
            return
        fi
    done
}

# wine_in FOLDER: $wine and $server are those of a Wine's folder: an installed one, one that scripts/getwine unpacked, a
# Proton's or its files/, a build tree. The 64-bit loader comes first: the other one of an old Wine needs 32-bit libraries.
wine_in()
{
    root=$(cd "$1" 2> /dev/null && pwd -P) || die "--wine=$1: there is no such folder"
    wine=$(first_file "$root" wine64 bin/wine64 bin/wine files/bin/wine64 files/bin/wine dist/bin/wine64 wine)
    server=$(first_file "$root" wineserver bin/wineserver files/bin/wineserver dist/bin/wineserver server/wineserver)
    [ -n "$wine" ] || die "--wine=$1: neither wine64 nor wine is in this folder, nor in its bin or files/bin"
    [ -n "$server" ] || die "--wine=$1: $wine is there, and no wineserver; is its build finished?"
}

# choose_wine [FOLDER]: the Wine in that folder; else the one that WINE and WINESERVER name, or WINELOADER, as Proton and
# winetricks have it; else the machine's. Sets $wine and $server. Wine's programs start others by the same variables.
choose_wine()
{
    if [ $# -gt 0 ]; then
        wine_in "$1"
        unset WINELOADER
        export WINE="$wine" WINESERVER="$server"
        return
    fi
    wine=${WINE:-${WINELOADER:-wine}}
    server=wineserver
    case $wine in
    */*) server=$(first_file "${wine%/*}" wineserver server/wineserver) ;;
    esac
    server=${WINESERVER:-${server:-wineserver}}
    if [ "$wine" != wine ] && ! command -v "$wine" > /dev/null; then
        if [ -n "${WINE-}" ]; then name=WINE; else name=WINELOADER; fi
        die "$name=$wine: there is no such program"
    fi
}

# Quiet Wine. Where nothing says which language is spoken (ssh, cron, containers) Wine would take names of files for ASCII.
wine_environment()
{
    [ -n "${LC_ALL-}${LC_CTYPE-}${LANG-}" ] || export LC_CTYPE=C.UTF-8
    export WINEDEBUG="${WINEDEBUG--all}"
}

# The options are umsrun.exe's, which reads them; its text is usage.txt, here $usage. What has to be known before Wine
# starts is read here: what needs no Wine, the prefix, another launcher, and whether there is such an option at all. The
# sourcing script sets $usage and $version.
# shellcheck disable=SC2154
usage()
{
    cat "$usage"
}

wrong_usage()
{
    die "$*; see umsrun --help"
}

# is_option WORD: the text has it
is_option()
{
    grep -q -e "^ *umsrun $1\( \|\$\)" -e "| $1\( \|\$\)" "$usage"
}

# check_command ARGUMENTS...: answers what needs no Wine, and refuses what umsrun does not know before anything is made
check_command()
{
    case ${1-} in
    -h | --help)
        usage
        exit 0
        ;;
    --version)
        # shellcheck disable=SC2154
        echo "umsrun $version"
        exit 0
        ;;
    --) ;;
    -*) is_option "$1" || wrong_usage "$1: there is no such option" ;;
    esac
    if is_prefix_command "$@"; then read_prefix "$@"; fi
}

# is_prefix_command ARGUMENTS...: something is done to a whole prefix
is_prefix_command()
{
    case ${1-} in
    --*-prefix | --prefix-*) return 0 ;;
    esac
    return 1
}

# read_prefix OPTION [PREFIX] [--create]: prefix_named is PREFIX, or empty; create is 1, or empty
read_prefix()
{
    prefix_option=$1 prefix_named='' create=
    shift
    for word in "$@"; do
        case $word in
        --create)
            [ "$prefix_option" = --install-prefix ] || wrong_usage "--create is no option of $prefix_option"
            create=1
            ;;
        '' | -*) wrong_usage "$prefix_option '$word': this is not the name of a prefix" ;;
        *)
            [ -z "$prefix_named" ] || wrong_usage "$prefix_option takes one prefix; one with spaces needs quotes"
            prefix_named=$word
            ;;
        esac
    done
}

# is_windows_name NAME: of a program or a script that Wine starts
is_windows_name()
{
    case $1 in
    *.[eE][xX][eE] | *.[bB][aA][tT] | *.[cC][mM][dD] | *.[mM][sS][iI] | *.[lL][nN][kK]) return 0 ;;
    esac
    return 1
}

# is_launcher ARGUMENTS...: the first word is a program of Linux, and a later one names a Windows program. As in
#     umsrun wine game.exe        umsrun gamescope -- wine game.exe        umsrun %command%
is_launcher()
{
    case ${1-} in
    '' | -*) return 1 ;;
    esac
    ! is_windows_name "$1" && [ -x "$(command -v "$1")" ] || return 1
    case ${1##*/} in
    wine | wine64 | wine-*) return 0 ;;
    esac
    shift
    for word in "$@"; do
        if is_windows_name "$word"; then return 0; fi
    done
    return 1
}

# run_launcher UMSRUN.EXE ARGUMENTS...: starts it with UMSRUN.EXE in front of the Windows program, or, if no argument looks
# like one, in front of what Wine is asked to start. The prefix, the Wine and the environment are the launcher's matter.
run_launcher()
{
    ums=$1
    shift
    case $*:$ums in
    *entry-point*:/usr/*)
        die "Steam's container does not have $ums; please unpack the zip in your home directory and use its umsrun"
        ;;
    esac
    place=2 i=0
    for word in "$@"; do
        i=$((i + 1))
        if [ $i -gt 1 ] && is_windows_name "$word"; then
            place=$i
            break
        fi
    done
    count=$#
    i=0
    while [ $i -lt "$count" ]; do           # each word moves from the front to the end
        i=$((i + 1))
        [ $i != $place ] || set -- "$@" "$ums"
        set -- "$@" "$1"
        shift
    done
    exec "$@"
}

# is_prefix DIRECTORY. wineboot writes the first file, the wineserver the second, and that some seconds later.
is_prefix()
{
    [ -e "$1/.update-timestamp" ] || [ -e "$1/system.reg" ]
}

# choose_prefix DEFAULT ARGUMENTS...: WINEPREFIX is the prefix that they name, or what it was, or DEFAULT, by an absolute
# path: Wine takes no other. A prefix is worked on with Wine's own kernel32, whatever state it is in.
choose_prefix()
{
    prefix_name="WINEPREFIX=${WINEPREFIX:-$1}"
    export WINEPREFIX="${WINEPREFIX:-$1}"
    shift
    [ "${WINEARCH-}" != win32 ] || die 'WINEARCH=win32 means a 32-bit Wine, and UMS is for 64-bit programs; please unset it'
    if is_prefix_command "$@"; then
        [ -z "$prefix_named" ] || prefix_name="$1 $prefix_named"
        WINEPREFIX=${prefix_named:-$WINEPREFIX}
        export WINEDLLOVERRIDES="${WINEDLLOVERRIDES:+$WINEDLLOVERRIDES;}kernel32=b"
    fi
    [ -n "$WINEPREFIX" ] || die 'neither HOME nor WINEPREFIX is set; please set WINEPREFIX to the directory of a Wine prefix'
    case $WINEPREFIX in
    /*) ;;
    *)  WINEPREFIX=$PWD/$WINEPREFIX ;;
    esac
    [ -d "$WINEPREFIX" ] || [ ! -e "$WINEPREFIX" ] || die "$prefix_name: this is a file, and a Wine prefix is a directory"
    [ -O "$WINEPREFIX" ] || [ ! -e "$WINEPREFIX" ] || die "$prefix_name: this belongs to another user, and Wine takes only one's own"
    case ${1-} in
    --uninstall-prefix | --prefix-status) is_prefix "$WINEPREFIX" || die "$WINEPREFIX is no Wine prefix; name the directory that has system.reg" ;;
    --install-prefix)
        [ -z "$prefix_named" ] || [ -n "$create" ] || is_prefix "$WINEPREFIX" \
            || die "$WINEPREFIX is no Wine prefix; --create makes one there"
        ;;
    esac
}

# wines_kernel32: the file of the Wine that was chosen; empty if it cannot be found. A loader lies in Wine's lib/wine, in
# the bin beside its lib, or in a build tree.
wines_kernel32()
{
    real=$(readlink -f "$(command -v "$wine")") || return 0
    for folder in "${real%/*}/../lib" "${real%/*}/../lib64" "${real%/*}/.." "${real%/*}/../.." /usr/lib; do
        for file in "$folder"/wine/x86_64-windows/kernel32.dll "$folder"/*/wine/x86_64-windows/kernel32.dll; do
            if [ -f "$file" ]; then
                echo "$file"
                return
            fi
        done
    done
    file=${real%/*}/dlls/kernel32/x86_64-windows/kernel32.dll
    if [ -f "$file" ]; then echo "$file"; fi
}

# repair_prefix: a prefix without a kernel32.dll starts nothing, so umsrun.exe cannot help. umsrun.exe renames the old file
# before it moves the new one in; it may have been killed between the two.
repair_prefix()
{
    system32=$WINEPREFIX/drive_c/windows/system32
    if [ ! -d "$system32" ] || [ -e "$system32/kernel32.dll" ] || ! is_prefix "$WINEPREFIX"; then return; fi
    for file in "$system32"/kernel32.dll.ums-old*; do
        [ -f "$file" ] || continue
        mv "$file" "$system32/kernel32.dll" || die "$file: rename it to kernel32.dll, without which Wine starts nothing"
        say "$system32/kernel32.dll was missing; ${file##*/} is that file again"
        return
    done
    file=$(wines_kernel32)
    [ -n "$file" ] || die "$system32/kernel32.dll is missing, and Wine starts nothing without it; copy Wine's own file there"
    cp "$file" "$system32/kernel32.dll.new" && mv "$system32/kernel32.dll.new" "$system32/kernel32.dll" \
        || die "$system32/kernel32.dll is missing and cannot be written; copy $file there"
    say "$system32/kernel32.dll was missing; it is a copy of $file now"
}

# make_prefix: the one that choose_prefix chose, if it is not there. No window is shown, and there is no offer to download
# Mono or Gecko; that is for wineboot only, programs get the WINEDLLOVERRIDES of their user. What wineboot says is kept if
# it fails, in a file of a name that nobody can foresee: root runs this, too.
make_prefix()
{
    if grep -qs '^#arch=win32' "$WINEPREFIX/system.reg"; then
        die "the Wine prefix $WINEPREFIX is a 32-bit one, and UMS is for 64-bit programs; please set WINEPREFIX to another"
    fi
    if is_prefix "$WINEPREFIX"; then return; fi
    reason=$(mkdir -p "$WINEPREFIX" 2>&1) \
        || die "no Wine prefix can be made in $WINEPREFIX ($reason); please name a directory that can be written"
    boot_log=$(mktemp "${TMPDIR:-/tmp}/umsrun-wineboot.XXXXXX" 2>&1) \
        || die "$boot_log; please set TMPDIR to a directory that can be written"
    trap 'rm -f "$boot_log"; exit 2' HUP INT TERM
    say "making a Wine prefix in $WINEPREFIX"
    if ! DISPLAY='' WINEDLLOVERRIDES="${WINEDLLOVERRIDES:+$WINEDLLOVERRIDES;}mscoree,mshtml=" \
        "$wine" wineboot -i > "$boot_log" 2>&1 < /dev/null; then
        tail -n 5 "$boot_log" >&2
        die "wineboot failed; its last lines are above, all of them in $boot_log"
    fi
    rm -f "$boot_log"
    trap - HUP INT TERM
}
