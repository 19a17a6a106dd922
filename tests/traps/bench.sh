#!/bin/sh
# bench.sh LIBRARY UMSRUN UMSBENCH: a short benchmark under the traps. Its Linux calls are not killed, and by the engine that
# UMS_ENGINE names workers are carried, or are not; where carry carries nobody it ends with 1 and prints no figure.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
library=$1 umsrun=$2 umsbench=$3
. "$(dirname "$0")/common.sh"

case $UMS_ENGINE in
carry)   switches='[1-9][0-9]*' ;;
handoff) switches=0 ;;
esac

samples=$(mktemp)
trap 'rm -f "$out" "$samples"' EXIT
trapped filter,dispatch,fiber "$run" "$umsrun" "$umsbench" --batches=1 --save="Z:$samples" trip
[ $got = 0 ] || wrong "round trips: status $got"
cat "$samples" >> "$out"
said 'round trips' '^trip.yield1  *ns ' "^switches.carried  *$switches\.000"
exit $failed
