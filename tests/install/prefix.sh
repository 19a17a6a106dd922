#!/bin/sh
# prefix.sh UMSRUN HELLO NAMES STATUS EARLY: umsrun --install-prefix and its kin, in a prefix of this test's own: the tests'
# one must stay without the shim. HELLO is started without a launcher, NAMES looks UMS up in every way, STATUS knows no UMS,
# EARLY has looked up other names and run for a while before it asks for UMS.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
. "$(dirname "$0")/own_prefix.sh"
umsrun=$1 hello=$2 names=$3 no_ums=$4 early=$5
export UMS_LOG=1
system32=$dir/prefix-$wine/drive_c/windows/system32
overrides='HKCU\Software\Wine\DllOverrides'
cp "$system32/kernel32.dll" "$dir/before.dll"
mkdir "$dir/alone"
cp "$hello" "$dir/alone/hello.exe"
cp "$names" "$dir/alone/names.exe"
cp "$early" "$dir/alone/early.exe"
hello=$dir/alone/hello.exe names=$dir/alone/names.exe early=$dir/alone/early.exe

expect 1 "${WINEPREFIX##*/}: UMS is not installed in it" "$umsrun" --prefix-status
expect 2 '--install-prefix .*hello.exe: .* is a file, .* --install$' "$umsrun" --install-prefix "$hello"
expect 1 'no User-Mode Scheduling here' "$hello"
# a setting of the user's stays
run reg add "$overrides" /v kernel32 /d builtin /f
expect 2 'has the setting kernel32=builtin already' "$umsrun" --install-prefix
run reg delete "$overrides" /v kernel32 /f
expect 0 'every 64-bit program' "$umsrun" --install-prefix
expect 0 "${WINEPREFIX##*/}: UMS is installed in it" "$umsrun" --prefix-status
expect 0 'both workers ended' "$hello"
grep -q '^ums: active' "$dir/out" || wrong 'hello is served by somebody else'
expect 0 ' 0 failed' "$names"
expect 0 ' 0 failed' "$early"
expect 0 ' 0 failed' "$early" slots
UMS_HOOK=stubs expect 0 ' 0 failed' "$early" between
expect 0 'both workers ended' "$umsrun" "$hello"                # under the launcher too
[ "$(grep -c '^ums: active' "$dir/out")" = 1 ] || wrong 'hello with umsrun: expected one shim'
expect 0 'every 64-bit program' "$umsrun" --install-prefix      # again

# who knows no UMS gets Wine's code and no DLL of ours
WINEDEBUG=+loaddll run "$no_ums" 0
grep -qi 'kernel32.*native' "$dir/out" || wrong 'kernel32.dll is not the copy'
grep -qi '_ums' "$dir/out" && wrong 'the shim was loaded for a program without UMS'

# a kernel32.dll beside a program is passed over, as it is without the shim
mkdir "$dir/beside"
cp "$no_ums" "$dir/beside/status.exe"
cp "$dir/before.dll" "$dir/beside/kernel32.dll"
printf 'Windows own DLL ' | dd of="$dir/beside/kernel32.dll" bs=1 seek=64 conv=notrunc 2> /dev/null
WINEDEBUG=+loaddll run "$dir/beside/status.exe" 0
grep -qi 'kernel32.*builtin' "$dir/out" || wrong 'the kernel32.dll beside a program is taken'
run reg delete "$overrides" /v '*kernel32' /f
expect 2 'a kernel32.dll beside a program is taken' "$umsrun" --prefix-status
expect 0 'every 64-bit program' "$umsrun" --install-prefix
expect 0 'UMS is installed in it' "$umsrun" --prefix-status

# Wine was updated: its kernel32.dll is another one than the copy was made of
cp "$system32/kernel32.dll" "$dir/made.dll"
record=$(grep -abo UMSINS1 "$dir/made.dll" | head -n 1 | cut -d: -f1)
printf '1.0\0' | dd of="$dir/made.dll" bs=1 seek=$((record + 56 + 32)) conv=notrunc 2> /dev/null
printf 'x' | dd of="$dir/made.dll" bs=1 seek=$((record + 56)) conv=notrunc 2> /dev/null
mv "$dir/made.dll" "$system32/kernel32.dll"
expect 2 'Wine was updated' "$umsrun" --prefix-status
expect 0 'was made for Wine 1.0' "$hello"
expect 0 'every 64-bit program' "$umsrun" --install-prefix
expect 0 'made for Wine' "$umsrun" --prefix-status

# somebody has changed it
cp "$system32/kernel32.dll" "$dir/made.dll"
printf X | dd of="$dir/made.dll" bs=1 seek=$(($(stat -c %s "$dir/made.dll") / 2)) conv=notrunc 2> /dev/null
mv "$dir/made.dll" "$system32/kernel32.dll"
expect 2 'kernel32.dll was changed since' "$umsrun" --prefix-status
expect 0 'every 64-bit program' "$umsrun" --install-prefix

rm "$system32/ntdll_ums.dll"
expect 2 'is missing' "$umsrun" --prefix-status
expect 0 "restored $dir/prefix-$wine" "$umsrun" --uninstall-prefix
cmp "$system32/kernel32.dll" "$dir/before.dll" || failed=1
[ ! -e "$system32/kernel32_ums.dll" ] || wrong 'a DLL was left behind'
run reg query "$overrides"
grep -q kernel32 "$dir/out" && wrong 'a setting was left behind'
expect 1 'no User-Mode Scheduling here' "$hello"
expect 1 'UMS is not installed in it' "$umsrun" --uninstall-prefix

# a setting of the user's that is what we need is the user's afterwards, too
run reg add "$overrides" /v '*kernel32' /d builtin /f
expect 0 'every 64-bit program' "$umsrun" --install-prefix
expect 0 'every 64-bit program' "$umsrun" --install-prefix       # again
expect 0 "restored $dir/prefix-$wine" "$umsrun" --uninstall-prefix
run reg query "$overrides"
grep -q '\*kernel32.*builtin' "$dir/out" || wrong "a setting of the user's was removed"
grep -q 'native' "$dir/out" && wrong 'a setting was left behind'
run reg delete "$overrides" /v '*kernel32' /f

# undone without umsrun, as docs/troubleshooting.md says: without the setting Wine takes its own kernel32
expect 0 'every 64-bit program' "$umsrun" --install-prefix
UMS_TEST_OVERRIDES=kernel32=b run reg delete "$overrides" /v kernel32 /f
rm "$system32/kernel32_ums.dll" "$system32/ntdll_ums.dll"
expect 1 'no User-Mode Scheduling here' "$hello"
run reg add "$overrides" /v '*kernel32' /d native,builtin /f     # and the user has changed the other setting
expect 0 "restored $dir/prefix-$wine" "$umsrun" --uninstall-prefix
run reg query "$overrides"
grep -q 'native,builtin' "$dir/out" || wrong "a setting of the user's was removed"
run reg delete "$overrides" /v '*kernel32' /f
cmp "$system32/kernel32.dll" "$dir/before.dll" || failed=1

# somebody has put Wine's file back: the rest can still be taken out
expect 0 'every 64-bit program' "$umsrun" --install-prefix
cp "$dir/before.dll" "$dir/back.dll"
mv "$dir/back.dll" "$system32/kernel32.dll"
expect 2 'a part of it is still there' "$umsrun" --prefix-status
expect 0 'what was left' "$umsrun" --uninstall-prefix
[ ! -e "$system32/kernel32_ums.dll" ] || wrong 'a DLL was left behind, with the setting'
expect 1 'UMS is not installed in it' "$umsrun" --uninstall-prefix
# or if only a setting is left
run reg add "$overrides" /v kernel32 /d native,builtin /f
expect 2 'a part of it is still there' "$umsrun" --prefix-status
expect 0 'what was left' "$umsrun" --uninstall-prefix
run reg query "$overrides"
grep -q kernel32 "$dir/out" && wrong 'a setting was left behind'
expect 1 'UMS is not installed in it' "$umsrun" --uninstall-prefix

# not Wine's: left alone
cp "$umsrun" "$system32/kernel32.new"
mv "$system32/kernel32.new" "$system32/kernel32.dll"
expect 2 "is not Wine's own" "$umsrun" --install-prefix
exit $failed
