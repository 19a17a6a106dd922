#!/bin/sh
# docs.sh SOURCE: docs/compatibility.md has every export, and names groups of tests that exist; the documents name files that
# exist.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
cd "$1" || exit 1
failed=0

wrong()
{
    echo "$@"
    failed=1
}

table=docs/compatibility.md
count=0
for name in $(sed -n 's/^@ stdcall -arch=win64 \([A-Za-z0-9_]*\)(.*/\1/p' dlls/*/*.spec); do
    count=$((count + 1))
    grep -Eq "(^| |, )$name( |,|\$)" $table || wrong "$table has no $name"
done
[ $count -gt 40 ] || wrong "only $count names in the .spec files"

# the columns of tests: the fourth of the tables of entry points and of behaviours
groups=$(awk -F' *\\| *' '/^## Hosts/ { exit } NF >= 6 && $2 !~ /^-|^behaviour|^entry/ { print $5 }' $table |
    tr -d ' ' | tr , '\n' | grep -v '`\|^-*$' | sort -u)
for group in $groups; do
    grep -q "^X( *$group," conformance/tests.list.h || wrong "$table: there is no group $group of tests"
done
[ "$(echo "$groups" | wc -l)" -gt 30 ] || wrong "$table: no groups of tests found"

for document in README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md docs/*.md samples/README.md conformance/README.md \
    .github/*/*.yml; do
    # shellcheck disable=SC2013
    for path in $(grep -o '`[A-Za-z_./0-9*]*`' "$document" | tr -d '`' |
        grep -E '^(benchmarks|conformance|dlls/[a-z0-9]*_ums|docs|include|packaging|programs|samples|scripts|tests|\.github)/|\.md$'); do
        found=
        for candidate in $path "$(dirname "$document")"/$path conformance/$path docs/$path; do
            [ ! -e "$candidate" ] || found=1
        done
        [ -n "$found" ] || wrong "$document names $path, which is not there"
    done
done

# one version, which a release changes in three files
version=$(sed -n 's/^project(.* VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
grep -qx "version: $version" CITATION.cff || wrong "CITATION.cff is not of version $version, which CMakeLists.txt has"
grep -q "PRODUCTVERSION *$(echo "$version" | tr . ,),0" dlls/version.rc || wrong "dlls/version.rc is not of version $version"
exit $failed
