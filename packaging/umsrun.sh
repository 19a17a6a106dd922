#!/bin/sh
# umsrun [PROGRAM.exe [ARGUMENTS...]]: runs a 64-bit Windows program with User-Mode Scheduling, under Wine, and ends
# with its exit status. Without a program: the bundled demo. See umsrun(1).
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
set -eu
here=$(dirname "$(readlink -f "$0")")
if [ ! -e "$here/../share/ums/wine.sh" ]; then
    echo "ums: $here/../share/ums/wine.sh is missing; umsrun works only where its package is installed" >&2
    exit 2
fi
. "$here/../share/ums/wine.sh"

# shellcheck disable=SC2034
usage=$here/../share/ums/usage.txt
# shellcheck disable=SC2034
version=@PROJECT_VERSION@
folder=
case ${1-} in
--wine=*)
    folder=${1#--wine=}
    [ -n "$folder" ] || wrong_usage "--wine= needs a Wine's folder"
    shift
    ;;
esac
check_command "$@"
choose_wine ${folder:+"$folder"}
programs=$here
[ -e "$programs/umsrun.exe" ] || programs=$(readlink -f "$here/../lib/ums")
[ -e "$programs/umsrun.exe" ] || die "umsrun.exe is neither in $here nor in $programs; please install again"
if is_launcher "$@"; then run_launcher "$programs/umsrun.exe" "$@"; fi
command -v "$wine" > /dev/null || die "Wine is missing; please install the package wine, with 64-bit support"

wine_environment
choose_prefix "${HOME:+$HOME/.wine}" "$@"
if is_prefix_command "$@"; then
    repair_prefix
    set -- "$1"
fi
make_prefix
exec "$wine" "$programs/umsrun.exe" "$@"
