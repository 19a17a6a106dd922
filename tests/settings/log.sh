#!/bin/sh
# log.sh UMSRUN ODD HELLO CHILDREN: what is said at each level and in each channel, and where to. ODD makes calls that
# fail; HELLO has two workers that end; CHILDREN starts programs.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
umsrun=$1
. "$(dirname "$0")/common.sh"
cp "$2" odd.exe
hello=$3
children=$4

count()
{
    grep -c -- "$1" log
}

# level VALUE WARNINGS BANNERS TRACES
level()
{
    start odd.exe UMS_PARK=bench UMS_ENGINE=carry "UMS_LOG=$1"
    [ "$got" = 0 ] || wrong "UMS_LOG=$1: status $got"
    [ "$(count UMS_PARK=bench)" = "$2" ] || wrong "UMS_LOG=$1: expected $2 warnings"
    [ "$(count '^ums: active, engine=carry hook=dispatcher')" = "$3" ] || wrong "UMS_LOG=$1: expected $3 banners"
    [ "$(count ':trace:')" = "$4" ] || wrong "UMS_LOG=$1: expected $4 traces"
    [ "$(wc -l < log)" = $(($2 + $3 + $4)) ] || wrong "UMS_LOG=$1: other lines"
}

# odd: three calls fail (api), one hook is found, two variables are set
level none 0 0 0
level err 0 0 0
level warn 1 0 0
level '' 1 0 0
level info 1 1 0
level 1 1 1 0
level none,trace+api 0 0 3
level info,trace+hook 1 1 1
level trace,info+api 1 1 3
said 'where a setting is from' ':trace:settings: UMS_LOG=trace,info+api (environment)$'
start odd.exe UMS_LOG=loud
ended 0 1 'no level'
said 'no level' 'UMS_LOG=loud' 'none, err, warn, info, trace' 'channels: main, '

# workers
for engine in carry handoff; do
    for hook in dispatcher stubs; do
        start "$hello" UMS_LOG=none,trace+worker UMS_ENGINE=$engine UMS_HOOK=$hook
        ended 0 4 "two workers, $engine, $hook"
        grep -q 'both workers ended' out || wrong "$engine, $hook: the program does something else"
        grep ':trace:worker:' log | sed -n 's/.*worker \([0-9a-fA-Fx]*\) is thread [0-9a-f]*$/\1/p' | sort > made
        grep ':trace:worker:' log | sed -n 's/.*worker \([0-9a-fA-Fx]*\) returns 0$/\1/p' | sort > over
        [ "$(wc -l < made)" = 2 ] || wrong "$engine, $hook: not two workers"
        cmp made over || wrong "$engine, $hook: others are made than end"
    done
done

# children, and theirs: a line for each
begin out err "$run" "$umsrun" "$children" shim
[ "$got" = 0 ] || wrong 'children'
begin out err env UMS_LOG=none,trace+child "$run" "$umsrun" "$children" shim
[ "$got" = 0 ] || wrong 'children'
grep '^ums: ' err | tr -d '\r' > log
[ "$(count ':trace:child: process [0-9]* gets the shim$')" -ge 2 ] || wrong 'children'
[ "$(grep -vc ':trace:child: process [0-9]* gets the shim$' log)" = 0 ] || wrong 'other lines of children'

# a file: by name and process, in another folder, beside ums.conf; with what the console has too
start odd.exe UMS_LOG=info "UMS_LOG_FILE=Z:$dir/%e-%p-%%.log"
file="odd-$(sed -n 's/^process \([0-9]*\).*/\1/p' out)-%.log"
[ -s "$file" ] || wrong "there is no $file, but $(ls)"
tr -d '\r' < "$file" | cmp - log || wrong 'the file and the console differ'
mkdir logs
conf 'UMS_LOG_FILE=logs/%e.log' 'UMS_LOG=info' 'UMS_ENGINE=handoff'
(cd logs && start ../odd.exe UMS_GS=auto)
start odd.exe UMS_GS=auto
[ "$(grep -c '^ums: active' logs/odd.log)" = 2 ] || wrong 'not two lines beside ums.conf'
start odd.exe UMS_LOG=none
[ "$(wc -l < logs/odd.log)" = 2 ] || wrong 'a line of nothing'
rm ums.conf
start odd.exe "UMS_LOG_FILE=Z:$dir/nowhere/odd.log"
ended 0 1 'no such folder'
said 'no such folder' 'nowhere/odd.log cannot be opened as UMS_LOG_FILE'
start odd.exe "UMS_LOG_FILE=$(printf '%01000d' 0)"
ended 0 1 'a path that is too long'
said 'a path that is too long' 'UMS_LOG_FILE=(too long) (environment) is not valid and is ignored'
[ ! -e '(too long)' ] || wrong 'what is said of a long path became a path'
start odd.exe "UMS_LOG_FILE=Z:$dir/%d.log"
ended 0 1 'no such sign'
said 'no such sign' 'UMS_LOG_FILE=.*%d.log' '%e, %p and %%'
exit $failed
