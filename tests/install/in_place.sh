#!/bin/sh
# in_place.sh UMSRUN FEATURES CRASH: what becomes of a program's file as such with umsrun --install and --uninstall: who may
# read it, its date, its links; read-only files, folders that cannot be written to; a machine that stops half way (CRASH).
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
. "$(dirname "$0")/own_prefix.sh"
umsrun=$1 features=$2 crash=$3
# the rights of anybody, for root too
[ "$(id -u)" != 0 ] || as='setpriv --bounding-set=-dac_override,-dac_read_search'
shim=$(dirname "$umsrun")
original=$dir/original.exe
cp "$features" "$original"
printf overlay-data >> "$original"              # it wants that
mkdir "$dir/work"
cd "$dir/work" || exit 1
# a program that starts when the wineserver is just ending is lost [seen: "recvmsg: Connection reset by peer"]
WINEPREFIX=$dir/prefix-$wine $as "$server" -p600 || exit 1

# is FILE MODE
is()
{
    mode=$(stat -c %a "$1")
    [ "$mode" = "$2" ] || wrong "$1 has mode $mode, expected $2"
}

same()
{
    cmp "$1" "$2" || wrong "$1 is not $2"
}

# fresh NAME [MODE]: a program with a date
fresh()
{
    rm -rf ./*
    cp "$original" "$1"
    chmod "${2-755}" "$1"
    touch -d '2010-01-02 03:04:05' "$1"
}

# ---- mode, date, inode, owner ----
fresh private.exe 700
before=$(stat -c '%i %u %g %a %y' private.exe)
expect 0 'installed UMS into' "$umsrun" --install private.exe --in-place
is private.exe 700
is private.exe.before-ums 600
expect 0 'active: engine' private.exe
chmod 400 private.exe.before-ums                # nothing that --uninstall leaves for that
expect 0 'restored the original' "$umsrun" --uninstall private.exe
[ "$(stat -c '%i %u %g %a %y' private.exe)" = "$before" ] || wrong "was $before, is $(stat -c '%i %u %g %a %y' private.exe)"
[ "$(ls)" = private.exe ] || wrong "something was left behind: $(ls)"
expect 0 'installed UMS into' "$umsrun" --install private.exe
is private_ums.exe 700
rm private_ums.exe
chmod 755 private.exe
expect 0 'installed UMS into' "$umsrun" --install private.exe
is private_ums.exe 755
expect 2 'its copy .*private_ums.exe has' "$umsrun" --uninstall private.exe

# ---- a long path: Windows' functions have taken 260 characters for long ----
long=$(printf '%0150d' 0)
fresh program.exe
mkdir -p "$long/$long"
mv program.exe "$long/$long/"
expect 0 'installed UMS into' "$umsrun" --install "$long/$long/program.exe" --in-place
expect 0 'UMS is installed in it' "$umsrun" --status "$long/$long/program.exe"
expect 0 "restored the original $dir/work/$long/$long/program.exe" "$umsrun" --uninstall "$long/$long/program.exe"
same "$long/$long/program.exe" "$original"
[ "$(ls "$long/$long")" = program.exe ] || wrong "something was left behind: $(ls "$long/$long")"

# ---- links ----
fresh real.exe
mkdir other
ln -s ../real.exe other/link.exe
ln real.exe second.exe
expect 0 'link.exe leads there' "$umsrun" --install other/link.exe --in-place
grep -q '2 names (hard links)' "$dir/out" || wrong 'nothing said of the hard link'
[ -L other/link.exe ] && [ ! -e other/link.exe.before-ums ] && [ -e ntdll_ums.dll ] || wrong "the link: $(ls . other)"
[ real.exe -ef second.exe ] || wrong 'the hard link is gone'
expect 0 'active: engine' real.exe
expect 0 'restored the original' "$umsrun" --uninstall other/link.exe
same real.exe "$original"
[ -L other/link.exe ] && [ "$(ls)" = "$(printf 'other\nreal.exe\nsecond.exe')" ] || wrong "left behind: $(ls . other)"

# ---- read-only, in use, another one's ----
fresh readonly.exe 444
expect 2 'readonly.exe is read-only' "$umsrun" --install readonly.exe --in-place
is readonly.exe 444
[ "$(ls)" = readonly.exe ] || wrong "something was left behind: $(ls)"
chmod 644 readonly.exe
expect 0 'installed UMS into' "$umsrun" --install readonly.exe --in-place
chmod 444 readonly.exe
expect 2 'readonly.exe is read-only' "$umsrun" --uninstall readonly.exe
chmod 644 readonly.exe
expect 0 'restored the original' "$umsrun" --uninstall readonly.exe

if [ "$(id -u)" = 0 ]; then
    fresh foreign.exe
    chown 1234:1234 foreign.exe
    expect 2 'foreign.exe cannot be written to' "$umsrun" --install foreign.exe --in-place
    [ "$(ls)" = foreign.exe ] || wrong "something was left behind: $(ls)"
    chmod 666 foreign.exe
    expect 0 'installed UMS into' "$umsrun" --install foreign.exe --in-place
    expect 0 'restored the original' "$umsrun" --uninstall foreign.exe
    [ "$(stat -c '%u %a' foreign.exe)" = '1234 666' ] || wrong "foreign.exe is $(stat -c '%u %a' foreign.exe)"
fi
fresh busy.exe
cp "$umsrun" busy.exe
cp "$shim/kernel32_ums.dll" "$shim/ntdll_ums.dll" .
mkfifo "$dir/never"
$as "$top/scripts/winerun" busy.exe cmd.exe /c 'echo runs& set /p x=' 0<> "$dir/never" > "$dir/busy" 2>&1 &
until grep -q runs "$dir/busy"; do
    kill -0 $! || { wrong "busy.exe does not run: $(cat "$dir/busy")"; break; }
    sleep 0.1
done
expect 2 'busy.exe is in use' "$umsrun" --install busy.exe --in-place
[ ! -e busy.exe.before-ums ] || wrong 'a backup of nothing'
echo 1<> "$dir/never"
wait

# ---- folders ----
fresh program.exe
expect 0 'installed UMS into' "$umsrun" --install program.exe --in-place
chmod 555 .
expect 2 'the folder .*work. cannot be written to: .*nothing was changed' "$umsrun" --uninstall program.exe
chmod 755 .
expect 0 'UMS is installed in it' "$umsrun" --status program.exe
printf x > broken.exe
chmod 000 broken.exe
expect 0 'stay: .*broken.exe cannot be read' "$umsrun" --uninstall program.exe
rm -f broken.exe ./*.dll
chmod 555 .
expect 2 'the folder .*work. cannot be written to: .*--output' "$umsrun" --install program.exe --in-place
expect 2 'the folder .*work. cannot be written to: .*--output' "$umsrun" --install program.exe
chmod 755 .
[ "$(ls)" = program.exe ] || wrong "something was left behind: $(ls)"

# ---- half way ----
# crash HOW FILE ARGUMENTS...: umsrun, until it writes to FILE
crash()
{
    how=$1 at=$2
    shift 2
    CRASH_HOW=$how CRASH_AT=$at LD_PRELOAD=$crash run "$umsrun" "$@"
}

# first WORDS LATER: in what was written and flushed
first()
{
    one=$(grep -n "$1" "$dir/log" | head -n 1 | cut -d: -f1)
    two=$(grep -n "$2" "$dir/log" | head -n 1 | cut -d: -f1)
    [ -n "$one" ] && [ -n "$two" ] && [ "$one" -lt "$two" ] || { wrong "not \"$1\" before \"$2\":"; cat "$dir/log"; }
}

# safe FILE: it is the original, or there is a complete copy
safe()
{
    cmp -s "$1" "$original" || same "$1.before-ums" "$original"
}

# the copy and its name are on the disk before the first byte is written
fresh program.exe
CRASH_LOG=$dir/log LD_PRELOAD=$crash run "$umsrun" --install program.exe --in-place --dlls "$shim"
first 'fsync .*program.exe.before-ums.ums-new' 'fsync .*work$'
first 'fsync .*work$' 'write .*work/program.exe$'
rm program.exe.before-ums "$dir/log"
CRASH_LOG=$dir/log LD_PRELOAD=$crash run "$umsrun" --uninstall program.exe
first 'fsync .*program.exe.before-ums.ums-new' 'fsync .*work$'
first 'fsync .*work$' 'write .*work/program.exe$'
same program.exe "$original"

# in the backup: as if nothing had been; the next one is not in the way of its remains
fresh program.exe 700
crash die before-ums.ums-new --install program.exe --in-place --dlls "$shim"
[ -e program.exe.before-ums.ums-new ] || wrong 'it was not interrupted in the backup'
same program.exe "$original"
[ ! -e program.exe.before-ums ] || wrong 'half a backup'
# in the file
crash die work/program.exe --install program.exe --in-place --dlls "$shim"
cmp -s program.exe "$original" && wrong 'it was not interrupted in the file'
safe program.exe
is program.exe.before-ums 600
expect 2 'the original is .*program.exe.before-ums' "$umsrun" --install program.exe --in-place --dlls "$shim"
expect 2 'the original is .*program.exe.before-ums' "$umsrun" --uninstall program.exe
cp "$original" program.exe
printf x >> program.exe
expect 2 'before-ums is there already' "$umsrun" --install program.exe --in-place --dlls "$shim"
cp "$original" program.exe
expect 0 'installed UMS into' "$umsrun" --install program.exe --in-place --dlls "$shim"
# and out again, with the backup of --install and without one
cp program.exe installed.exe
crash die work/program.exe --uninstall program.exe
cmp -s program.exe installed.exe && wrong 'it was not interrupted in the file, without the shim'
safe program.exe
for gone in no yes; do
    cp installed.exe program.exe
    [ $gone = no ] || rm program.exe.before-ums
    crash die work/program.exe --uninstall program.exe
    cmp -s program.exe installed.exe && wrong "it was not interrupted in the file, backup gone: $gone"
    safe program.exe
done
# cut off, replaced by an update, put back by hand
for what in "$original" installed.exe; do
    head -c 3000 "$what" > program.exe
    expect 2 'was interrupted, or the file was changed since then; the original of then is .*before-ums' "$umsrun" --status program.exe
    expect 2 'the original is .*before-ums' "$umsrun" --uninstall program.exe
done
# a backup that only another user may read may be needed
chmod 000 program.exe.before-ums
expect 2 'the original of then is .*before-ums' "$umsrun" --status program.exe
[ "$(wc -l < "$dir/out")" = 1 ] || wrong 'more than one line'
expect 2 'the original is .*before-ums' "$umsrun" --uninstall program.exe
chmod 600 program.exe.before-ums
cp "$umsrun" program.exe
expect 1 'it was replaced since --install .*before-ums is the original of then' "$umsrun" --status program.exe
expect 2 'it was replaced since --install .*can be deleted' "$umsrun" --uninstall program.exe
expect 2 'the original of an --install before .*program.exe was replaced; delete it' "$umsrun" --install program.exe --in-place --dlls "$shim"
same program.exe "$umsrun"
cp "$original" program.exe
expect 1 'before-ums is a copy of it' "$umsrun" --status program.exe
cp "$shim/ntdll_ums.dll" .
expect 0 'the original already; deleted its copy' "$umsrun" --uninstall program.exe
[ ! -e program.exe.before-ums ] && [ -e ntdll_ums.dll ] || wrong "not only the backup was deleted: $(ls)"
grep -q 'kernel32_ums.dll stay' "$dir/out" || wrong 'nothing said of the DLLs'
rm ntdll_ums.dll
same program.exe "$original"
expect 1 'UMS is not installed in it' "$umsrun" --status program.exe
expect 2 'does not have the shim in it' "$umsrun" --uninstall program.exe
# no room: it goes on as it was
rm -f program.exe.before-ums
cp "$original" program.exe
touch -d '2010-01-02 03:04:05' program.exe
crash full work/program.exe --install program.exe --in-place --dlls "$shim"
grep -q 'it stays as it was' "$dir/out" || wrong 'nothing said of a full disk'
same program.exe "$original"
[ "$(stat -c %Y program.exe)" = "$(date -d '2010-01-02 03:04:05' +%s)" ] || wrong 'the date is another, after a full disk'
[ ! -e program.exe.before-ums ] || wrong 'a backup of nothing'
exit $failed
