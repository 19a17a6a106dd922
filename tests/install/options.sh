#!/bin/sh
# options.sh UMSRUN FEATURES VERSION: what umsrun.exe understands, and what it says when it does not: on the standard error,
# with status 2, about the thing that was wrong.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
run=$(readlink -f "$(dirname "$0")/../../scripts/winerun")
. "$(dirname "$0")/../lost_start.sh"
umsrun=$1
features=$2
version=$3
failed=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

wrong()
{
    echo "$*"
    cat out err
    failed=1
}

start()
{
    "$run" "$umsrun" "$@" > out 2> err < /dev/null
    got=$?
    if lost_start $got out err; then
        "$run" "$umsrun" "$@" > out 2> err < /dev/null
        got=$?
    fi
}

# says WORDS ARGUMENTS...: status 0, nothing on the standard error
says()
{
    words=$1
    shift
    start "$@"
    [ $got = 0 ] && [ ! -s err ] && grep -q -e "$words" out || wrong "$*: status $got, expected 0 and \"$words\""
}

# refused LINES WORDS ARGUMENTS...: 1: the words alone; 10: the usage, too
refused()
{
    lines=$1 words=$2
    shift 2
    start "$@"
    [ $got = 2 ] && [ ! -s out ] && [ "$(wc -l < err)" = "$lines" ] && head -n 1 err | grep -q -e "$words" \
        || wrong "$*: status $got, expected 2 and $lines lines, the first with \"$words\""
}

cp "$features" program.exe
printf overlay-data >> program.exe
cp program.exe ./--odd.exe
echo text > README.md

says '^usage: umsrun' --help
says '^usage: umsrun' -h
says '^usage: umsrun' /?
says '^usage: umsrun' --install --help
says '^usage: umsrun' --install-prefix -h
says "^umsrun $version\$" --version
for option in install uninstall status install-prefix uninstall-prefix prefix-status info top version; do
    start --help
    grep -q -e "--$option" out || wrong "--help: nothing of --$option"
done
says 'active: engine' ./--odd.exe
says 'active: engine' '.\--odd.exe'

refused 10 '--instal: there is no such option' --instal program.exe
refused 10 '--list: there is no such option' --list
refused 10 '--in-place: there is no such option' --in-place program.exe
refused 10 '--nonsense is no option of --install' --install program.exe --nonsense
refused 10 '--in-place is no option of --status' --status --in-place program.exe
refused 10 'second.exe: one program' --install program.exe second.exe
refused 10 '--output: there is no name' --install program.exe --output
refused 10 'exclude each other' --install --in-place --output copy.exe program.exe
refused 10 '--uninstall: which program' --uninstall
refused 10 'which program'
refused 10 'name is empty' ''
refused 10 'which program' --install ''
refused 1 '--info looks at no program, so not at program.exe' --info program.exe
refused 1 'program.exe: .*that is a file' --install-prefix program.exe
refused 1 'README.md is not a Windows program' --install README.md
refused 1 '/bin/ls is not a Windows program' --install /bin/ls
refused 1 'the folder .*nowhere. cannot be written to' --install program.exe --output nowhere/copy.exe

head -c 30000 program.exe > half.exe
start half.exe                                  # a line of Wine's own may be in front
[ $got = 2 ] && grep -q '^umsrun: half.exe is damaged or cut short' err || wrong "half.exe: status $got"
grep -q '%1' err && wrong 'half.exe: %1'

# before the program's name and behind it
says 'has the shim now' --install --output copy.exe program.exe
rm kernel32_ums.dll
start --status copy.exe
[ $got = 2 ] && grep -q 'kernel32_ums.dll is missing: the program starts only if' out || wrong "--status: status $got"
cp copy.exe second.exe
says 'stay: .*second.exe has the shim too' --uninstall copy.exe
says 'byte for byte' --uninstall second.exe
[ ! -e ntdll_ums.dll ] || wrong 'a DLL was left behind'
says 'has the shim now' --install --in-place program.exe
says 'byte for byte' --uninstall program.exe
cmp program.exe ./--odd.exe || failed=1
exit $failed
