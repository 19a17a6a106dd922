#!/bin/sh
# host.sh BUILD WINERUN MAKE_HOST [TESTS...]: the folder dist/win11 on a host that answers as Windows 11 does. What its
# README.txt asks for gives the files that it asks for; and hosts that forbid something get a clear answer. TESTS: what
# try.cmd is told to run, by default a few. UMS_WINE, VERSION, CMAKE: from CTest.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
set -u
build=$1
winerun=$2
make_host=$3
shift 3
here=$(dirname "$(readlink -f "$0")")
. "$here/../lost_start.sh"
failed=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
unset UMS_LOG UMS_LOG_FILE UMS_HOOK UMS_ENGINE UMS_PARK
export UMS_TEST_OVERRIDES=kernel32=n,b UMSTEST_REQUIRE=1

"$here/../../packaging/release.sh" win11 "$build" "$tmp" > "$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
cd "$tmp/win11" || exit 1

host()
{
    "$winerun" "$make_host" kernel32.dll "$@" || exit 1
}

wrong()
{
    echo "$1:"
    cat "$tmp/out"
    failed=1
}

# expect STATUS WORDS COMMAND...
expect()
{
    want=$1 words=$2
    shift 2
    begin "$tmp/out" "$tmp/out" "$winerun" "$@"
    if [ $got != "$want" ] || ! grep -q "$words" "$tmp/out"; then
        wrong "$*: status $got, expected $want and \"$words\""
    fi
}

# ---- Windows 11, as far as its answers go ----
host no-ums
export UMS_HOOK=stubs UMS_ENGINE=handoff UMS_PARK=address
expect 1 'error 50' hello_ums.exe
expect 1 'has no User-Mode Scheduling (error 50)' umsdemo.exe
all=
if [ "${1-}" = --all ]; then
    all=1
    # but for those that other processes' threads are for (off)
    # shellcheck disable=SC2046
    set -- $(sed -n 's/^X( *\([a-z0-9_]*\),.*/\1/p' "$here/../../conformance/tests.list.h" | sort -u |
        grep -v '^scenario_foreign$')
fi
# completion_list kills workers in their parking places, which are on a list of the host's there (docs/wine.md)
[ $# -gt 0 ] || set -- types attributes completion_list execute yield
"$winerun" cmd /c try.cmd "$@" > "$tmp/out" 2>&1 || wrong 'try.cmd fails'
# not at the beginning of a line: Wine may have begun it with the error of a thread that was killed, which has no end of line
grep -q 'done: please send' "$tmp/out" || wrong 'try.cmd'
cat results/*.txt > "$tmp/out"
grep 'gave up after waiting' "$tmp/out" || true             # for CTest (wine.cmake)
[ "$(grep -c '^status 0' results/3-programs.txt)" = 2 ] || wrong '3-programs.txt: status'
grep -q 'system_ums=error-50 impl=system' results/1-system.txt || wrong '1-system.txt'
grep -q 'tick tock' results/3-programs.txt || wrong '3-programs.txt: hello_ums'
grep -q 'checksums ok' results/3-programs.txt || wrong '3-programs.txt: umsdemo'
grep -q 'active, engine=handoff hook=stubs park=address' results/3-log.txt || wrong '3-log.txt'
for file in 4-shim 5-bound; do
    grep -q '^status 0' results/$file.txt || wrong "$file.txt: status"
    grep -q 'system_ums=' results/$file.txt || wrong "$file.txt: host"
done
grep -q 'system_ums=error-50 impl=shim' results/4-shim.txt || wrong '4-shim.txt: host'
grep -q 'system_ums=works impl=bound' results/5-bound.txt || wrong '5-bound.txt: host'
[ -z "$all" ] || exit $failed

# ---- hosts that forbid something ----
unset UMS_HOOK UMS_ENGINE UMS_PARK
export UMS_LOG=info
host no-ums arm64
expect 2 'needs an x64 processor.*Arm64' umsrun.exe hello_ums.exe
host no-ums policy=2:1
expect 2 'Arbitrary Code Guard' umsrun.exe hello_ums.exe
host no-ums policy=15:17
expect 2 'strict shadow stacks' umsrun.exe hello_ums.exe
host no-ums policy=15:1
expect 0 'engine=handoff' umsrun.exe hello_ums.exe
expect 0 'because shadow stacks are on' umsrun.exe hello_ums.exe
UMS_ENGINE=carry expect 2 'shadow stacks are on' umsrun.exe hello_ums.exe
host no-ums policy=7:3
expect 0 'Control Flow Guard is on, exports are suppressed' umsrun.exe hello_ums.exe
exit $failed
