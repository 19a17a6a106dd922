#!/bin/sh
# umsrun.sh SOURCE BUILD: what the two scripts umsrun do by themselves, the installed one and the source tree's: options, the
# choice of a prefix and its making. Wine is a script here, which makes prefixes, says what it was asked for, and fails if
# it is told to. VERSION: from CTest.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
source=$1
build=$2
failed=0
tmp=$(readlink -f "$(mktemp -d)")
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp/usr/bin" "$tmp/usr/share/ums" "$tmp/usr/lib/ums" "$tmp/path" "$tmp/home" "$tmp/tmp"
cp "$build/packaging/umsrun" "$tmp/usr/bin"
cp "$source/scripts/wine.sh" "$source/programs/umsrun/usage.txt" "$tmp/usr/share/ums"
: > "$tmp/usr/lib/ums/umsrun.exe"
cat > "$tmp/path/wine" << 'END'
#!/bin/sh
echo "${WINEPREFIX-} $*" >> "$WINE_CALLS"
if [ "$*" = 'wineboot -i' ]; then
    echo "${WINEDLLOVERRIDES-}" > "$WINE_CALLS.boot"
    seq -f 'line %g of wineboot' 9
    [ "${WINE_FAILS-}" != killed ] || kill $PPID
    [ -z "${WINE_FAILS-}" ] || exit 1
    : > "$WINEPREFIX/.update-timestamp"     # the wineserver writes the rest, and later
    exit
fi
echo "${WINEDLLOVERRIDES-none}" > "$WINE_CALLS.overrides"
echo "runs in ${WINEPREFIX-no prefix}: $*"
echo "${0#*/path/} ${WINESERVER-}" > "$WINE_CALLS.wine"
echo "${LC_ALL-}${LC_CTYPE-}${LANG-}" > "$WINE_CALLS.letters"
END
chmod +x "$tmp/path/wine"
export PATH="$tmp/path:$PATH" HOME="$tmp/home" TMPDIR="$tmp/tmp" WINE_CALLS="$tmp/calls"
unset WINEPREFIX WINEARCH WINEDLLOVERRIDES WINE WINESERVER WINELOADER
installed=$tmp/usr/bin/umsrun
cd "$tmp" || exit 1
: > "$WINE_CALLS"

wrong()
{
    echo "$*"
    cat "$tmp/out" "$tmp/err"
    failed=1
}

# run STATUS COMMAND...
run()
{
    expected=$1
    shift
    "$@" > "$tmp/out" 2> "$tmp/err" < /dev/null
    status=$?
    [ $status = "$expected" ] || wrong "$*: status $status, expected $expected"
}

# refuses WORDS COMMAND...: with one line that has them, and Wine is not even started
refuses()
{
    words=$1
    shift
    : > "$WINE_CALLS"
    run 2 "$@"
    grep -qF -e "$words" "$tmp/err" || wrong "$*: expected \"$words\""
    [ "$(wc -l < "$tmp/err")" = 1 ] || wrong "$*: more than one line"
    [ ! -s "$tmp/out" ] && [ ! -s "$WINE_CALLS" ] || wrong "$*: not refused at once"
}

# runs_in PREFIX WORDS COMMAND...
runs_in()
{
    words="runs in $1: $tmp/usr/lib/ums/umsrun.exe${2:+ $2}"
    shift 2
    run 0 "$@"
    [ "$(cat "$tmp/out")" = "$words" ] || wrong "$*: expected \"$words\""
}

# ---- options ----
for umsrun in "$installed" "$source/umsrun"; do
    run 0 "$umsrun" --help
    cp "$tmp/out" "$tmp/help"
    [ ! -s "$tmp/err" ] || wrong "$umsrun --help writes to standard error"
    run 0 "$umsrun" -h
    cmp "$tmp/out" "$tmp/help" || failed=1
    cmp "$tmp/out" "$source/programs/umsrun/usage.txt" || wrong "$umsrun --help: another text"
    run 0 "$umsrun" --version
    [ "$(cat "$tmp/out")" = "umsrun $VERSION" ] || wrong "$umsrun --version"
    refuses '--xyz: there is no such option; see umsrun --help' "$umsrun" --xyz
    refuses '-x: there is no such option' "$umsrun" -x game.exe
    refuses '--verbose: there is no such option' "$umsrun" --verbose
    refuses 'not the name of a prefix' "$umsrun" --install-prefix --help
    refuses 'not the name of a prefix' "$umsrun" --prefix-status ''
    refuses 'needs quotes' "$umsrun" --install-prefix my prefix
    refuses '--create is no option of --uninstall-prefix' "$umsrun" --uninstall-prefix --create
    refuses "$tmp/nothing is no Wine prefix; --create makes one there" "$umsrun" --install-prefix nothing
    refuses 'please unset it' env WINEARCH=win32 "$umsrun" game.exe
    : > game.exe
    refuses '--install-prefix game.exe: this is a file' "$umsrun" --install-prefix game.exe
    refuses 'WINEPREFIX=game.exe: this is a file' env WINEPREFIX=game.exe "$umsrun" game.exe
    refuses "$tmp/nothing is no Wine prefix" "$umsrun" --uninstall-prefix "$tmp/nothing"
    refuses "$tmp/nothing is no Wine prefix" env WINEPREFIX=nothing "$umsrun" --prefix-status
    [ ! -e nothing ] && [ ! -e home/.wine ] || wrong "$umsrun made a prefix"
done
# every option of umsrun.exe is there, and on the man page
count=0
for option in $(cat "$source"/programs/umsrun/*.c | grep -o 'L"--[a-z][a-z-]*"' | tr -d 'L"'); do
    count=$((count + 1))
    grep -q -e "$option\b" "$tmp/help" || wrong "umsrun --help: no $option"
    grep -q -e "Fl $(echo "$option" | cut -c2-)\b" "$source/packaging/umsrun.1" || wrong "umsrun.1: no $option"
done
[ $count -gt 10 ] || wrong "only $count options are found in the source"

# ---- the prefix ----
refuses 'please set WINEPREFIX' env -u HOME "$installed" game.exe
runs_in "$tmp/without" game.exe env -u HOME WINEPREFIX="$tmp/without" "$installed" game.exe
# what keeps Mono and Gecko out of a new prefix is not for the program that the prefix is made for
[ "$(cat "$WINE_CALLS.boot" "$WINE_CALLS.overrides" | tr '\n' ' ')" = 'mscoree,mshtml= none ' ] || wrong 'a new prefix, and a program: WINEDLLOVERRIDES'
runs_in "$tmp/rel" game.exe env WINEPREFIX=rel WINEDLLOVERRIDES=d3d9=n "$installed" game.exe
[ "$(cat "$WINE_CALLS.boot" "$WINE_CALLS.overrides" | tr '\n' ' ')" = 'd3d9=n;mscoree,mshtml= d3d9=n ' ] || wrong 'a WINEDLLOVERRIDES of the user'
runs_in "$tmp/my prefix" --install-prefix "$installed" --install-prefix 'my prefix' --create
grep -q "making a Wine prefix in $tmp/my prefix" "$tmp/err" || wrong 'a new prefix: nothing is said'
[ "$(cat "$WINE_CALLS.boot")" = 'kernel32=b;mscoree,mshtml=' ] || wrong 'a new prefix with Mono or Gecko'
runs_in "$tmp/my prefix" --install-prefix "$installed" --install-prefix 'my prefix'
runs_in "$tmp/my prefix" --prefix-status "$installed" --prefix-status 'my prefix'      # though the wineserver wrote nothing yet
runs_in "$tmp/my prefix" --uninstall-prefix env WINEPREFIX='my prefix' "$installed" --uninstall-prefix
[ ! -s "$tmp/err" ] || wrong 'a prefix that is there'
runs_in "$tmp/home/.wine" '--install --help' "$installed" --install --help      # umsrun.exe's matter
runs_in "$tmp/home/.wine" '--top 7' "$installed" --top 7
runs_in "$tmp/home/.wine" './--xyz.exe --help' "$installed" ./--xyz.exe --help
runs_in "$tmp/home/.wine" '--info' "$installed" --info
[ "$(cat "$WINE_CALLS.overrides")" = none ] || wrong 'programs get WINEDLLOVERRIDES that their user did not set'
runs_in "$tmp/home/.wine" '-- --odd.exe' "$installed" -- --odd.exe
runs_in "$tmp/home/.wine" '' "$installed"
runs_in "$tmp/home/.wine" 'sort a.txt' "$installed" sort a.txt          # Windows' own: no word is a Windows program
[ -z "$(ls -A "$TMPDIR")" ] || wrong 'something stays in TMPDIR'

refuses 'no Wine prefix can be made in' env WINEPREFIX=/proc/version/x "$installed" game.exe
run 2 env WINE_FAILS=killed WINEPREFIX="$tmp/new" "$installed" game.exe
[ -z "$(ls -A "$TMPDIR")" ] || wrong 'it is ended while wineboot runs: something stays in TMPDIR'
run 2 env WINE_FAILS=1 WINEPREFIX="$tmp/new" "$installed" game.exe
grep -q 'line 9 of wineboot' "$tmp/err" || wrong 'wineboot failed: its last line is not shown'
log=$(ls "$TMPDIR"/*)
grep -qF "$log" "$tmp/err" && grep -q 'line 1 of' "$log" || wrong 'wineboot failed: its log is not named'
[ "$(stat -c %a "$log")" = 600 ] || wrong "others can read $log"
refuses 'please set TMPDIR' env TMPDIR=/proc/version WINEPREFIX="$tmp/new" "$installed" game.exe

# ---- other launchers: the prefix and the Wine are theirs ----
ums=$tmp/usr/lib/ums/umsrun.exe
launched()
{
    words=$1
    shift
    run 0 "$@"
    [ "$(cat "$tmp/out")" = "$words" ] && [ ! -s "$tmp/err" ] || wrong "$*: expected \"$words\""
}
printf '#!/bin/sh\necho "$WINEPREFIX"; for a in "$@"; do echo "[$a]"; done\n' > "$tmp/path/steam launcher"
chmod +x "$tmp/path/steam launcher"
launched "runs in no prefix: $ums game.exe -x b.exe" "$installed" wine game.exe -x b.exe
launched "runs in no prefix: $ums notepad" "$installed" wine notepad
launched "runs in /p: $ums /g/My Game.EXE a b" env WINEPREFIX=/p "$installed" "$tmp/path/wine" '/g/My Game.EXE' 'a b'
launched "runs in no prefix: $ums setup.msi" "$installed" env X=1 wine setup.msi
launched "/compat
[--]
[proton]
[waitforexitandrun]
[$ums]
[/games/My Game/game.exe]
[-dx 11]
[]
[*]" env WINEPREFIX=/compat "$installed" "$tmp/path/steam launcher" -- proton waitforexitandrun '/games/My Game/game.exe' '-dx 11' '' '*'

strange=/proc
if [ "$(id -u)" = 0 ]; then
    strange=$tmp/strange
    mkdir "$strange"
    chown 65534 "$strange"
fi
refuses 'belongs to another user' env WINEPREFIX="$strange" "$installed" game.exe

run 0 env -u LC_ALL -u LC_CTYPE -u LANG WINEPREFIX="$tmp/letters" "$installed" game.exe
[ "$(cat "$WINE_CALLS.letters")" = C.UTF-8 ] || wrong 'no language is set: names of files are read as ASCII'
run 0 env -u LC_ALL -u LC_CTYPE LANG=de_DE.UTF-8 WINEPREFIX="$tmp/letters" "$installed" game.exe
[ "$(cat "$WINE_CALLS.letters")" = de_DE.UTF-8 ] || wrong 'a language is set: it is not left alone'

# ---- which Wine ----
# runs_wine WINE WINESERVER COMMAND...
runs_wine()
{
    words="$1 $2"
    shift 2
    rm -f "$WINE_CALLS.wine"
    run 0 "$@"
    [ "$(cat "$WINE_CALLS.wine")" = "$words" ] || wrong "$*: expected '$words', got '$(cat "$WINE_CALLS.wine")'"
}

# a_wine FILES...: a folder with these
a_wine()
{
    rm -rf "$tmp/path/a wine"
    for file in "$@"; do
        mkdir -p "$(dirname "$tmp/path/a wine/$file")"
        cp "$tmp/path/wine" "$tmp/path/a wine/$file"
    done
}

export WINEPREFIX="$tmp/without"
dir="$tmp/path/a wine"
runs_wine wine '' "$installed" game.exe
a_wine bin/wine bin/wineserver                                      # installed
runs_wine 'a wine/bin/wine' "$dir/bin/wineserver" "$installed" --wine="$dir" game.exe
runs_wine 'a wine/bin/wine' "$dir/bin/wineserver" env WINE=/nothing WINESERVER=/other WINELOADER=/x "$installed" \
    --wine='path/a wine' game.exe
runs_wine 'a wine/bin/wine' '' env WINE="$dir/bin/wine" "$installed" game.exe
runs_wine 'a wine/bin/wine' '/my/server' env WINE="$dir/bin/wine" WINESERVER=/my/server "$installed" game.exe
runs_wine 'a wine/bin/wine' '' env WINELOADER="$dir/bin/wine" "$installed" game.exe
run 0 "$installed" --wine="$dir" --version
a_wine files/bin/wine files/bin/wine64 files/bin/wineserver         # a Proton's
runs_wine 'a wine/files/bin/wine64' "$dir/files/bin/wineserver" "$installed" --wine="$dir" game.exe
runs_wine 'a wine/files/bin/wine64' "$dir/files/bin/wineserver" "$installed" --wine="$dir/files" game.exe
a_wine wine server/wineserver                                       # a build tree
runs_wine 'a wine/wine' "$dir/server/wineserver" "$installed" --wine="$dir" game.exe
a_wine wine64 wineserver                                            # scripts/getwine's
runs_wine 'a wine/wine64' "$dir/wineserver" "$installed" --wine="$dir" game.exe
a_wine wine
refuses 'no wineserver; is its build finished?' "$installed" --wine="$dir" game.exe
refuses 'neither wine64 nor wine' "$installed" --wine=home game.exe
refuses 'there is no such folder' "$installed" --wine=nothing game.exe
refuses "needs a Wine's folder; see umsrun --help" "$installed" --wine= game.exe
refuses 'WINE=/nothing: there is no such program' env WINE=/nothing "$installed" game.exe
refuses 'WINELOADER=/nothing: there is no such program' env WINELOADER=/nothing "$installed" game.exe
unset WINEPREFIX

cp "$installed" "$tmp/path/umsrun"
refuses 'works only where its package is installed' "$tmp/path/umsrun" game.exe
exit $failed
