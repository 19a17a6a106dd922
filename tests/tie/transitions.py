#!/usr/bin/env python3
"""transitions.py --write|--check MODELS WORLD...: the table of the changes of a worker's state word that the models make,
tests/tie/transitions.h. MODELS is build/tests/model, where each WORLD's run has left them (tests/model/run.sh). Of worlds
waits_... those count that begin or end a wait, or happen in one; ums.pml has the others.
transitions.py seen LOGS LOG...: whether each line of untied.h is there for something. LOGS is a folder of what the white-box tests
have done; says how many of the model's changes none of them makes, too.

Copyright 2026 the UMS shim authors
SPDX-License-Identifier: LGPL-2.1-or-later
"""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
TABLE = HERE / 'transitions.h'
HEAD = '''/*
 * How the models (tests/model/ums.pml, waits.pml) change the state word of a worker: from what to what. A count is one flag here.
 * Written by transitions.py; the test model.tie compares.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

'''
# as in ums.pml
STATES = ['NONE', 'STARTING', 'QUEUED', 'READY', 'CARRIED', 'RUNNING', 'INKERNEL', 'BLOCKED', 'DEAD']
FLAGS = [(16, 'HOME'), (32, 'STOPPED'), (64, 'PREEMPTED'), (128 | 256, 'SUSPENDING'), (512 | 1024, 'SUSPENDED'),
         (2048, 'HOLD'), (4096, 'FOREIGN'), (8192, 'WAITS')]
HOME, WAITS, CARRIED, RUNNING = 16, 8192, STATES.index('CARRIED'), STATES.index('RUNNING')


def name(word):
    return '|'.join([STATES[word & 15]] + [flag for bits, flag in FLAGS if word & bits])


def with_either_engine(before, after):
    """waits.pml has one engine: with the other the worker runs at home, and may have to stay there."""
    if before & 15 == CARRIED:
        home = before - CARRIED + RUNNING
        return [(before, after), (home, after), (home, after | HOME)]
    return [(before, after), (before | HOME, after | HOME)]


def changes_in(world, text):
    for before, after in re.findall(r'word (\d+) (\d+)', text):
        before, after = int(before), int(after)
        if not world.startswith('waits'):
            yield before, after
        elif (before | after) & WAITS:
            yield from with_either_engine(before, after)


def table(models, worlds):
    lines = set()
    for world in worlds:
        try:
            text = (models / world / 'words').read_text()
        except OSError as error:
            sys.exit(f'transitions.py: the model was not run in the world {world}: {error}')
        for before, after in changes_in(world, text):
            before, after = name(before), name(after)
            if before != after:
                lines.add(f'TRANSITION( {before}, {after} )\n')
    return HEAD + ''.join(sorted(lines))


def changes(text, macro):
    return set(re.findall(macro + r'\( (\S+), (\S+) \)', text))


def check_seen(logs, names):
    """names: those of the logs, since one that nobody writes any more may still lie there"""
    seen = set()
    for name_of_log in names:
        seen |= set(re.findall(r'^(\S+) -> (\S+)$', (logs / name_of_log).read_text(), re.M))
    modelled = changes(TABLE.read_text(), 'TRANSITION')
    text = (HERE / 'untied.h').read_text()
    untied, by_chance = changes(text, 'UNTIED'), changes(text, 'BY_CHANCE')
    print(f'{len(seen)} kinds of changes seen, {len(seen & modelled)} of the model\'s {len(modelled)}, '
          f'{len(seen & (untied | by_chance))} that are not modelled')
    wrong = [f'{a} -> {b}: untied.h has it, and no test does it' for a, b in sorted(untied - seen)]
    wrong += [f'{a} -> {b}: untied.h has it, and the model does it' for a, b in sorted((untied | by_chance) & modelled)]
    print('\n'.join(wrong), end='\n' if wrong else '')
    return 1 if wrong or not seen else 0


def main():
    if len(sys.argv) > 3 and sys.argv[1] == 'seen':
        return check_seen(pathlib.Path(sys.argv[2]), sys.argv[3:])
    if len(sys.argv) < 4 or sys.argv[1] not in ('--write', '--check'):
        print(__doc__, file=sys.stderr)
        return 2
    text = table(pathlib.Path(sys.argv[2]), sys.argv[3:])
    if sys.argv[1] == '--write':
        TABLE.write_text(text)
        return 0
    if text == TABLE.read_text():
        return 0
    new, old = changes(text, 'TRANSITION'), changes(TABLE.read_text(), 'TRANSITION')
    for a, b in sorted(new - old):
        print(f'the model changes {a} to {b}, and transitions.h does not have it')
    for a, b in sorted(old - new):
        print(f'transitions.h has {a} to {b}, and the model does not do it any more')
    print('to take over what the model does: ' + ' '.join([sys.argv[0], '--write'] + sys.argv[2:]))
    return 1


if __name__ == '__main__':
    sys.exit(main())
