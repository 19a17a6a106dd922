# Sourced by setup.sh and run_tests.sh: what takes long shows how far it is. On a terminal that is one line, written over
# once a second; elsewhere (CI, a file) a line from time to time. Needs say. POSIX sh.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later

progress_every=20           # seconds between two lines where there is no terminal; a minute of silence is too long

# last_line FILE: what a command has said last, cut to a line: the builder's count, apt's "Get:12", a test's name
last_line()
{
    tail -c 2000 "$1" 2> /dev/null | tr '\r' '\n' | tr -d '\000-\010\013-\037' | grep '[^ ]' | tail -n 1 | cut -c1-60
}

# tell FILE WORDS: what FILE's last line is, until this process is killed or the script has ended. WORDS are said after the
# first second, so nothing is said of what is done in less.
tell()
{
    seconds=0
    while sleep 1 2> /dev/null; kill -0 $$ 2> /dev/null; do
        seconds=$((seconds + 1))
        [ -z "$2" ] || [ $seconds != 1 ] || say "$2"
        if [ -t 2 ]; then
            printf '\r\033[K  %d s: %s' $seconds "$(last_line "$1")" >&2
        elif [ $((seconds % progress_every)) = 0 ]; then
            say "  $seconds s: $(last_line "$1")"
        fi
    done
}

# with_progress FILE WORDS COMMAND...: runs it with standard output and standard error to the end of FILE, tells how far it
# is, and returns its status. File 9 is the lock of setup.sh, and must not stay open in what may live longer.
with_progress()
{
    progress_file=$1
    tell "$1" "$2" > /dev/null < /dev/null 9>&- &
    teller=$!
    shift 2
    told=0
    "$@" >> "$progress_file" 2>&1 < /dev/null || told=$?
    kill $teller 2> /dev/null || true
    wait $teller 2> /dev/null || true
    [ ! -t 2 ] || printf '\r\033[K' >&2
    return $told
}
