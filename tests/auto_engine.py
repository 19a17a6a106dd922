#!/usr/bin/env python3
# auto_engine.py [--call]: which engine UMS_ENGINE=auto has to choose on this machine, as a pattern for grep; with --call, if GS is set by a
# system call though programs may write it. The call is measured, against the one for the own process id: where it takes
# about as long as the limit, nobody can foresee what another measurement gives, and the pattern takes both.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
import ctypes
import sys
import time

AT_HWCAP2, FSGSBASE = 26, 2
ARCH_PRCTL, ARCH_SET_GS, GETPID = 158, 0x1001, 39
CHEAP, DEAR = 1000, 3000        # ns; the limit is 2,000

libc = ctypes.CDLL(None)
libc.getauxval.restype = ctypes.c_ulong
libc.getauxval.argtypes = [ctypes.c_ulong]
libc.syscall.argtypes = [ctypes.c_long, ctypes.c_ulong, ctypes.c_ulong]
place = ctypes.create_string_buffer(8)


def least(number, *args):
    best = 1 << 62
    for _ in range(1000):
        begin = time.perf_counter_ns()
        libc.syscall(number, *args)
        best = min(best, time.perf_counter_ns() - begin)
    return best


if libc.getauxval(AT_HWCAP2) & FSGSBASE and '--call' not in sys.argv:
    print('carry')
else:
    cost = least(ARCH_PRCTL, ARCH_SET_GS, ctypes.addressof(place)) - least(GETPID, 0, 0)
    print('carry' if cost < CHEAP else 'handoff' if cost > DEAR else r'\(carry\|handoff\)')
