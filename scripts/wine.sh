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

# Quiet Wine: no debug output, no offer to download Mono or Gecko. Where nothing says which language is spoken (ssh, cron,
# containers) Wine would take names of files for ASCII.
wine_environment()
{
    [ -n "${LC_ALL-}${LC_CTYPE-}${LANG-}" ] || export LC_CTYPE=C.UTF-8
    export WINEDEBUG="${WINEDEBUG--all}"
    export WINEDLLOVERRIDES="${WINEDLLOVERRIDES:+$WINEDLLOVERRIDES;}mscoree,mshtml="
}

usage()
{
    cat << 'END'
usage: umsrun [PROGRAM.exe [ARGUMENTS...]]  run a 64-bit Windows program with User-Mode Scheduling, under Wine;
                                            without a program: the bundled demo
       umsrun --info                        what serves a program here, and why; tries it, status 0 if it works
       umsrun --top [PID]                   counts of a program that was started with UMS_HUD=1 or UMS_HUD=quiet
       umsrun --install PROGRAM.exe [--output COPY.exe | --in-place] [--dlls DIR]
                                            make PROGRAM_ums.exe, COPY.exe or the file itself need no umsrun
       umsrun --uninstall PROGRAM.exe       make it again what it was
       umsrun --status PROGRAM.exe          0: it has the shim, 1: it has not, 2: something is wrong
       umsrun --install-prefix [PREFIX]     every 64-bit program of a Wine prefix needs no umsrun
       umsrun --uninstall-prefix [PREFIX]   make it again what it was
       umsrun --prefix-status [PREFIX]      0, 1 and 2 as for --status
       umsrun --version | --help            that, and this
--wine=FOLDER before all that: not the machine's Wine, but the one in that folder (a Proton's works too).
END
}

# wrong_usage WORDS...: says them, and how it is done
wrong_usage()
{
    say "$@"
    usage >&2
    exit 2
}

# check_command ARGUMENTS...: answers what needs no Wine, and refuses what umsrun does not know before anything is made. A
# program whose name begins with - is ./-NAME. The sourcing script sets $version.
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
    --info)
        [ $# = 1 ] || wrong_usage '--info is about this machine and its Wine; UMS_LOG=info umsrun PROGRAM.exe is about a program'
        ;;
    --install-prefix | --uninstall-prefix | --prefix-status)
        [ $# -le 2 ] || wrong_usage "$1 takes one prefix; one with spaces needs quotes"
        case ${2-none} in
        '' | -*) wrong_usage "$1 '$2': this is no name of a prefix" ;;
        esac
        ;;
    --install | --uninstall | --status | --top) ;;
    -*) wrong_usage "$1: there is no such option" ;;
    esac
}

# is_prefix_command ARGUMENTS...: something is done to a whole prefix
is_prefix_command()
{
    case ${1-} in
    --install-prefix | --uninstall-prefix | --prefix-status) return 0 ;;
    esac
    return 1
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
        [ $# = 1 ] || prefix_name="$1 $2"
        WINEPREFIX=${2-$WINEPREFIX}
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
    --uninstall-prefix | --prefix-status) is_prefix "$WINEPREFIX" || die "$WINEPREFIX is no Wine prefix" ;;
    esac
}

# make_prefix: the one that choose_prefix chose, if it is not there. No window is shown. What wineboot says is kept if it
# fails, in a file of a name that nobody can foresee: root runs this, too.
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
    if ! DISPLAY='' "$wine" wineboot -i > "$boot_log" 2>&1 < /dev/null; then
        tail -n 5 "$boot_log" >&2
        die "wineboot failed; its last lines stand above, all are in $boot_log"
    fi
    rm -f "$boot_log"
    trap - HUP INT TERM
}
