#!/bin/sh
# arguments.sh UMSRUN ARGUMENTS: what arguments.c expects. (CMake's lists would change some of them.)
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
exec "$(dirname "$0")/../../scripts/winerun" "$1" "$2" 'a b' 'c"d' 'e\\' 'f\\"g' '' '%PATH%' '*' "h'i" 'j k\' ';' \
    ' ' 'l;m'
