#!/bin/sh
# status.sh UMSRUN STATUS: exit codes and standard handles go through umsrun.exe.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
run=$(dirname "$0")/../../scripts/winerun
failed=0

for want in 0 1 3 255; do
    "$run" "$1" "$2" $want
    got=$?
    [ $got = $want ] || { echo "status $got, expected $want"; failed=1; }
done

got=$(echo hello | "$run" "$1" "$2" | tr -d '\r')
[ "$got" = 'got hello' ] || { echo "output [$got]"; failed=1; }
exit $failed
