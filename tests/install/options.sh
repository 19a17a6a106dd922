#!/bin/sh
# options.sh UMSRUN FEATURES VERSION HELLO LOOKS LOADED API_SET: what umsrun.exe understands, and what it says when it does
# not: on the standard error, with status 2, about the thing that was wrong. HELLO imports UMS, LOOKS looks it up, LOADED has a
# DLL beside it that imports it, API_SET imports it from an API set.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
run=$(readlink -f "$(dirname "$0")/../../scripts/winerun")
. "$(dirname "$0")/../lost_start.sh"
umsrun=$1
features=$2
version=$3
hello=$4 looks=$5 loaded=$6 api_set=$7
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
    begin out err "$run" "$umsrun" "$@" < /dev/null
}

# says WORDS ARGUMENTS...: status 0, nothing on the standard error
says()
{
    words=$1
    shift
    start "$@"
    [ $got = 0 ] && [ ! -s err ] && grep -q -e "$words" out || wrong "$*: status $got, expected 0 and \"$words\""
}

# refused WORDS ARGUMENTS...: with one line
refused()
{
    words=$1
    shift
    start "$@"
    [ $got = 2 ] && [ ! -s out ] && [ "$(wc -l < err)" = 1 ] && grep -q -e "$words" err \
        || wrong "$*: status $got, expected 2 and one line with \"$words\""
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

refused '--instal: there is no such option; see umsrun --help' --instal program.exe
refused '--list: there is no such option' --list
refused '--in-place: there is no such option' --in-place program.exe
refused '--nonsense is no option of --install' --install program.exe --nonsense
refused '--in-place is no option of --status' --status --in-place program.exe
refused 'second.exe: one program' --install program.exe second.exe
refused '--output needs a file name' --install program.exe --output
refused 'exclude each other' --install --in-place --output copy.exe program.exe
refused '--uninstall: which program' --uninstall
refused '--: which program' --
refused 'name is empty' ''
refused 'which program' --install ''
refused 'program.exe: .*that is a file' --install-prefix program.exe
refused 'README.md is not a Windows program' --install README.md
refused '/bin/ls is a Linux program' --install /bin/ls
refused '/bin/ls is a Linux program' /bin/ls
refused '^umsrun: --info: one program' --info /bin/ls program.exe
refused '/bin/ls is a Linux program' --info /bin/ls
mkdir folder
refused "$dir/folder is a folder; --output needs" --install program.exe --output folder
refused "folder is a folder" --install folder
refused "the folder $dir/nowhere.* cannot be written to" --install program.exe --output nowhere/copy.exe
says 'active: engine' -- --odd.exe
says 'Software' -- 'C:\windows\system32\reg.exe' query 'HKCU\Software'      # the first word that it gets is its name
refused 'folder is a folder' --info ./folder
# what it says is UTF-8, whatever the code page of Windows
LC_ALL=C.UTF-8
export LC_ALL
refused '^umsrun: größe.exe: there is no such file' größe.exe
unset LC_ALL
says 'program.exe: a 64-bit program' --info program.exe
grep -q 'It uses User-Mode Scheduling. Run it with: umsrun "program.exe"' out || wrong '--info program.exe: no verdict'
says 'looks up [1-9][0-9]* names of UMS: .*EnterUmsSchedulingMode.*UmsThreadYield' --info "$looks"
says 'inject_importer.dll imports [1-9] names* of UMS: .*UmsCompletionList' --info "$loaded"
grep -q 'It uses User-Mode Scheduling' out || wrong '--info of a program whose DLL uses UMS: no verdict'
says 'api_set.exe imports [1-9] names of UMS: .*CreateUmsCompletionList' --info "$api_set"
says 'hello_ums.exe imports 10 names of UMS: ' --info "$hello"
names=0
for name in $(x86_64-w64-mingw32-objdump -p "$hello" | sed -n 's/^\t.* \([A-Za-z]*Ums[A-Z][A-Za-z]*\)$/\1/p'); do
    names=$((names + 1))
    grep -q "[:,] $name\b" out || wrong "--info: nothing of $name"
done
[ $names = 10 ] || wrong "$names names of UMS are found in hello_ums.exe"
# the same program, but for 32 bits, as far as anybody looks
pe=$(od -An -tu4 -j60 -N4 program.exe | tr -d ' ')
cp program.exe x86.exe
printf '\114\001' | dd of=x86.exe bs=1 seek=$((pe + 4)) conv=notrunc 2> /dev/null
refused '^umsrun: x86.exe is a 32-bit program; UMS is for 64-bit ones only' --info x86.exe
# none of it: a program of Wine's own, beside the DLLs that have the functions
start --info 'C:\windows\system32\notepad.exe'
[ $got = 1 ] && grep -q 'Neither it nor the DLLs beside it name User-Mode Scheduling' out || wrong "--info notepad.exe: status $got"
# a part of a longer word is no name
cp "$(dirname "$run")/../${UMS_BUILD:-build}/prefix-${UMS_WINE:-host}/drive_c/windows/system32/notepad.exe" part.exe
printf '\0NoUmsThreadYield\0' >> part.exe
start --info part.exe
[ $got = 1 ] || wrong "--info part.exe: status $got"
printf '\0UmsThreadYield\0' >> part.exe
says 'looks up 1 name of UMS: UmsThreadYield' --info part.exe
start --info ./README.md
[ $got = 2 ] || wrong "--info README.md: status $got"

# Unix paths, wherever it runs: on drive C Windows' own rules would lead to C:\tmp
on_drive_c()
{
    words=$1
    shift
    begin out err "$run" cmd /c "c: && Z:$(echo "$umsrun" | tr / '\\') $*" < /dev/null
    [ $got = 0 ] && grep -q "$words" out || wrong "$* on drive C: status $got"
}
on_drive_c "$dir/program.exe: a 64-bit program" --info "$dir/program.exe"
on_drive_c 'active: engine' "$dir/program.exe"
on_drive_c "installed UMS into $dir/far.exe" --install "$dir/program.exe" --output "$dir/far.exe"
on_drive_c 'UMS is installed in it' --status "$dir/far.exe"
on_drive_c 'restored the original' --uninstall "$dir/far.exe"
rm -f far.exe

# no room for a whole DLL (Linux writes what is below the limit, as on a disk that gets full)
ls > "$dir.list"
(
    ulimit -f 16
    trap '' XFSZ
    refused '_ums.dll: .*(error 112)' --install program.exe --output full.exe
    exit $failed
) || failed=1
ls | cmp -s "$dir.list" - || wrong "--install without room has left something behind: $(ls)"
rm "$dir.list"

head -c 30000 program.exe > half.exe
start half.exe                                  # a line of Wine's own may be in front
[ $got = 2 ] && grep -q '^umsrun: half.exe is damaged or cut short' err || wrong "half.exe: status $got"
grep -q '%1' err && wrong 'half.exe: %1'

# before the program's name and behind it
says "installed UMS into $dir/copy.exe" --install --output copy.exe program.exe
says 'installed in .*copy.exe already' --install --output copy.exe program.exe
# as long as ours, and another one
printf X | dd of=kernel32_ums.dll bs=1 seek=200 conv=notrunc 2> /dev/null
says 'replaced .*kernel32_ums.dll, which was another version' --install --output copy.exe program.exe
cmp kernel32_ums.dll "$(dirname "$umsrun")/kernel32_ums.dll" || failed=1
rm kernel32_ums.dll
start --status copy.exe
[ $got = 2 ] && grep -q 'kernel32_ums.dll is missing: the program starts only if' out || wrong "--status: status $got"
cp copy.exe second.exe
says 'stay: .*second.exe needs them too' --uninstall copy.exe
says 'restored the original .*second.exe' --uninstall second.exe
[ ! -e ntdll_ums.dll ] || wrong 'a DLL was left behind'
says 'installed UMS into' --install --in-place program.exe
rm kernel32_ums.dll
says 'installed in .*program.exe already' --install --in-place program.exe
[ -e kernel32_ums.dll ] || wrong '--install again: a DLL that was gone is not there'
says 'restored the original' --uninstall program.exe
cmp program.exe ./--odd.exe || failed=1

# an installed program that somebody has moved to where umsrun and its DLLs are, in a folder with a blank in its name
says 'installed UMS into' --install --output moved.exe program.exe
mkdir 'our own'
cp "$umsrun" "$(dirname "$umsrun")/kernel32_ums.dll" "$(dirname "$umsrun")/ntdll_ums.dll" 'our own'
mv moved.exe 'our own'
other=$umsrun
umsrun="$dir/our own/$(basename "$umsrun")"
says "^umsrun $version\$" "$other" --version
says 'restored the original' --uninstall 'our own/moved.exe'
[ -e 'our own/kernel32_ums.dll' ] && [ -e 'our own/ntdll_ums.dll' ] || wrong '--uninstall has deleted the DLLs of umsrun itself'

# a name means the current folder's program, not one of that name beside umsrun; that one only where there is no other
echo text > 'our own/program.exe'
cp program.exe 'our own/only.exe'
mkdir only                                      # no program
for name in program.exe program only.exe only; do
    says 'active: engine' $name
done

# a script, as Wine itself starts it: with its arguments, its status, and children that have the shim
printf '@echo %%1 and %%2\r\n@.\\program.exe\r\n@exit %%3\r\n' > 'a script.bat'
says '"two words" and last' 'a script.bat' 'two words' last 0
grep -q 'active: engine' out || wrong 'a script: its child has no shim'
start ./a\ script.bat 1 2 7
[ $got = 7 ] || wrong "a script that ends with 7: status $got"
exit $failed
