#!/bin/sh
# skips.sh UMSTEST: whoever runs the suite and requires UMS has a skip that nobody expects as a failure: soak, mutate, matrix
# and scripts, which name no test that may skip. Others have it as a skip.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
run=$(readlink -f "$(dirname "$0")/../scripts/winerun")
. "$(dirname "$0")/lost_start.sh"
umstest=$1
failed=0
out=$(mktemp)
trap 'rm -f "$out"' EXIT
unset UMSTEST_REQUIRE UMSTEST_MAY_SKIP

# expect STATUS WORDS SETTINGS... TEST
expect()
{
    status=$1 words=$2
    shift 2
    begin "$out" "$out" env "$@"
    if [ $got = "$status" ] && grep -q "$words" "$out"; then return; fi
    echo "$*: status $got, expected $status and [$words]:"
    cat "$out"
    failed=1
}

expect 0 '^PASS bad_skip: .* 1 skipped' "$run" "$umstest" --impl=shim bad_skip
expect 1 'FAIL (a skip that nobody expects) bad_skip' UMSTEST_REQUIRE=1 "$run" "$umstest" --impl=shim bad_skip
expect 0 '^PASS bad_skip' UMSTEST_REQUIRE=1 UMSTEST_MAY_SKIP=other,bad_skip "$run" "$umstest" --impl=shim bad_skip
# each of these is a test
names=0
for name in $(sed -n 's/^\([a-z0-9_]*\) .*/\1/p' "$(dirname "$0")/../conformance/may_skip"); do
    names=$((names + 1))
    grep -q "^X( *[a-z0-9_]*, *$name," "$(dirname "$0")/../conformance/tests.list.h" || { echo "$name is no test"; failed=1; }
done
[ $names -gt 2 ] || { echo "only $names names in may_skip"; failed=1; }
exit $failed
