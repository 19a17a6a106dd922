#!/bin/sh
# run.sh holds|ends|"finds ERROR" MODEL DIRECTORY [-O1] [-DNAME[=VALUE]]...: spin tries out the model with these macros. -O1: it
# takes so long that compiling well is worth it.
#   holds   all states are seen, and none is an error
#   ends    the same, and no run is endless (needs more time)
#   finds   this error is found: "stuck", no process can go on; or a part of what is asserted and does not hold, ":"
#           marking its ends. Blanks and parentheses do not count.
# DIRECTORY is made, and keeps pan's output (out) and, if there is an error, the way to it (ums.pml.trail). To read it:
#   spin -t -p -g -k DIRECTORY/ums.pml.trail [-D...] MODEL
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
set -eu
want=$1 model=$(readlink -f "$2") directory=$3
shift 3
optimize=-O0
if [ "${1-}" = -O1 ]; then
    optimize=$1
    shift
fi

mkdir -p "$directory"
cd "$directory"
rm -f pan pan.* ums.pml.trail out words
cp "$model" ums.pml
for part in "${model%.pml}"_*.pml; do
    [ ! -e "$part" ] || cp "$part" .
done

spin "$@" -a ums.pml > out 2>&1 || { cat out; exit 1; }
arguments=-m100000
case $want in
ends) options=-DNP arguments="$arguments -l" ;;
*)    options='-DSAFETY -DNOFAIR' ;;
esac
# a thread that others stop has no steps that nobody sees
case "$*" in
*-DSUSPENDERS* | *-DHOLDERS* | *-DOUTSIDE* | *-DENDED*) options="$options -DNOREDUCE" ;;
esac
# compiling takes longer than most runs
compile=gcc
if command -v ccache > /dev/null; then
    compile="ccache gcc"
fi
# shellcheck disable=SC2086
$compile "$optimize" -w $options -DMEMLIM=1900 -c -o pan.o pan.c
gcc -o pan pan.o
# shellcheck disable=SC2086
./pan $arguments > out 2>&1 || true
rm -f pan pan.*

errors=$(sed -n 's/.*errors: \([0-9]*\)$/\1/p' out)
grep -E '^pan:|errors:|states, stored$|total actual memory' out || true
grep '^word ' out > words || true                # with -DTRANSITIONS
if grep -qE 'max search depth too small|reached -DMEMLIM|out of memory' out; then
    echo "not all was tried"
    exit 1
fi
case $want in
finds\ *)
    [ "${errors:-0}" -gt 0 ] || { echo "the mistake was not found"; exit 1; }
    found=:$(sed -n 's/ (at depth.*//; s/^pan:1: assertion violated//p; s/^pan:1: invalid end state$/stuck/p' out | tr -d ' ()'):
    case $found in
    *"$(echo "${want#finds }" | tr -d ' ()')"*) ;;
    *) echo "the mistake is to give the error ${want#finds }"; exit 1 ;;
    esac
    ;;
*)     [ "${errors:-1}" -eq 0 ] || exit 1 ;;
esac
