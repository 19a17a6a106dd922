#!/bin/sh
# release.sh BUILD: the packages of this build have what they should, come out the same twice, and give a person who has
# nothing but one of them, and no Wine prefix, a program with UMS. UMS_WINE, VERSION, CMAKE: from CTest.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
set -eu
build=$1
here=$(dirname "$(readlink -f "$0")")
make=$(dirname "$(dirname "$here")")/packaging/release.sh
tmp=$(mktemp -d)
export HOME="$tmp/home" XDG_RUNTIME_DIR=/tmp
mkdir "$HOME" "$tmp/path"
unset WINEPREFIX DISPLAY WAYLAND_DISPLAY UMS_HOOK UMS_ENGINE UMS_LOG
if [ "$UMS_WINE" = host ]; then
    wine=${WINE:-wine} wineserver=${WINESERVER:-$(command -v wineserver || echo /usr/lib/*/wine/wineserver)}
else
    unset WINE WINESERVER WINELOADER
    wine=$build/wine-$UMS_WINE/wine64 wineserver=$build/wine-$UMS_WINE/wineserver
    printf '#!/bin/sh\nexec "%s" "$@"\n' "$wine" > "$tmp/path/wine"
    chmod +x "$tmp/path/wine"
    PATH=$tmp/path:$PATH
fi
end()
{
    WINEPREFIX=$HOME/.wine "$wineserver" -k > /dev/null 2>&1 || true
    rm -rf "$tmp"
}
trap end EXIT

die()
{
    echo "$@"
    [ ! -e "$tmp/out" ] || cat "$tmp/out"
    exit 1
}

# ---- the same bytes, whoever makes them and when ----
(umask 022; TZ=UTC "$make" all "$build" "$tmp/one") > "$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
(umask 077; TZ=Asia/Tokyo LANG=de_DE.UTF-8 "$make" all "$build" "$tmp/two") > "$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
for file in "ums-$VERSION-win64.zip" "ums_${VERSION}_amd64.deb" "ums-dev_${VERSION}_all.deb" "ums-$VERSION-win11.zip"; do
    cmp "$tmp/one/$file" "$tmp/two/$file" || die "$file differs"
done

# ---- Debian: an empty home, no prefix ----
dpkg-deb -x "$tmp/one/ums_${VERSION}_amd64.deb" "$tmp/deb"
umsrun=$tmp/deb/usr/bin/umsrun
[ "$("$umsrun" --version)" = "umsrun $VERSION" ] || die 'umsrun --version'
# all in a row: the wineserver has not yet written the registry of a prefix that was just made. A relative name.
cp "$tmp/deb/usr/lib/ums/hello_ums.exe" "$tmp/hello.exe"
cd "$tmp"
"$umsrun" --install-prefix home/.wine > "$tmp/out" 2>&1 && die "--install-prefix makes a prefix that nobody asked for"
# a wineserver that stays, for ten minutes if nobody ends it: a program that starts on a loaded machine while one ends gives up after a few
# seconds [seen: "a wine server seems to be running, but I cannot connect to it"]
mkdir "$HOME/.wine"
WINEPREFIX=$HOME/.wine "$wineserver" -p600
"$umsrun" --install-prefix home/.wine --create > "$tmp/out" 2>&1 || die "umsrun --install-prefix: status $?"
"$umsrun" --prefix-status home/.wine > "$tmp/out" 2>&1 || die "umsrun --prefix-status of a new prefix: status $?"
WINEDEBUG=-all "${WINE:-wine}" hello.exe > "$tmp/out" 2>&1 || die "hello.exe in a prefix with the shim: status $?"
"$umsrun" --uninstall-prefix home/.wine > "$tmp/out" 2>&1 || die "umsrun --uninstall-prefix of a new prefix: status $?"
grep -q '^restored ' "$tmp/out" || die 'umsrun --uninstall-prefix'
cd /
"$umsrun" > "$tmp/out" 2>&1 || die "umsrun without a program: status $?"
grep -q "^engine: $("$here/../auto_engine.py")" "$tmp/out" || die 'the demo does not say which engine it has'
[ -e "$HOME/.wine/.update-timestamp" ] || die 'no prefix was made'
(cd "$tmp" && "$umsrun" hello.exe) > "$tmp/out" 2>&1 || die "umsrun hello.exe: status $?"
grep -q 'tick tock' "$tmp/out" || die 'hello.exe printed'
[ "$(wc -l < "$tmp/out")" = 2 ] || die 'hello.exe, and more than it prints'
set +e
"$umsrun" "$tmp/nothing.exe" > "$tmp/out" 2>&1
status=$?
set -e
[ $status = 2 ] && grep -q 'no such file' "$tmp/out" || die "a program that is not there: status $status"
dpkg-deb -x "$tmp/one/ums-dev_${VERSION}_all.deb" "$tmp/dev"
man3=$tmp/dev/usr/share/man/man3
for page in "$tmp"/deb/usr/share/man/man1/umsrun.1.gz "$tmp"/deb/usr/share/man/man1/umsinfo.1.gz \
    "$tmp"/deb/usr/share/man/man1/umstrace.1.gz "$man3"/ums_completion_list.3.gz "$man3"/ums_thread_context.3.gz \
    "$man3"/ums_scheduler.3.gz "$man3"/ums_rtl.3.gz "$man3"/worker_factory.3.gz; do
    man --warnings -E UTF-8 -l "$page" > "$tmp/out" 2> "$tmp/err" || die "the man page $page"
    [ ! -s "$tmp/err" ] || die "the man page $page: $(cat "$tmp/err")"
done
# each function that the DLLs export and the headers declare has a page, whose text is the header's
count=0
for function in $(sed -n 's/^[A-Z_]* \(WINAPI\|NTAPI\) \([A-Za-z]*\)(.*/\2/p' "$here"/../../include/*.h); do
    count=$((count + 1))
    MANWIDTH=999 man -M "$tmp/dev/usr/share/man" 3 "$function" > "$tmp/out" 2>&1 || die "$function has no man page"
    grep -q "^ *$function(" "$tmp/out" || [ "${function#Zw}" != "$function" ] || die "the man page of $function does not declare it"
done
[ $count -gt 40 ] || die "only $count functions are found in the headers"
MANWIDTH=999 man -M "$tmp/dev/usr/share/man" 3 UmsThreadYield > "$tmp/out" 2>&1
grep -q 'Give the processor back to the scheduler' "$tmp/out" || die 'the man page of UmsThreadYield does not say what it does'
for file in bin/umsrun bin/umstrace share/ums/umstrace.html share/ums/umstrace_ring.py share/ums/wine.sh share/ums/usage.txt share/ums/ums.verb lib/ums/umsrun.exe lib/ums/umsinfo.exe \
    lib/ums/kernel32_ums.dll lib/ums/ntdll_ums.dll lib/ums/umsdemo.exe lib/ums/hello_ums.exe lib/ums/umstest.exe \
    share/bash-completion/completions/umsrun share/bash-completion/completions/umstrace \
    share/zsh/vendor-completions/_umsrun share/metainfo/io.github.ums_shim.ums.metainfo.xml \
    share/doc/ums/README.md share/doc/ums/copyright share/doc/ums/changelog.gz; do
    [ -s "$tmp/deb/usr/$file" ] || die "the Debian package has no $file"
done

# ---- umstrace from the package finds its page, and completion knows all options of --help, and no other ----
cat > "$tmp/trace.json" << 'END'
{"traceEvents":[{"ph":"B","pid":1,"tid":1,"ts":1,"cat":"idle","name":"idle"},{"ph":"E","pid":1,"tid":1,"ts":2}],
"otherData":{"producer":"ums","format":1,"lost":0}}
END
"$tmp/deb/usr/bin/umstrace" --html "$tmp/page.html" "$tmp/trace.json" && grep -q '<html' "$tmp/page.html" || die 'umstrace --html'
"$umsrun" --help | grep -o -e '--[a-z][a-z-]*' | sort -u > "$tmp/options"
# shellcheck disable=SC2016
bash -c '. "$1"
complete_it() { COMP_WORDS=(umsrun "$@") COMP_CWORD=$#; _umsrun; printf "%s\n" "${COMPREPLY[@]%=}"; }
complete_it --; for first in --install --install-prefix --info; do complete_it $first --; done
' - "$tmp/deb/usr/share/bash-completion/completions/umsrun" | sort -u > "$tmp/completed"
diff "$tmp/options" "$tmp/completed" || die "completion and --help differ"
for option in $(cat "$tmp/options"); do
    grep -q -e "$option" "$tmp/deb/usr/share/zsh/vendor-completions/_umsrun" || die "zsh's completion does not know $option"
done

# its words when something is missing
PATH=/nowhere /bin/sh -c ". '$tmp/deb/usr/share/ums/wine.sh'; die gone" > "$tmp/out" 2>&1 && die 'die does not'
mkdir -p "$tmp/old"
echo '#arch=win32' > "$tmp/old/system.reg"
WINEPREFIX=$tmp/old "$umsrun" > "$tmp/out" 2>&1 && die 'a 32-bit prefix is not refused'
grep -q 'old is a 32-bit' "$tmp/out" || die 'a 32-bit prefix'

# ---- Debian: for developers ----
export PKG_CONFIG_PATH="$tmp/dev/usr/x86_64-w64-mingw32/lib/pkgconfig"
# shellcheck disable=SC2046
x86_64-w64-mingw32-gcc -static $(pkg-config --cflags ums) "$tmp/dev/usr/share/doc/ums-dev/examples/hello_ums.c" \
    $(pkg-config --libs ums) -o "$tmp/dev/hello.exe" > "$tmp/out" 2>&1 || die 'ums-dev: the compiler'
cp "$tmp"/dev/usr/x86_64-w64-mingw32/bin/*_ums.dll "$tmp/dev"
WINEDEBUG=-all "$wine" "$tmp/dev/hello.exe" > "$tmp/out" 2>&1 || die "a program built with ums-dev: status $?"
grep -q 'tick tock' "$tmp/out" || die 'a program built with ums-dev'

# ---- the zip, with Wine alone ----
(cd "$tmp" && unzip -q "one/ums-$VERSION-win64.zip")
zip=$tmp/ums-$VERSION-win64
WINEDEBUG=-all "$wine" "$zip/bin/umsrun.exe" "$tmp/hello.exe" > "$tmp/out" 2>&1 || die "from the zip: status $?"
grep -q 'tick tock' "$tmp/out" || die 'from the zip'
(cd "$tmp" && "$zip/bin/umsrun" hello.exe) > "$tmp/out" 2>&1 || die "umsrun from the zip: status $?"
grep -q 'tick tock' "$tmp/out" || die 'umsrun from the zip'
WINEDEBUG=-all "$wine" "$zip/bin/umsrun.exe" --info > "$tmp/out" 2>&1 || die "--info from the zip: status $?"
grep -q 'User-Mode Scheduling works here' "$tmp/out" || die '--info from the zip'
for file in README.md LICENSE CHANGELOG.md docs/README.md bin/umsrun share/ums/wine.sh bin/umstrace bin/umstrace.html bin/umstrace_ring.py bin/umsrun.exe bin/umsinfo.exe \
    bin/umstest_bound.exe bin/umstest_probe.dll bin/hello_ums.exe bin/umsdemo.exe bin/kernel32_ums.dll bin/ntdll_ums.dll bin/umstest.exe \
    include/ums.h lib/libkernel32_ums.a lib/cmake/ums/umsConfig.cmake lib/pkgconfig/ums.pc samples/hello_ums.c; do
    [ -s "$zip/$file" ] || die "the zip has no $file"
done
# no path of this machine
! grep -rl "$(dirname "$build")" "$zip" "$tmp/deb" > "$tmp/out" || die 'these name the folder of the build'
echo 'four packages, twice the same; the demo and hello_ums from them'
