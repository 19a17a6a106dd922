#!/bin/sh
# storms.sh WINERUN UMSRUN.exe SIGNALS.exe SECONDS STORM...: runs each storm for so long, with SIGNALS_SEED (1).
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
set -eu
run=$1 umsrun=$2 signals=$3 seconds=$4
shift 4
for storm in "$@"; do
    "$run" "$umsrun" "$signals" "$storm" "$seconds" "${SIGNALS_SEED:-1}"
done
