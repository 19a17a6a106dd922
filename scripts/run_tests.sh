# Sourced by ./check: runs CTest in $build, and the one start that Wine may lose again. Needs say.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later

# The tests that failed without a word, if no other has failed: where addresses are random Wine loses a start in
# thousands before the program has begun (docs/wine.md), and there are thousands. A time-out and a signal are nothing of
# the kind, and what ended with another status than Wine's has said so (winerun). No Wine starts in native tests.
native='^(white_box|model|fuzz|long\\.fuzz|exports|no_system_calls|docs|layers|mutations)(\\.|$)'
never_begun()
{
    sed -n 's/^ *[0-9]*\/[0-9]* Test *#[0-9]*: \([^ ]*\) \.*\*\*\*\([A-Za-z]*\).*/\1 \2/p' "$build/check.out" > "$build/check.ends"
    awk -v native="$native" '
         FILENAME != ARGV[2]                { if ($2 != "Skipped") { ends[$1] = $2; failed++ } next }
         /^[0-9]+\/[0-9]+ Testing: /         { name = $3; silent = 0 }
         /^Output:$/                         { getline; getline line; silent = line == "<end of output>" }
         /^Test Failed\.$/                   { if (silent && ends[name] == "Failed" && name !~ native) { count++; names = names "|" name } }
         END                                 { if (count && count == failed) print substr(names, 2) }' \
        "$build/check.ends" "$build/Testing/Temporary/LastTest.log"
}

# running: the tests that CTest has started and that have not ended, from its output
running()
{
    awk '$1 == "Start" && NF == 3             { runs[$3] = 1 }
         /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: /  { sub( /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: /, "" ); delete runs[$1] }
         END                                  { for (name in runs) names = names " " name; print substr(names, 2) }' "$1"
}

# tell_running: when CTest has said nothing for $silence seconds, because all that run are long
silence=40
tell_running()
{
    size=0 since=0
    while sleep 1 2> /dev/null; kill -0 $$ 2> /dev/null; do
        now=$(stat -c %s "$build/check.out" 2> /dev/null || echo 0)
        since=$((since + 1))
        if [ "$now" != "$size" ]; then
            size=$now since=0
        elif [ $((since % silence)) = 0 ]; then
            say "  still running after $since s: $(running "$build/check.out")"
        fi
    done
}

# without_lost_starts: a command before another one that puts its heap, and those of all that it starts, where Wine needs
# nothing. At a random address it covers one that Wine needs, once in thousands of starts (docs/wine.md). Prints nothing
# where that is forbidden, as in some containers.
without_lost_starts()
{
    if setarch -R true 2> /dev/null; then echo setarch -R; fi
}

# ctest_kept ARGUMENTS...: CTest, whose output is kept
ctest_kept()
{
    : > "$build/check.out"
    tell_running > /dev/null < /dev/null &
    teller=$!
    # shellcheck disable=SC2046
    { $(without_lost_starts) ctest --test-dir "$build" --output-on-failure --no-tests=error "$@" && echo 0 || echo $?; } \
        | tee "$build/check.out" | sed -u '$d'
    kill $teller 2> /dev/null || true
    wait $teller 2> /dev/null || true
    return "$(tail -n 1 "$build/check.out")"
}

# run_tests ARGUMENTS...: with status 0 if all have passed, and no more than one start was lost without a word, or one program
# killed after its end: here, or where it is made again at once (tests/lost_start.sh). What CreateProcess says with an error
# of its own (1359) cannot be taken for anything else, and there are three times as many such starts: three.
run_tests()
{
    lost=$build/lost_starts
    : > "$lost"
    export UMS_LOST_STARTS="$lost"
    status=0
    ctest_kept "$@" || status=$?
    again=
    [ $status != 8 ] || again=$(never_begun)
    [ -z "$again" ] || echo "$again" | tr '|' '\n' >> "$lost"
    [ -s "$lost" ] || return $status
    say "lost starts, and programs killed after their end: $(tr '\n' ' ' < "$lost")"
    if [ "$(grep -c -v '(error 1359)$' "$lost")" -gt 1 ] || [ "$(grep -c '(error 1359)$' "$lost")" -gt 3 ]; then
        say "so many is not explained by Wine (docs/wine.md): the run has failed"
        return 8
    fi
    if [ -n "$again" ]; then
        status=0
        ctest_kept -R "^($again)\$" || status=$?
    fi
    return $status
}
