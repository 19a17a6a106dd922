#!/bin/sh
# dlls.sh UMSRUN FEATURES LINKED: kernel32_ums.dll and ntdll_ums.dll beside a program and in system32: whose they are, who needs
# them, what becomes of them. LINKED imports kernel32_ums.dll by its name, as docs/developers.md says.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
. "$(dirname "$0")/own_prefix.sh"
umsrun=$1 features=$2 linked=$3
shim=$(dirname "$umsrun")
system32=$dir/prefix-$wine/drive_c/windows/system32
mkdir "$dir/work"
cd "$dir/work" || exit 1

# fresh NAMES...: an empty folder with programs of these names
fresh()
{
    rm -rf ./*
    for file in "$@"; do
        cp "$features" "$file"
        printf overlay-data >> "$file"          # it wants that
    done
}

# left NAMES...: these are the folder's files, in the order of ls
left()
{
    [ "$(LC_ALL=C ls)" = "$(printf '%s\n' "$@")" ] || wrong "there should be $*, and there is $(LC_ALL=C ls | tr '\n' ' ')"
}

# holds FILE TEXT
holds()
{
    [ "$(cat "$1")" = "$2" ] || wrong "$1 is another file now"
}

# ---- a DLL that is not ours: never overwritten, never deleted ----
for name in kernel32_ums.dll ntdll_ums.dll; do
    fresh game.exe
    echo foreign > $name
    expect 2 "$name is there and is not UMS's; move it away" "$umsrun" --install game.exe
    holds $name foreign
    expect 2 "$name is there and is not UMS's; move it away" "$umsrun" --install game.exe --in-place
    holds $name foreign
    [ "$(find . -type f | wc -l)" = 2 ] || wrong "something was left behind: $(ls)"
    rm $name
    mkdir $name
    expect 2 "$name is there and is not UMS's; move it away" "$umsrun" --install game.exe
    [ "$(find . | wc -l)" = 3 ] || wrong "a folder of that name: $(ls)"
    rmdir $name
    expect 0 'installed UMS into' "$umsrun" --install game.exe --in-place
    rm $name
    echo foreign > $name
    expect 0 "$name is not UMS's and stays" "$umsrun" --uninstall game.exe
    holds $name foreign
    left game.exe $name
done
echo foreign > "$system32/kernel32_ums.dll"
expect 1 'UMS is not installed in it' "$umsrun" --uninstall-prefix
expect 2 "kernel32_ums.dll is there and is not UMS's; move it away" "$umsrun" --install-prefix
holds "$system32/kernel32_ums.dll" foreign
[ ! -e "$system32/ntdll_ums.dll" ] || wrong 'half an installation in system32'
rm "$system32/kernel32_ums.dll"
# an older version of ours is replaced: whatever its code is, it says so itself
fresh game.exe
cp "$shim/kernel32_ums.dll" "$shim/ntdll_ums.dll" .
printf x >> kernel32_ums.dll
expect 0 'replaced .*kernel32_ums.dll, which was another version' "$umsrun" --install game.exe --in-place
cmp kernel32_ums.dll "$shim/kernel32_ums.dll" || failed=1

# ---- who needs them ----
# it was there, if in another version: it stays
expect 0 'restored the original' "$umsrun" --uninstall game.exe
left game.exe kernel32_ums.dll ntdll_ums.dll
# one of them was
fresh game.exe
cp "$shim/kernel32_ums.dll" .
expect 0 'installed UMS into' "$umsrun" --install game.exe --in-place
expect 0 'restored the original' "$umsrun" --uninstall game.exe
[ -e kernel32_ums.dll ] || wrong 'a DLL was deleted that --install had not put there'
# a program that imports them by name
fresh game.exe
expect 0 'installed UMS into' "$umsrun" --install game.exe --in-place
cp "$linked" linked.exe
expect 0 'stay: .*linked.exe needs them too' "$umsrun" --uninstall game.exe
left game.exe kernel32_ums.dll linked.exe ntdll_ums.dll
# programs whose names differ in case only
fresh game.exe Game.exe
printf other >> Game.exe
expect 0 'installed UMS into' "$umsrun" --install Game.exe --in-place --dlls "$shim"
expect 0 'restored the original' "$umsrun" --uninstall Game.exe
cp game.exe Game.exe
expect 0 'installed UMS into' "$umsrun" --install Game.exe --in-place
expect 0 'installed UMS into' "$umsrun" --install game.exe --in-place
expect 0 'stay: .*Game.exe needs them too' "$umsrun" --uninstall game.exe
left Game.exe Game.exe.before-ums game.exe kernel32_ums.dll ntdll_ums.dll
expect 0 'restored the original' "$umsrun" --uninstall Game.exe
left Game.exe game.exe
# the file's name as Windows takes it, in any case
expect 0 'installed UMS into' "$umsrun" --install GAME.EXE --in-place
expect 0 'restored the original' "$umsrun" --uninstall GAME.EXE
left Game.exe game.exe

# ---- elsewhere ----
fresh game.exe
mkdir half
cp "$shim/kernel32_ums.dll" half
expect 2 'half.ntdll_ums.dll is missing' "$umsrun" --install game.exe --dlls half
expect 0 'installed UMS into' "$umsrun" --install game.exe --in-place
expect 2 'with other DLLs; umsrun --uninstall it first' "$umsrun" --install game.exe --in-place --dlls "$shim"
expect 0 'restored the original' "$umsrun" --uninstall game.exe
expect 0 'installed UMS into' "$umsrun" --install game.exe --in-place --dlls "$shim"
expect 0 'installed in .*game.exe already' "$umsrun" --install game.exe --in-place --dlls "$shim"
expect 2 'with other DLLs; umsrun --uninstall it first' "$umsrun" --install game.exe --in-place
left game.exe game.exe.before-ums half

# ---- after an installation that failed ----
fresh game.exe
mkdir game_ums.exe.ums-new.exe
expect 2 'game_ums.exe' "$umsrun" --install game.exe
left game.exe game_ums.exe.ums-new.exe
rmdir game_ums.exe.ums-new.exe
# what an interrupted one has left is no program that needs them
expect 0 'installed UMS into' "$umsrun" --install game.exe
cp game_ums.exe other.exe.ums-new.exe
echo half > kernel32_ums.dll.ums-new.exe
expect 0 'restored the original' "$umsrun" --uninstall game_ums.exe
left game.exe game_ums.exe other.exe.ums-new.exe
exit $failed
