#!/usr/bin/env python3
"""hud_test.py UMSRUN BUSY: UMS_HUD and umsrun --top.

Copyright 2026 the UMS shim authors
SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import lost_start                               # noqa: E402: it lies in the folder above

WINERUN = os.path.join(HERE, '..', '..', 'scripts', 'winerun')
LINE = re.compile(r'^ums: (\d+) sched (\d+) ready (\d+) run (\d+) blocked (\d+) susp (\d+)[kM]? switches/s *$')
MANY_LINES = 100                                # it is in its state long before; counted, not timed
failures = 0


def expect(condition, *what):
    global failures
    if not condition:
        failures += 1
        print('failed:', *what)


def start(hud, *args, text=True):
    environment = {key: value for key, value in os.environ.items() if key != 'UMS_HUD'}
    if hud:
        environment['UMS_HUD'] = hud
    return subprocess.Popen([WINERUN, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=text, env=environment)


def figures(text):
    """Of all lines; each has to be one."""
    lines = [line for line in re.split(r'[\r\n]+', text) if line]
    found = [LINE.match(line) for line in lines]
    expect(all(found), 'odd lines', lines)
    expect(all(len(line) < 80 for line in lines), 'lines that do not fit a console', lines)
    expect('\r' not in text, 'a line is written over, and this is no console', text)
    return [tuple(map(int, match.groups())) for match in found if match]


def is_right(line):
    """What the program says of itself: two schedulers, each with a worker that runs; three workers
    wait, one of them without its thread; others are ready, two of them suspended."""
    return line[:5] == (2, 4, 2, 3, 2)


def main(umsrun, busy):
    process, line = lost_start.begin(lambda: start('1', umsrun, busy, text=False))
    pid = line.split()[-1].decode()
    # it goes on until it is told to end: so there is a line sooner or later
    text = ''
    is_still = False
    for _ in range(MANY_LINES):
        line = process.stderr.readline().decode().strip('\n')
        text += line + '\n'
        if LINE.match(line) and is_right(figures(line)[0]) and figures(line)[0][5] == 0:
            is_still = True
            break
    expect(is_still, 'no line is right and counts no switches', text)
    figures(text)
    top, out, err = lost_start.finish(lambda: start('', umsrun, '--top', pid, '2'))
    expect(top.returncode == 0 and err == '', '--top', top.returncode, err)
    expect(len(figures(out)) == 2 and all(is_right(line) and line[5] == 0 for line in figures(out)), out)
    out, err = process.communicate(b'\n', timeout=60 * lost_start.FACTOR)
    expect(process.returncode == 5, 'status', process.returncode, out)
    quiet, line = lost_start.begin(lambda: start('quiet', umsrun, busy))
    pid = line.split()[-1]
    top, out, _ = lost_start.finish(lambda: start('', umsrun, '--top'))
    expect(top.returncode == 0 and re.search(rf'^ *{pid} +{os.path.basename(busy)} +ums: \d', out, re.M), 'the list', out)
    top, line = lost_start.begin(lambda: start('', umsrun, '--top', pid))
    expect(LINE.match(line.strip()), 'one', line)
    _, err = quiet.communicate('\n', timeout=60 * lost_start.FACTOR)
    expect(err == '', 'not quiet', err)
    alone, out, err = lost_start.finish(lambda: start('quiet', umsrun, busy, 'alone'))
    expect(alone.returncode == 6, 'status of the last thread', alone.returncode, out, err)
    out, err = top.communicate(timeout=60 * lost_start.FACTOR)
    expect(top.returncode == 0, 'ends with the process', top.returncode, err)
    refused(umsrun, busy)


def refused(umsrun, busy):
    process, line = lost_start.begin(lambda: start('', umsrun, busy))
    pid = line.split()[-1]
    top, out, err = lost_start.finish(lambda: start('', umsrun, '--top'))
    expect(top.returncode == 0 and re.search(rf'^ *{pid} .*has UMS; no counters', out, re.M), 'the list', out, err)
    expect('services.exe' not in out and 'explorer.exe' not in out, 'programs without UMS', out)
    for args, want in ((('--top', pid), 'has no counters'), (('--top', '3'), 'no such process'),
                       (('--top', 'game'), 'not a process id'), (('--top', pid + 'x'), 'not a process id')):
        top, _, err = lost_start.finish(lambda wanted=args: start('', umsrun, *wanted))
        expect(top.returncode == 2 and want in err, args, top.returncode, err)
    process.communicate('\n', timeout=60 * lost_start.FACTOR)
    odd, _ = lost_start.begin(lambda: start('2', umsrun, busy))
    _, err = odd.communicate('\n', timeout=60 * lost_start.FACTOR)
    expect(odd.returncode == 5 and 'UMS_HUD=2' in err, 'an odd value', odd.returncode, err)
    top, out, err = lost_start.finish(lambda: start('', umsrun, '--top'))
    # Other tests run in this prefix at the same time. Theirs have no counters, and ours have ended.
    others = [line for line in out.splitlines() if line.strip()]
    none = top.returncode == 1 and re.search(r'no program with UMS runs in /.*prefix', out + err)
    expect(none or (top.returncode == 0 and others and all('no counters' in line for line in others)),
           'none, in a named prefix', top.returncode, out, err)


if __name__ == '__main__':
    main(*sys.argv[1:])
    sys.exit(1 if failures else 0)
