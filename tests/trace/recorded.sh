#!/bin/sh
# recorded.sh STRESS UMSTRACE: a random load of the core, its trace, and what has to hold for that.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$1" "${3-1}" 100 "$folder/trace.json" > "$folder/counts" || { echo "status $?:"; cat "$folder/counts"; exit 1; }
cat "$folder/counts"
"$2" --check "$folder/trace.json"
executed=$(sed -n 's/.*ended, \([0-9]*\) executes.*/\1/p' "$folder/counts")
"$2" --json "$folder/trace.json" > "$folder/summary"
grep -q "\"executed\": $executed,\$" "$folder/summary" || { echo "not $executed executes"; exit 1; }
grep -q '"lost": 0,$' "$folder/summary" || { echo "events are lost"; exit 1; }
