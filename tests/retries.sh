#!/bin/sh
# retries.sh: what ./check makes of tests that fail without a word. Only a lost start is made again, and only one.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
top=$(dirname "$(dirname "$(readlink -f "$0")")")
. "$top/scripts/run_tests.sh"
failed=0
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT

say()
{
    echo "$*"
}

# expect STATUS STARTS WHAT: what CTest comes to with the tests that are on standard input, of which the one "counted" is
# started so often
expect()
{
    cat > "$build/CTestTestfile.cmake"
    rm -f "$build/starts"
    run_tests > "$build/said"
    got=$?
    starts=$(wc -l < "$build/starts")
    [ $got = "$1" ] && [ "$starts" = "$2" ] && return
    echo "$3: status $got, expected $1; $starts starts, expected $2"
    cat "$build/said"
    failed=1
}

count="echo >> $build/starts"
first="[ \$(wc -l < $build/starts) != 1 ]"     # 1 at the first start, 0 later

expect 0 2 'one lost start' << END
add_test(counted sh -c "$count; $first")
add_test(good true)
END
expect 8 1 'two lost starts' << END
add_test(counted sh -c "$count; $first")
add_test(second false)
END
expect 8 1 'one lost start, and another failure' << END
add_test(counted sh -c "$count; $first")
add_test(second sh -c "echo words; exit 1")
END
expect 8 2 'lost twice' << END
add_test(counted sh -c "$count; exit 1")
END
expect 8 1 'a time-out' << END
add_test(counted sh -c "$count; exec sleep 100")
set_tests_properties(counted PROPERTIES TIMEOUT 1)
END
expect 8 1 'a signal' << END
add_test(counted sh -c "$count; kill -SEGV \$\$")
END
expect 8 1 'another status, which winerun tells' << END
add_test(counted sh -c "$count; echo status 5; exit 5")
END
expect 0 1 'a script that made one start again' << END
add_test(counted sh -c "$count; . $top/tests/lost_start.sh; lost_start 1 /dev/null")
END
expect 8 1 'scripts that made two starts again' << END
add_test(counted sh -c "$count; . $top/tests/lost_start.sh; lost_start 1 /dev/null")
add_test(second sh -c ". $top/tests/lost_start.sh; lost_start 1 /dev/null")
END
expect 8 1 'a script where two starts are lost' << END
add_test(counted sh -c "$count; . $top/tests/lost_start.sh; lost_start 1 /dev/null; lost_start 1 /dev/null")
END
expect 8 1 'a script whose program ended with 2' << END
add_test(counted sh -c "$count; . $top/tests/lost_start.sh; lost_start 2 /dev/null || { echo words; exit 1; }")
END
exit $failed
