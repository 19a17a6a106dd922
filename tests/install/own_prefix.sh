# Sourced: a prefix and a wineserver of the test's own in $dir, and what its tests need. $as: what Wine is started with.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
top=$(dirname "$(dirname "$(dirname "$(readlink -f "$0")")")")
. "$top/tests/lost_start.sh"
build=$(readlink -f "${UMS_BUILD:-$top/build}")
wine=${UMS_WINE:-host}
as=
failed=0
dir=$(mktemp -d "$build/own.XXXXXX")             # not in /tmp, which may be a file system of its own: hard links
export UMS_BUILD="$dir"

wrong()
{
    echo "$*"
    cat "$dir/out"
    failed=1
}

run()
{
    $as "$top/scripts/winerun" "$@" > "$dir/out" 2>&1 < /dev/null
}

# expect STATUS WORDS COMMAND...
expect()
{
    status=$1 words=$2
    shift 2
    run "$@"
    got=$?
    if [ $got != "$status" ] && lost_start $got "$dir/out"; then
        run "$@"
        got=$?
    fi
    made_again "$0" "$dir/out"
    grep 'gave up after waiting' "$dir/out" || true         # for CTest (wine.cmake)
    [ $got = "$status" ] || wrong "$*: status $got, expected $status"
    grep -q -e "$words" "$dir/out" || wrong "$*: expected \"$words\""
}

end()
{
    "$top/scripts/winerun" --cleanup > /dev/null 2>&1
    rm -rf "$dir"
}
trap end EXIT

# The files of the tests' prefix by hard links: they are replaced here, never written to. Registry files are written to.
[ "$wine" = host ] || ln -s "$build/wine-$wine" "$dir/wine-$wine"
mkdir "$dir/prefix-$wine"
cp -al "$build/prefix-$wine/drive_c" "$dir/prefix-$wine/" || exit 1
cp -a "$build/prefix-$wine/dosdevices" "$dir/prefix-$wine/"
cp -a "$build/prefix-$wine/".update-timestamp "$build/prefix-$wine/"*.reg "$dir/prefix-$wine/" 2> /dev/null
# For tests that want one that does not end with the last program: WINEPREFIX=$dir/prefix-$wine "$server" -p600
case $wine in
host) server=${WINESERVER:-$(command -v wineserver || echo /usr/lib/*/wine/wineserver)} ;;
*)    server=$dir/wine-$wine/wineserver ;;
esac
