#!/bin/sh
# lintian.sh BUILD: Debian's own check of packages finds nothing in ours but what packaging/debian/*.lintian-overrides gives
# reasons for. VERSION, CMAKE: from CTest.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
set -eu
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$(dirname "$(readlink -f "$0")")/../../packaging/release.sh" deb "$1" "$tmp"
# since Debian 13: AppStream misses the project's homepage, and it has none yet. An older lintian knows neither this nor an
# override of it.
homepage=appstream-metadata-validation-failed
suppress=
if lintian-explain-tags $homepage > /dev/null 2>&1; then suppress="--suppress-tags $homepage"; fi
# shellcheck disable=SC2086
lintian --allow-root $suppress --fail-on error,warning "$tmp"/*.deb
