#!/bin/sh
# retries.sh: what ./check makes of tests that fail without a word. Only a lost start is made again, and only one. What Wine
# killed after its end is never started again: its report counts, or it has failed.
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

if setarch -R true 2> /dev/null; then
    expect 0 1 'a start at fixed addresses' << END
add_test(counted sh -c "$count; [ \$((0x\$(cat /proc/self/personality) & 0x40000)) != 0 ]")
END
fi
expect 0 2 'one lost start' << END
add_test(counted sh -c "$count; $first")
add_test(good true)
END
expect 8 1 'a native test that says nothing' << END
add_test(counted sh -c "$count")
add_test(white_box.some sh -c "[ -e $build/once ] || { : > $build/once; exit 1; }")
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
set_tests_properties(counted PROPERTIES TIMEOUT 5)
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

# told COUNT: a program that has made so many starts again and said so, as umsrun and umstest do
told()
{
    for i in $(seq "$1"); do printf 'echo x: a start was lost \\(error 1359\\), it is made again; '; done
}

for number in 3 4; do
    printf '#!/bin/sh\n%s\n' "$(told $number)" > "$build/program"
    chmod +x "$build/program"
    expect $((number == 3 ? 0 : 8)) 1 "$number starts that a program has made again" << END
add_test(counted sh -c "$count; . $top/tests/lost_start.sh; lost_start 1 /dev/null")
add_test(second env UMS_TELL=1 UMS_WINE=host UMS_BUILD=$build WINE=$build/program WINESERVER=true $top/scripts/winerun a.exe)
END
    expect $((number == 3 ? 0 : 8)) 1 "$number starts that a program of a script has made again" << END
add_test(counted sh -c "$count")
add_test(second sh -c ". $top/tests/lost_start.sh; begin out err $build/program; test ! -s out")
END
done

# program COUNT FIRST: a program whose first starts, so many, come to FIRST; it prints a line then
program()
{
    printf '#!/bin/sh\necho >> %s/runs\n[ $(wc -l < %s/runs) -gt %s ] || { %s; }\necho words\n' "$build" "$build" "$1" "$2" \
        > "$build/program"
    chmod +x "$build/program"
    rm -f "$build/runs"
}

# runs COUNT WHAT: so often that program ran
runs()
{
    [ "$(wc -l < "$build/runs")" = "$1" ] && return
    echo "$2: $(wc -l < "$build/runs") starts of the program, expected $1"
    failed=1
}

begins="echo begun; . $top/tests/lost_start.sh; begin out err $build/program; test \$got = 0 && grep words out"
in_python="import subprocess, sys
sys.path.insert(0, '$top/tests')
import lost_start
pipe = subprocess.PIPE
process, out, err = lost_start.WAY(lambda: subprocess.Popen('$build/program', stdout=pipe, stderr=pipe, text=True)) + TUPLE
print(process.args, out)
sys.exit(bool(out.strip() != 'words'))"
echo "$in_python" | sed "s/WAY/finish/; s/ + TUPLE//; s/'words'/'words' or process.returncode/" > "$build/finish.py"
echo "$in_python" | sed "s/WAY/begin/; s/TUPLE/('',)/" > "$build/begin.py"
for script in "sh -c \"$begins\"" "python3 $build/finish.py" "python3 $build/begin.py"; do
    for count_lost in 1 2; do
        program $count_lost 'exit 1'
        expect $((count_lost == 1 ? 0 : 8)) 1 "$count_lost lost starts: $script" << END
add_test(counted sh -c "$count")
add_test(second $script)
END
        runs 2 "$count_lost lost starts: $script"
    done
done

# killed STATUS SAYS [OTHER]: a program says this and is killed; it is not started again
winerun="env UMS_TELL=1 UMS_WINE=host UMS_BUILD=$build WINE=$build/program WINESERVER=true $top/scripts/winerun a.exe"
killed()
{
    for script in "$winerun" "sh -c \"echo begun; . $top/tests/lost_start.sh; begin out err $build/program; exit \$got\""; do
        program 1 "printf '$2'; kill -KILL \$\$"
        expect "$1" 1 "killed after $2: $script" << END
add_test(counted sh -c "$count; ${3-}")
add_test(second $script)
END
        runs 1 "killed after $2: $script"
    done
}

good='# tests 3: 2 passed, 0 failed, 1 skipped; checks 9 (0 failed)\n'
killed 0 "$good"
killed 0 "$good# switches: 5 carried, 6 sent home\n"
killed 0 '9 checks, 0 failed\r\n'
killed 8 'FAIL (checks) a: 3 checks, 1 failed\n# tests 3: 2 passed, 1 failed, 0 skipped\n'
killed 8 '# tests 3: 0 passed, 0 failed, 3 skipped\n'
killed 8 "$good# FAIL: the engine is carry, and has carried nobody\n"
killed 8 "no test or group \"b\"\n$good"
killed 8 '9 checks, 2 failed\r\n'
killed 8 '0 checks, 0 failed\r\n'
killed 8 "$good" ". $top/tests/lost_start.sh; lost_start 1 /dev/null"
for script in "$winerun" "sh -c \"$begins\"" "python3 $build/finish.py"; do
    for says in '' 'echo words;'; do
        program 1 "$says kill -KILL \$\$"
        expect 8 1 "killed after [$says]: $script" << END
add_test(counted sh -c "$count")
add_test(second $script)
END
        runs 1 "killed after [$says]: $script"
    done
done
program 9 "printf '$good'; kill -KILL \$\$"
expect 8 1 'two programs killed' << END
add_test(counted sh -c "$count")
add_test(second $winerun)
add_test(third $winerun)
END
runs 2 'two programs killed'
program 1 'sleep 100'
expect 8 1 'a program that stands still' << END
add_test(counted sh -c "$count")
add_test(second $winerun)
set_tests_properties(second PROPERTIES TIMEOUT 5)
END
runs 1 'a program that stands still'
program 1 'kill -SEGV $$'
expect 8 1 'a program with another signal' << END
add_test(counted sh -c "$count")
add_test(second $winerun)
END
runs 1 'a program with another signal'
exit $failed
