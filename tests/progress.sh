#!/bin/sh
# progress.sh: ./umsrun and ./check are not silent while something takes long, and say nothing of what is quick: on a
# terminal, and where there is none.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
top=$(dirname "$(dirname "$(readlink -f "$0")")")
failed=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

wrong()
{
    echo "$*"
    cat "$tmp/said"
    failed=1
}

# said REGEX | unsaid REGEX
said()   { grep -q -e "$1" "$tmp/said" || wrong "it does not say $1"; }
unsaid() { ! grep -q -e "$1" "$tmp/said" || wrong "it says $1"; }

# A builder that waits at its third step of nine until somebody has seen it there, or for 30 seconds
cat > "$tmp/slow" << 'END'
#!/bin/sh
printf '[1/9] one\n[2/9] two\n[3/9] three'
i=0
until grep -q '3/9' "$1" || [ $i = 300 ]; do sleep 0.1; i=$((i + 1)); done
printf '\nlast words\n'
exit 3
END
cat > "$tmp/run" << 'END'
#!/bin/sh
. "$1/scripts/wine.sh"
. "$1/scripts/progress.sh"
progress_every=2
: > "$2/log"
with_progress "$2/log" 'it is slow' sh "$2/slow" "$2/said"
echo "status $?" >&2
with_progress "$2/log" 'it is quick' echo quick
END
sh "$tmp/run" "$top" "$tmp" 2> "$tmp/said"
said '^ums: it is slow$'
said '^ums:   [0-9]* s: \[3/9\] three$'
said '^status 3$'
unsaid 'quick'
grep -q 'last words' "$tmp/log" && grep -q quick "$tmp/log" || wrong 'the log lacks what the commands have said'

# the same where there is a terminal: one line, which is empty at the end
: > "$tmp/said"
python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' sh "$tmp/run" "$top" "$tmp" > "$tmp/said" < /dev/null
said 's: \[3/9\] three'
[ "$(grep -c three "$tmp/said")" = 1 ] || wrong 'more than one line on a terminal'
said 'status 3'
unsaid 'quick'

# CTest whose tests all are long
. "$top/scripts/wine.sh"
. "$top/scripts/run_tests.sh"
# shellcheck disable=SC2034
build=$tmp/tests silence=1
mkdir "$build"
: > "$tmp/said"
cat > "$build/CTestTestfile.cmake" << END
add_test(short true)
add_test(long.one sh -c "i=0; until grep -q long.one $tmp/said || [ \$i = 300 ]; do sleep 0.1; i=\$((i + 1)); done")
END
run_tests > "$tmp/out" 2> "$tmp/said" || wrong "the tests: $(cat "$tmp/out")"
said '^ums:   still running after [0-9]* s: long.one$'
exit $failed
