"""For scripts in Python what lost_start.sh is for those of the shell: starts a program, and makes the start in thousands again
that Wine loses: it ends with 1 and not a word. A signal is never that (docs/wine.md).

Copyright 2026 the UMS shim authors
SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import sys

FACTOR = int(os.environ.get('UMSTEST_TIME_FACTOR', '1'))        # of a loaded machine, as for umstest
lost = False


def is_lost(process, *texts):
    """Once in a script, and not quietly: ./check counts them in all scripts, and fails when there is more than one."""
    global lost
    if lost or process.returncode != 1 or any(texts):
        return False
    lost = True
    print('a start was lost, it is made again')
    if os.environ.get('UMS_LOST_STARTS'):
        with open(os.environ['UMS_LOST_STARTS'], 'a', encoding='utf-8') as file:
            print(sys.argv[0], file=file)
    return True


def made_again(text):
    """The text without what umsrun says of a start that it has made again, which ./check counts, too."""
    lines = text.splitlines(keepends=True)
    again = [line for line in lines if 'a start was lost (error 1359)' in line]
    if os.environ.get('UMS_LOST_STARTS'):
        with open(os.environ['UMS_LOST_STARTS'], 'a', encoding='utf-8') as file:
            file.writelines(f'{sys.argv[0]} (error 1359)\n' for _ in again)
    return ''.join(line for line in lines if line not in again)


def finish(start, timeout=60):
    """start(): a Popen with both outputs piped. The process, which has ended, and its outputs."""
    process = start()
    out, err = process.communicate(timeout=timeout * FACTOR)
    if is_lost(process, out, err):
        process = start()
        out, err = process.communicate(timeout=timeout * FACTOR)
    for line in (*str(out).splitlines(), *str(err).splitlines()):
        if 'gave up after waiting' in line:
            print(line)                         # for CTest (wine.cmake)
    return process, out, made_again(err)


def begin(start):
    """The same with a program that prints a line and goes on: the process and the line."""
    process = start()
    line = process.stdout.readline()
    if not line:
        _, err = process.communicate()
        if is_lost(process, err):
            process = start()
            line = process.stdout.readline()
    return process, line
