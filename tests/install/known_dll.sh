#!/bin/sh
# known_dll.sh UMSRUN KNOWN_DLL: where a prefix keeps kernel32.dll in memory from its start on, as since Wine 11, umsrun
# --install-prefix takes effect when the wineserver has ended, and says so. --uninstall-prefix takes effect at once: without
# the setting Wine takes its own file for a section that is not its own [seen: 11.13]. KNOWN_DLL is that start for a Wine that
# does nothing of the kind.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
. "$(dirname "$0")/own_prefix.sh"
umsrun=$1 known_dll=$2
late="^  not yet: until the prefix's wineserver has ended, .* wineserver -k"

# restart: a new wineserver, which does not end with the last program, and what Wine 11 would do then
restart()
{
    "$top/scripts/winerun" --cleanup > /dev/null 2>&1
    WINEPREFIX=$dir/prefix-$wine "$server" -p600
    expect 0 'kept in memory' "$known_dll" kernel32.dll
}

# now STATUS WORDS OPTION, later STATUS WORDS OPTION: it takes effect at once, or does not
now()
{
    expect "$1" "$2" "$umsrun" "$3"
    grep -q 'wineserver' "$dir/out" && wrong "$3: says that it takes effect later"
}

later()
{
    expect "$1" "$2" "$umsrun" "$3"
    tr -d '\r' < "$dir/out" | grep -q "$late" || wrong "$3: does not say that it takes effect later"
}

restart
now 1 'UMS is not installed in it' --prefix-status
later 0 'every 64-bit program' --install-prefix
later 0 'UMS is installed in it' --prefix-status
restart
now 0 'UMS is installed in it' --prefix-status
now 0 'every 64-bit program' --install-prefix
now 0 "restored $dir/prefix-$wine" --uninstall-prefix
now 1 'UMS is not installed in it' --prefix-status
exit $failed
