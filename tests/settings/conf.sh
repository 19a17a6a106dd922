#!/bin/sh
# conf.sh UMSRUN PROGRAM: what ums.conf beside a program does, and what people hear of what is wrong with it. PROGRAM ends
# with status 0.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
umsrun=$1
. "$(dirname "$0")/common.sh"
cp "$2" Game.exe
cp "$2" other.exe

# active PROGRAM WORDS SETTINGS...: it is served like that
active()
{
    program=$1
    words=$2
    shift 2
    start "$program" UMS_LOG=info "$@"
    ended 0 1 "$program $*"
    said "$program $*" "^ums: active, $words "
}

start Game.exe UMS_HOOK=
ended 0 0 'nothing is set'

# profile before file, environment before profile; names of programs have no capital letters
conf '# what everybody gets' 'UMS_HOOK = stubs' 'UMS_ENGINE = carry' '' '[game.EXE]' 'UMS_ENGINE=handoff' \
    '[somebody.exe]' 'UMS_ENGINE=nonsense' 'UMS_KEY=nobody looks'
active Game.exe 'engine=handoff hook=stubs'
active other.exe 'engine=carry hook=stubs'
active Game.exe 'engine=carry hook=dispatcher' UMS_ENGINE=carry UMS_HOOK=auto
active Game.exe 'engine=handoff hook=stubs' UMS_ENGINE=

# what makes a switch dear is said, where there are such switches
start Game.exe UMS_LOG=info UMS_ENGINE=carry UMS_GS=arch_prctl
said 'GS by a system call' '^ums: active, engine=carry .* gs=arch_prctl$'
start Game.exe UMS_LOG=info UMS_ENGINE=handoff UMS_GS=arch_prctl
said 'no GS to be set' '^ums: active, engine=handoff .* host=wine-[^ ]*$'

# the program's folder counts, not the one that we are in
mkdir elsewhere
conf 'UMS_HOOK=stubs'
(cd elsewhere && start ../Game.exe UMS_LOG=info UMS_ENGINE=carry && cp out err log .. && echo "$got" > ../got)
got=$(cat got)
ended 0 1 'from another folder'
said 'from another folder' 'hook=stubs'
mv ums.conf elsewhere
(cd elsewhere && start ../Game.exe UMS_LOG=info UMS_ENGINE=carry && cp out err log .. && echo "$got" > ../got)
said 'one in the current folder' 'hook=dispatcher'

# what is not understood is said, and left out
conf 'UMS_ENGIN=carry' 'UMS_GRACE_US=soon' 'off with his head'
start Game.exe UMS_PARK=bench
ended 0 4 'four mistakes'
said 'an unknown key' 'ums.conf line 1: ' 'UMS_ENGIN$'
said 'a wrong number' 'UMS_GRACE_US=soon' 'ums.conf line 2' '1-60000000'
said 'no pair' 'ums.conf line 3: ' 'KEY=value' 'off with his head'
said 'a wrong variable' 'UMS_PARK=bench' '(environment)' 'auto, address'

# a value that is longer than any that could be meant is not taken for none
rm ums.conf
start Game.exe UMS_PARK="$(printf '%01000d' 0)"
ended 0 1 'a long value'
said 'a long value' 'UMS_PARK=(too long)' '(environment)'

# a way to do it that is none: the program does not run
conf '' '[game.exe]' 'UMS_HOOK=line'
start Game.exe UMS_LOG=none
ended 2 1 'a hook of no kind'
said 'a hook of no kind' 'cannot serve' 'UMS_HOOK=line' 'ums.conf line 3' 'auto, dispatcher, stubs'
start other.exe UMS_LOG=warn
ended 0 0 "another program's hook"

# what is no such file
head -c 65537 /dev/zero | tr '\0' '#' > ums.conf
start Game.exe UMS_LOG=warn
ended 0 1 'a large file'
said 'a large file' 'ums.conf has more than 64 KB'
head -c 65536 /dev/zero | tr '\0' '#' > ums.conf
start Game.exe UMS_LOG=warn
ended 0 0 'a file that is just not too large'
printf '\377\376U\000M\000' > ums.conf
start Game.exe UMS_LOG=warn
ended 0 1 'UTF-16'
said 'UTF-16' 'ums.conf is UTF-16'
rm ums.conf
mkdir ums.conf
start Game.exe UMS_LOG=warn
ended 0 1 'a folder'
said 'a folder' 'ums.conf cannot be opened'
exit $failed
