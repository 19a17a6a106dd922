#!/usr/bin/env python3
"""tells.py CTEST BUILD: each test whose program winerun starts has UMS_TELL, so that a program that crashes before its first
word does not look like a start that Wine has lost (scripts/run_tests.sh). What winerun does for a script, the script reads.

Copyright 2026 the UMS shim authors
SPDX-License-Identifier: LGPL-2.1-or-later
"""
import json
import subprocess
import sys

done = subprocess.run([sys.argv[1], '--test-dir', sys.argv[2], '--show-only=json-v1'], stdout=subprocess.PIPE, check=True)
started, silent = 0, []
for test in json.loads(done.stdout)['tests']:
    command = test.get('command', [''])
    if not command[0].endswith('/winerun') or command[1].startswith('--'):
        continue
    started += 1
    environment = [entry['value'] for entry in test['properties'] if entry['name'] == 'ENVIRONMENT']
    if not environment or 'UMS_TELL=1' not in environment[0]:
        silent.append(test['name'])
print(f'{started} tests start a program, {len(silent)} without UMS_TELL: {" ".join(silent)}')
sys.exit(bool(silent) or not started)
