#!/bin/sh
# program.sh UMSRUN FEATURES BOUND: umsrun --install, --uninstall and --status on programs that have everything in their
# files. BOUND: umstest_bound.exe, a legacy program.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
run=$(readlink -f "$(dirname "$0")/../../scripts/winerun")
. "$(dirname "$0")/../lost_start.sh"
umsrun=$1
features=$2
bound=$3
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

# expect STATUS WORDS COMMAND...: the command's status, and the words in what it says
expect()
{
    status=$1 words=$2
    shift 2
    begin out err "$run" "$@" < /dev/null
    [ $got = "$status" ] || wrong "$*: status $got, expected $status"
    cat out err | grep -q "$words" || wrong "$*: expected \"$words\""
}

# number FILE OFFSET: four bytes; set_number FILE OFFSET VALUE
number()
{
    od -An -tu4 -j"$2" -N4 "$1" | tr -d ' '
}

set_number()
{
    for shift in 0 8 16 24; do
        printf "\\$(printf %o $(($3 >> shift & 255)))"
    done | dd of="$1" bs=1 seek="$2" conv=notrunc 2> /dev/null
}

# sign FILE: certificates that nobody has signed, at its end, where the headers say
sign()
{
    size=$(stat -c %s "$1")
    head -c $(((8 - size % 8) % 8)) /dev/zero >> "$1"
    size=$(stat -c %s "$1")
    head -c 1000 /dev/urandom >> "$1"
    entry=$(($(number "$1" 60) + 24 + 112 + 4 * 8))
    set_number "$1" $entry "$size"
    set_number "$1" $((entry + 4)) 1000
}

cp "$features" program.exe
printf overlay-data >> program.exe
expect 0 'without UMS' program.exe
sign program.exe
cp program.exe before.exe

# a copy
expect 1 'UMS is not installed in it' "$umsrun" --status program.exe
expect 0 'signature' "$umsrun" --install program.exe --output copy.exe
grep -q 'were moved by' out || wrong 'nothing said of the overlay'
cmp program.exe before.exe || failed=1
expect 0 'active: engine' copy.exe
expect 0 'UMS is installed in it' "$umsrun" --status copy.exe
expect 0 'is installed in .*copy.exe already' "$umsrun" --install copy.exe
expect 0 'is installed in .*copy.exe already' "$umsrun" --install program.exe --output copy.exe
expect 2 'there already' "$umsrun" --install "$features" --output copy.exe          # made of another file
expect 0 'active: engine' "$umsrun" copy.exe            # the launcher's DLLs then, not both
mv kernel32_ums.dll away.dll
expect 2 'is missing' "$umsrun" --status copy.exe
expect 0 'active: engine' "$umsrun" copy.exe
cp away.dll kernel32_ums.dll
printf x >> kernel32_ums.dll
expect 2 'another version' "$umsrun" --status copy.exe
mv away.dll kernel32_ums.dll
expect 0 'restored the original' "$umsrun" --uninstall copy.exe
cmp copy.exe before.exe || failed=1
[ ! -e kernel32_ums.dll ] && [ ! -e ntdll_ums.dll ] || wrong 'the DLLs were left behind'

# the file itself
expect 0 'kept as' "$umsrun" --install "$dir/program.exe" --in-place
cmp program.exe.before-ums before.exe || failed=1
expect 0 'active: engine' program.exe
printf x >> program.exe
expect 2 'was changed since' "$umsrun" --status program.exe
expect 2 'the original is .*before-ums' "$umsrun" --uninstall program.exe
head -c -1 program.exe > unchanged.exe
mv unchanged.exe program.exe
expect 0 'restored the original' "$umsrun" --uninstall program.exe
cmp program.exe before.exe || failed=1
[ ! -e program.exe.before-ums ] || wrong 'the backup was left behind'

# names of UMS that the host lacks, in tables of their own; DLLs elsewhere
cp "$bound" bound.exe
expect 0 'loads the DLLs in' "$umsrun" --install bound.exe --in-place --dlls "$(dirname "$umsrun")"
expect 0 ' 0 failed' bound.exe execute_null factory_type_layouts
[ ! -e kernel32_ums.dll ] || wrong 'the DLLs were copied'
expect 0 'restored the original' "$umsrun" --uninstall bound.exe
cmp bound.exe "$bound" || failed=1

# DLLs that were there before stay
cp "$(dirname "$umsrun")/kernel32_ums.dll" "$(dirname "$umsrun")/ntdll_ums.dll" .
cp program.exe second.exe
expect 0 'are in' "$umsrun" --install program.exe --in-place
expect 0 'are in' "$umsrun" --install second.exe --in-place
expect 0 'restored the original' "$umsrun" --uninstall program.exe
expect 0 'restored the original' "$umsrun" --uninstall second.exe
[ -e kernel32_ums.dll ] && [ -e ntdll_ums.dll ] || wrong 'DLLs were deleted that --install had not put there'
rm -f kernel32_ums.dll ntdll_ums.dll
expect 2 "^umsrun: $PWD/no/where/ntdll_ums.dll is missing" "$umsrun" --install program.exe --dlls no/where
expect 2 "^umsrun: $PWD/saver.scr: its name has to end with .exe" "$umsrun" --install program.exe --output saver.scr

# refused, with nothing left behind
rm -f ./*.exe
echo 'no program at all' > text.exe
cp "$(dirname "$umsrun")/kernel32_ums.dll" library.exe
cp "$features" x86.exe
set_number x86.exe $(($(number x86.exe 60) + 4)) $((0x14c + 65536 * 20))
head -c 20000 "$features" > short.exe
touch list
ls > list
expect 2 'text.exe is not a Windows program' "$umsrun" --install text.exe
expect 2 'library.exe is a DLL' "$umsrun" --install library.exe
expect 2 'x86.exe is a 32-bit program' "$umsrun" --install x86.exe
expect 2 'short.exe is not complete' "$umsrun" --install short.exe
expect 2 'no such file' "$umsrun" --install missing.exe
expect 2 'see umsrun --help' "$umsrun" --install text.exe --nonsense
expect 2 'does not have the shim' "$umsrun" --uninstall text.exe
ls | cmp -s list - || wrong "something was left behind: $(ls)"
exit $failed
