#!/bin/sh
# patched.sh WINERUN PROGRAM: system-call stubs that other software has patched are called through, and named in the log;
# workers are not carried then. What is no stub and no jump is refused.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
. "$(dirname "$(readlink -f "$0")")/../lost_start.sh"
winerun=$1
program=$2
failed=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export UMS_HOOK=stubs UMS_LOG=info
unset UMS_PARK UMS_LOG_FILE

# expect STATUS WORDS KIND ENGINE [NAME]
expect()
{
    begin "$tmp/out" "$tmp/out" env UMS_ENGINE="$4" "$winerun" "$program" "$3" ${5:+"$5"}
    if [ $got != "$1" ] || ! grep -q "$2" "$tmp/out"; then
        echo "$3, UMS_ENGINE=$4: status $got, expected $1 and \"$2\":"
        cat "$tmp/out"
        failed=1
    fi
}

for kind in near far register; do
    expect 0 'NtDelayExecution of ntdll begins with a jump' $kind handoff
    expect 0 'active, engine=handoff hook=stubs' $kind auto
    expect 3 'NtDelayExecution of ntdll begins with a jump' $kind carry
done
# a call that is in no table of ours: only carriers need its stub
expect 0 'active, engine=handoff hook=stubs' near auto NtDisplayString
expect 3 'NtDisplayString of ntdll begins with a jump' near carry NtDisplayString
expect 3 'NtDelayExecution of ntdll is no system-call stub' odd auto
# a Wine that has none: as tests/inject/old_wine.sh finds it in Wine 5
UMS_HOOK=auto expect 3 'this is Wine [0-9.]*, whose ntdll has no system calls of a known kind' none auto
exit $failed
