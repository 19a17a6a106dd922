#!/bin/sh
# launchers.sh UMSRUN HELLO SOURCE: the script umsrun in front of other launchers, with a Wine in a folder of its own that nothing
# is written to, a prefix of its own, and spaces in all names: as Steam, Lutris and the like have it. HELLO uses UMS.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
umsrun=$1 hello=$2 source=$3
build=$(readlink -f "${UMS_BUILD:-$source/build}")
which=${UMS_WINE:-host}
failed=0
dir=$(mktemp -d "$build/own.XXXXXX")
case $which in
host) wine=$(readlink -f "$(command -v wine)") server=$(command -v wineserver || echo /usr/lib/*/wine/wineserver) files=/usr/lib/x86_64-linux-gnu/wine ;;
*)    wine=$build/wine-$which/wine64 server=$build/wine-$which/wineserver files=$(readlink -f "$build/wine-$which") ;;
esac
export WINEPREFIX="$dir/my prefix" XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-/tmp}" TZ=Asia/Kabul WINEDEBUG=-all
export WINEDLLOVERRIDES='mscoree,mshtml,winedbg.exe=' UMS_LOG=info
unset DISPLAY WAYLAND_DISPLAY WINE WINESERVER WINELOADER

end()
{
    "$server" -k > /dev/null 2>&1
    rm -rf "$dir"
}
trap end EXIT

mkdir -p "$dir/my ums/bin" "$dir/my ums/share/ums" "$dir/my games" "$WINEPREFIX"
cp -al "$build/prefix-$which/drive_c" "$WINEPREFIX/" || exit 1
cp -a "$build/prefix-$which/dosdevices" "$build/prefix-$which/.update-timestamp" "$build/prefix-$which/"*.reg "$WINEPREFIX/" 2> /dev/null
bin=$(dirname "$umsrun")
cp "$bin/umsrun.exe" "$bin/kernel32_ums.dll" "$bin/ntdll_ums.dll" "$build/packaging/umsrun" "$dir/my ums/bin"
cp "$source/scripts/wine.sh" "$source/programs/umsrun/usage.txt" "$dir/my ums/share/ums"
cp "$hello" "$dir/my games/my game.exe"
printf '#!/bin/sh\n[ "$1" = run ] || exit 9\nshift\nexec "%s" "$@"\n' "$wine" > "$dir/my launcher"
chmod +x "$dir/my launcher"
: > "$dir/before"
sleep 0.01                                      # dates of files count in some milliseconds

# has_ums COMMAND...: in front of it umsrun
has_ums()
{
    "$dir/my ums/bin/umsrun" "$@" > "$dir/out" 2>&1 < /dev/null
    got=$?
    if [ $got != 0 ] || ! grep -q 'both workers ended' "$dir/out" || [ "$(grep -c '^ums: active' "$dir/out")" != 1 ]; then
        echo "umsrun $*: status $got"
        cat "$dir/out"
        failed=1
    fi
}

cd "$dir/my games" || exit 1
has_ums "$wine" "$dir/my games/my game.exe"
has_ums "$wine" 'my game'
has_ums env A=b "$dir/my launcher" run 'my game.exe'

# repaired WORDS: what umsrun says of the prefix, whose kernel32.dll is gone
repaired()
{
    words=$1
    if [ "$which" = host ]; then
        "$dir/my ums/bin/umsrun" --prefix-status "$WINEPREFIX" > "$dir/out" 2>&1 < /dev/null
    else
        "$dir/my ums/bin/umsrun" "--wine=$build/wine-$which/root/usr/lib/wine" --prefix-status "$WINEPREFIX" > "$dir/out" 2>&1 < /dev/null
    fi
    got=$?
    if [ $got != 1 ] || ! grep -q "$words" "$dir/out" || ! grep -q 'UMS is not installed in it' "$dir/out"; then
        echo "a prefix without kernel32.dll: status $got, expected 1 and \"$words\""
        cat "$dir/out"
        failed=1
    fi
    cmp "$system32/kernel32.dll" "$dir/kernel32.dll" || failed=1
}

# umsrun was killed between its two renames; there is no such file at all
system32=$WINEPREFIX/drive_c/windows/system32
cp "$system32/kernel32.dll" "$dir/kernel32.dll"
"$server" -k
"$server" -w
mv "$system32/kernel32.dll" "$system32/kernel32.dll.ums-old0"
repaired 'kernel32.dll was missing; kernel32.dll.ums-old0 is that file again'
rm "$system32/kernel32.dll"
repaired 'kernel32.dll was missing; it is a copy of .*kernel32.dll now'

changed=$(find "$files" "$dir/my ums" -newer "$dir/before" ! -type d 2> /dev/null)
[ -z "$changed" ] || { echo "written to: $changed"; failed=1; }
exit $failed
