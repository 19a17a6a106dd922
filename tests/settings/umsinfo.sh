#!/bin/sh
# umsinfo.sh UMSRUN UMSINFO: what umsinfo.exe finds, and its exit status: 0 if UMS works where it was started, 1 if not.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
umsrun=$1
. "$(dirname "$0")/common.sh"
bin=$(dirname "$2")
names=47                                        # 14 of kernel32, 4 of thread creation, 15 + 14 of ntdll

# info SETTINGS... -- COMMAND...: status in got, output in out
info()
{
    set_so=
    while [ "$1" != -- ]; do
        set_so="$set_so $1"
        shift
    done
    shift
    # shellcheck disable=SC2086
    begin raw err env $set_so "$run" "$@"
    tr -d '\r' < raw > out
}

# found STATUS WHAT LINES...: it has ended so, and printed these
found()
{
    [ "$got" = "$1" ] || wrong "$2: status $got, expected $1"
    what=$2
    shift 2
    for line in "$@"; do
        grep -q -- "$line" out || wrong "$what: expected [$line]"
    done
}

cp "$2" umsinfo.exe
info -- ./umsinfo.exe --verbose
found 1 'nothing beside it' '^No User-Mode Scheduling here: ' '^names  *0 lead to the shim' ' CreateUmsCompletionList  *host  kernel32.dll+0x'

info -- "$umsrun" --info
head -n 1 out | grep -q '^User-Mode Scheduling works here: by the shim, for this program as it is$' || wrong 'the answer is not first'
grep -q CreateUms out && wrong 'names without --verbose'
case $("$(dirname "$0")/../auto_engine.py") in
carry)   engine='carry: .*trial went well' other='handoff: ' carried='[1-9][0-9]*' ;;
handoff) engine='handoff: it works everywhere' other='carry: .*takes [0-9]* ns here' carried=0 ;;
*)       engine= other= carried='[0-9]*' ;;
esac
info -- "$umsrun" --info --verbose
found 0 'under the launcher' '^host  *wine-[0-9].* on Linux ' '^program  */.*umsinfo.exe$' '^shim  */.*kernel32_ums.dll, version ' \
    "^engine  *$engine" "^engine  *not $other" '^hook  *dispatcher: ' '^hook  *not stubs: ' \
    '^objects  *not user: UMS_LOCAL_OBJECTS does not ask for it; a signal is lost if .*(docs/local_objects.md)$' \
    '^waits  *user: .*threads park outside' '^waits  *not kernel: ' \
    '^settings  *all as by default$' ' CreateUmsCompletionList  *shim  kernel32_ums.dll+0x' \
    ' RtlGetNextUmsListItem  *shim  ntdll_ums.dll+0x' ' ZwWorkerFactoryWorkerReady  *shim  ntdll_ums.dll+0x' \
    "^names  *$names lead to the shim, 0 to the host, 0 are missing$" '^self-test  *passed: 4 workers, .* 4 waits reported, 4 ends$' \
    "^switches  *$carried carried, [0-9]* sent home$" \
    '^User-Mode Scheduling works here: by the shim, for this program as it is$'
[ "$(grep -c '^  [A-Z]' out)" = $names ] || wrong 'not a line for each name'

# what local objects may lose
[ -e "$(dirname "$0")/../../docs/local_objects.md" ] || wrong 'the document that is named is not there'
info UMS_LOCAL_OBJECTS=on -- "$umsrun" --info
found 0 'with local objects' '^objects  *user: UMS_LOCAL_OBJECTS asks for it; a signal is lost if another process takes the handle (docs/local_objects.md)$' \
    '^objects  *not kernel: ' '^settings  *UMS_LOCAL_OBJECTS=on (environment)$'
info UMS_LOCAL_OBJECTS=on UMS_USER_WAITS=off -- "$umsrun" --info
found 0 'local objects that cannot be' '^objects  *not user: it needs UMS_USER_WAITS$'

# the reasons, and where settings come from
conf '[umsinfo.exe]' 'UMS_PARK=address' 'UMS_HOK=stubs'
info UMS_HOOK=stubs UMS_GRACES=1 -- "$umsrun" ./umsinfo.exe
found 0 'settings' '^engine  *not carry: .*cannot sleep outside' '^engine  *handoff: ' '^park  *address: ' \
    '^hook  *not dispatcher: UMS_HOOK ' '^hook  *stubs: UMS_HOOK ' '^waits  *not user: threads park with alerts of their own' \
    '^waits  *kernel: ' '^settings  *UMS_HOOK=stubs (environment)$' \
    '^settings  *UMS_PARK=address (.*ums.conf line 2)$' '^settings  *WRONG: .*ums.conf line 3: .*UMS_HOK$' \
    '^settings  *WRONG: UMS_GRACES (environment) is no setting$' '^settings  *.*ums.conf was read$' \
    '^self-test  *passed' '^switches  *0 carried, [1-9][0-9]* sent home$'
grep -q 'WRONG: UMS_WINE' out && wrong 'a variable of the scripts is none of ours'
rm ums.conf

info UMS_USER_WAITS=off -- "$umsrun" ./umsinfo.exe
found 0 'waits of the host' '^waits  *not user: UMS_USER_WAITS asks for the host' '^waits  *kernel: '

# by itself, with the DLLs beside it
info -- "$bin/umsinfo.exe" --verbose
found 0 'by itself' ' CreateUmsCompletionList  *host  kernel32.dll+.* the shim.s: *kernel32_ums.dll+0x' \
    ' RtlGetNextUmsListItem  *missing; the shim.s: *ntdll_ums.dll+0x' '^self-test  *passed' \
    '^User-Mode Scheduling works here: .*others need umsrun.exe$'
info UMS_HOOK=line -- "$bin/umsinfo.exe"
found 1 'a hook of no kind' '^start  *FAILED: UMS_HOOK=line (environment)' '^self-test  *FAILED: no completion list' \
    '^User-Mode Scheduling DOES NOT WORK here'
info UMS_ENGINE=carry UMS_PARK=address -- "$bin/umsinfo.exe"
found 1 'carried by nobody' '^start  *FAILED: .*cannot sleep' '^engine  *not carry: .*cannot sleep'
exit $failed
