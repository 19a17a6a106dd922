#!/bin/sh
# set.sh LIBRARY RAW: the traps are set, so that what passes with them has passed for a reason.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
library=$1 raw=$2
. "$(dirname "$0")/common.sh"

# 159: 128 + SIGSYS
for traps in filter dispatch; do
    trapped $traps "$run" "$raw"
    [ $got = 159 ] || wrong "$traps: status $got, not SIGSYS"
done
trapped fiber,nogate "$run" "$raw"
[ $got = 0 ] || wrong "no trap for calls: status $got"
said 'fiber' '^FiberData 0*1e00$' '^alive, '
exit $failed
