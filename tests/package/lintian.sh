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
lintian --allow-root --fail-on error,warning "$tmp"/*.deb
