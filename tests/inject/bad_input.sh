#!/bin/sh
# bad_input.sh UMSRUN PROGRAM IMPORTER DLL DEEP MIDDLE ROOMY: what umsrun.exe cannot run gives one line that names it, status 2,
# and no process. IMPORTER needs DLL; DEEP needs MIDDLE, which needs DLL; ROOMY is PROGRAM with room in front of its sections.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
run=$(readlink -f "$(dirname "$0")/../../scripts/winerun")
. "$(dirname "$0")/../lost_start.sh"
umsrun=$1
program=$2
importer=$3
dll=$4 deep=$5 middle=$6 roomy=$7
failed=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

# with_machine FILE BYTES: the program with another processor in its header
with_machine()
{
    cp "$program" "$1"
    offset=$(od -An -tu4 -j60 -N4 "$1" | tr -d ' ')
    printf "$2" | dd of="$1" bs=1 seek=$((offset + 4)) conv=notrunc 2> /dev/null
}

# refused FILE WORDS: the line has the file's name and the words
refused()
{
    begin out err "$run" "$umsrun" "$1"
    if [ $got != 2 ] || [ -s out ] || [ "$(wc -l < err)" != 1 ] || ! grep -q "$1.*$2" err; then
        echo "$1: status $got, expected 2 and one line with \"$2\":"
        cat out err
        failed=1
    fi
}

echo 'no program at all' > text.exe
: > empty.exe
head -c 100 "$program" > short.exe
head -c 300 "$program" > cut.exe
with_machine x86.exe '\114\001'
with_machine arm64.exe '\144\252'
with_machine itanium.exe '\000\002'
mkdir folder.exe
cp "$(dirname "$umsrun")/kernel32_ums.dll" library.dll

cp /bin/true linux.exe

refused missing.exe 'no such file'
refused linux.exe 'a Linux program'
refused text.exe 'not a Windows program'
refused empty.exe 'not a Windows program'
refused short.exe 'not a Windows program'
refused x86.exe '32-bit'
refused arm64.exe 'Arm64'
refused itanium.exe 'another processor'
refused folder.exe 'folder'
refused library.dll 'DLL'

# A program whose headers begin behind the first 4 KB is one, for the loader too; where it cannot be served, nobody calls it none.
python3 - "$roomy" far.exe << 'END'
import struct, sys
data = bytearray(open(sys.argv[1], 'rb').read())
nt = struct.unpack_from('<I', data, 60)[0]
sections, optional_size = struct.unpack_from('<H', data, nt + 6)[0], struct.unpack_from('<H', data, nt + 20)[0]
for place in [nt + 24 + 60, *(nt + 24 + optional_size + i * 40 + 20 for i in range(sections))]:
    old = struct.unpack_from('<I', data, place)[0]
    struct.pack_into('<I', data, place, old + 0x1000 if old else 0)
struct.pack_into('<I', data, 60, nt + 0x1000)
open(sys.argv[2], 'wb').write(data[:nt] + bytes(0x1000) + data[nt:])
END
begin out err "$run" far.exe 5
[ $got = 5 ] || { echo "far.exe without umsrun: status $got, expected 5"; cat out err; failed=1; }
begin out err "$run" "$umsrun" far.exe 5
if [ $got != 5 ] && ! grep -q '^umsrun: far.exe cannot be given the shim' err; then
    echo "far.exe, whose headers begin late: status $got, expected 5:"
    cat out err
    failed=1
fi

# The loader ends a program that lacks a DLL, or whose DLL lacks one, without a word; the status is its own.
lacks()
{
    begin out err "$run" "$umsrun" "$1"
    if [ $got != 53 ] || [ -s out ] || [ "$(grep -c '^umsrun: ' err)" != 1 ] || ! grep -q "umsrun: $1 $2" err; then
        echo "$1 lacks a DLL: status $got, expected 53 and a line with \"$2\":"
        cat out err
        failed=1
    fi
}
cp "$importer" importer.exe
lacks importer.exe "needs $(basename "$dll"), which"
# the loader adds .dll to a name without a dot: kernel32 is there
LC_ALL=C sed 's/KERNEL32\.dll/KERNEL32\x00\x00\x00\x00/g' importer.exe > no_ending.exe
! cmp -s importer.exe no_ending.exe || { echo 'importer.exe: no KERNEL32.dll'; failed=1; }
lacks no_ending.exe "needs $(basename "$dll"), which"
# it is another DLL that needs it; and one that is found by the PATH is not missed
cp "$deep" deep.exe
lacks deep.exe "needs $(basename "$middle"), which"
cp "$middle" .
lacks deep.exe "needs $(basename "$dll"), which"
mkdir elsewhere
mv "$(basename "$middle")" elsewhere
export WINEPATH="Z:$dir/elsewhere"
lacks deep.exe 'ended because a DLL could not be found (status c0000135), which none of its own imports is'
cp "$dll" elsewhere
begin out err "$run" "$umsrun" deep.exe
[ $got = 0 ] || { echo "deep.exe with all its DLLs: status $got"; cat out err; failed=1; }
unset WINEPATH

# a setting that means nothing: one line that names it, and the program does not run without UMS
begin out err env UMS_HOOK=nonsense "$run" "$umsrun" "$program"
if [ $got != 2 ] || [ -s out ] || [ "$(wc -l < err)" != 1 ] || ! grep -q UMS_HOOK err; then
    echo "UMS_HOOK=nonsense: status $got, expected 2 and one line:"
    cat out err
    failed=1
fi

# The wineserver cannot read the memory of a process that another program traces: one line says so, and what to do.
if ! strace -qq -e trace=none -o /dev/null true; then
    echo 'not tried: nothing may be traced here'
else
    strace -f -qq -e trace=none -o /dev/null "$run" "$umsrun" "$program" > out 2> err
    got=$?
    if [ $got != 0 ] && { [ $got != 2 ] || [ -s out ] || [ "$(wc -l < err)" != 1 ] || ! grep -q 'traced (strace -f.*--install' err; }; then
        echo "under strace: status $got, expected 2 and one line:"
        cat out err
        failed=1
    fi
fi
exit $failed
