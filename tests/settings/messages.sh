#!/bin/sh
# messages.sh: each message that docs/troubleshooting.md explains is still in the sources, letter by letter.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
top=$(readlink -f "$(dirname "$0")/../..")
failed=0
count=0
# the first cell of a line of the table; and what begins a point of a list
messages=$(sed -n 's/^| `\([^`]*\)` |.*/\1/p; s/^\* `\([a-z][^`=_]* [^`]*\)`.*/\1/p' "$top/docs/troubleshooting.md")
# strings may go on in the next line of a source
sources=$({ find "$top/dlls" "$top/programs" -name '*.c' -exec cat {} +; cat "$top/scripts/wine.sh"; } | tr -s '\n ' '  ' | sed 's/" *"//g')
IFS='
'
for message in $messages; do
    text=${message#ums: }
    text=${text%% ...}
    count=$((count + 1))
    case $sources in
    *"$text"*) ;;
    *) echo "no source has \"$text\""; failed=1 ;;
    esac
done
[ $count -gt 14 ] || { echo "only $count messages found"; failed=1; }
exit $failed
