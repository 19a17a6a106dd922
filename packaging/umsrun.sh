#!/bin/sh
# umsrun [PROGRAM.exe [ARGUMENTS...]]: runs a 64-bit Windows program with User-Mode Scheduling, under Wine, and ends
# with its exit status. Without a program: the bundled demo. See umsrun(1).
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
set -eu
here=$(dirname "$(readlink -f "$0")")
. "$here/../share/ums/wine.sh"

case ${1-} in
-h | --help)
    sed -n 's/^# \{0,1\}//; 2,3p' "$0"
    exit 0
    ;;
esac
programs=$here
[ -e "$programs/umsrun.exe" ] || programs=$(readlink -f "$here/../lib/ums")
[ -e "$programs/umsrun.exe" ] || die "umsrun.exe is neither in $here nor in $programs; please install again"
command -v wine > /dev/null || die "Wine is missing; please install the package wine, with 64-bit support"

export WINEPREFIX="${WINEPREFIX:-$HOME/.wine}"
wine_environment
if is_prefix_command "$@"; then
    prefix_environment "$@"
    set -- "$1"
fi
make_prefix "${TMPDIR:-/tmp}/umsrun-wineboot.$$.log"
[ $# -gt 0 ] || set -- "$programs/umsdemo.exe"
exec wine "$programs/umsrun.exe" "$@"
