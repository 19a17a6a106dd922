#!/bin/sh
# rights.sh UMSRUN ODD UMSINFO: a process with more rights than its user reads no ums.conf and follows no path. Its
# rights: an effective group that is not its own, kept over exec, for which Linux sets AT_SECURE. Nor does one that cannot
# find out: its /proc/self/auxv is a socket, which cannot be opened. Skips (77) where that is not allowed; without the
# right to mount it does the first part, and skips.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
umsrun=$1
. "$(dirname "$0")/common.sh"
cp "$2" odd.exe
cp "$3" umsinfo.exe
cp "$(dirname "$3")/kernel32_ums.dll" "$(dirname "$3")/ntdll_ums.dll" .
setpriv --egid 65534 --keep-groups true 2> err || { cat err; exit 77; }

# Wine's own loader: a shell script in front of it gives the rights back, and the unpacked Wine has one for each process
loader=/usr/lib/wine/wine64
[ "$UMS_WINE" = host ] && [ "$(head -c 4 $loader | tail -c 3)" = ELF ] || { echo "Wine is started by a script"; exit 77; }
build=$(readlink -f "${UMS_BUILD:-$(dirname "$run")/../build}")

cat > with_rights << END
#!/bin/sh
export WINEPREFIX='$build/prefix-host' WINEDEBUG=-all TZ=Asia/Kabul
exec \$RIGHTS '$loader' "\$@"
END
# the process keeps its number; a program that umsrun starts would have another
cat > not_told << 'END'
#!/bin/sh
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
exec unshare --mount sh -c 'mount --bind socket /proc/$$/auxv && exec "$@"' sh "$@"
END
chmod +x with_rights not_told
run=$PWD/with_rights

conf 'UMS_HOOK=stubs' 'root:x:0:0'
export UMS_LOG=info UMS_ENGINE=handoff "UMS_LOG_FILE=Z:$dir/log-file"
start odd.exe RIGHTS=
ended 0 2 'its own rights'
said 'its own rights' 'ums.conf line 2: ' 'root:x:0:0'
said 'its own rights' 'active, engine=handoff hook=stubs'
[ -s log-file ] || wrong 'its own rights: no file'

rm log-file
start odd.exe 'RIGHTS=setpriv --egid 65534 --keep-groups'
ended 0 2 'more rights'
said 'more rights' 'UMS_LOG_FILE is not followed' 'more rights'
said 'more rights' 'active, engine=handoff hook=dispatcher'
[ ! -e log-file ] || wrong 'more rights: a file'

unshare --mount true 2> err || { cat err; exit "$([ $failed != 0 ] && echo 1 || echo 77)"; }

# tells RIGHTS LINES...
tells()
{
    begin out err env "RIGHTS=$1" "$run" umsinfo.exe
    [ "$got" = 0 ] || wrong "umsinfo, $1: status $got"
    what=$1
    shift
    for line in "$@"; do
        tr -d '\r' < out | grep -q -- "$line" || wrong "umsinfo, $what: expected [$line]"
    done
}

tells '' '^hook  *stubs: UMS_HOOK asks for it' 'ums.conf was read'
[ -s log-file ] || wrong 'umsinfo, its own rights: no file'
rm -f log-file
tells ./not_told '^hook  *dispatcher' 'UMS_LOG_FILE is not followed'
[ ! -e log-file ] || wrong 'rights that cannot be found out: a file'
exit $failed
