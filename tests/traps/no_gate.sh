#!/bin/sh
# no_gate.sh LIBRARY UMSRUN UMSINFO: where no way to make a Linux call is found, none is made: who made one would be killed. All
# works the plain way, and one line says why.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
library=$1 umsrun=$2 umsinfo=$3
. "$(dirname "$0")/common.sh"
unset UMS_ENGINE UMS_HOOK

why='libc has no plain system call where one is looked for'
trapped filter,nogate UMS_LOG=info "$run" "$umsrun" "$umsinfo"
[ $got = 0 ] || wrong "status $got"
said 'no gate' "^park  *not futex: $why\$" '^park  *address: ' "^engine  *not carry: .*$why\$" '^engine  *handoff: ' \
    '^self-test  *passed' '^switches  *0 carried, [1-9][0-9]* sent home$' "^ums: .*engine handoff, because .*$why"
[ "$(grep -c '^ums: .*because' "$out")" = 1 ] || wrong 'not one line that says why'
exit $failed
