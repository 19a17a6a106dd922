# Sourced by umsrun, in the source tree and where it is installed, and by setup.sh: messages, Wine's environment and its
# prefix. POSIX sh.
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

# Quiet Wine: no debug output, no offer to download Mono or Gecko.
wine_environment()
{
    export WINEDEBUG="${WINEDEBUG--all}"
    export WINEDLLOVERRIDES="${WINEDLLOVERRIDES:+$WINEDLLOVERRIDES;}mscoree,mshtml="
}

# make_prefix LOG: the one that WINEPREFIX names, if it is not there. No window is shown.
make_prefix()
{
    if grep -qs '^#arch=win32' "$WINEPREFIX/system.reg"; then
        die "the Wine prefix $WINEPREFIX is a 32-bit one, and UMS is for 64-bit programs; please set WINEPREFIX to another"
    fi
    if [ -e "$WINEPREFIX/.update-timestamp" ] || [ -e "$WINEPREFIX/system.reg" ]; then return; fi
    say "making a Wine prefix in $WINEPREFIX"
    mkdir -p "$WINEPREFIX" || die "cannot make $WINEPREFIX; please set WINEPREFIX to a directory that can be written"
    DISPLAY='' wine wineboot -i >> "$1" 2>&1 < /dev/null || die "wineboot failed (see $1)"
}

# is_prefix_command ARGUMENTS...: something is done to a whole prefix
is_prefix_command()
{
    case ${1-} in
    --install-prefix | --uninstall-prefix | --prefix-status) return 0 ;;
    esac
    return 1
}

# prefix_environment COMMAND [PREFIX]: umsrun.exe itself runs with Wine's own kernel32, whatever state that prefix is in
prefix_environment()
{
    [ $# -le 2 ] || die "usage: umsrun $1 [PREFIX]"
    if [ $# = 2 ]; then
        [ "$1" = --install-prefix ] || [ -e "$2/system.reg" ] || die "$2 is no Wine prefix"
        WINEPREFIX=$(readlink -m "$2")
        export WINEPREFIX
    fi
    export WINEDLLOVERRIDES="${WINEDLLOVERRIDES:+$WINEDLLOVERRIDES;}kernel32=b"
}
