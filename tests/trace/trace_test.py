#!/usr/bin/env python3
"""trace_test.py made-up | known UMSRUN KNOWN | ends UMSRUN KNOWN | limits UMSRUN KNOWN | page UMSRUN KNOWN | windows UMSRUN BOUND

Tests of UMS_TRACE and scripts/umstrace. made-up: umstrace on traces written by hand. known, ends, limits: a
program under Wine whose schedule is known. page: the page in headless Chromium. windows: umstest_bound.exe,
whose workers wait for messages.

Copyright 2026 the UMS shim authors
SPDX-License-Identifier: LGPL-2.1-or-later
"""
import copy
import glob
import json
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path.insert(0, os.path.join(TOP, 'tests'))
import lost_start                               # noqa: E402: it lies in the folder above

UMSTRACE = os.path.join(TOP, 'scripts', 'umstrace')
WINERUN = os.path.join(TOP, 'scripts', 'winerun')
WORKER = 0x10000
failures = 0


def expect(condition, *what):
    global failures
    if not condition:
        failures += 1
        print('failed:', *what)


def umstrace(*args):
    done = subprocess.run([UMSTRACE, *args], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def summary(path):
    status, out, err = umstrace('--json', path)
    expect(status == 0, 'umstrace', path, 'says', err)
    return json.loads(out)


# ---- made up ----

def event(ph, row, ts, **more):
    return {'ph': ph, 'pid': 1, 'tid': row, 'ts': ts, **more}


def run(worker, begin, end, why, **args):
    """A stay on scheduler 1."""
    return [event('B', 1, begin, cat='run', name=f'worker {worker}', args={'worker': worker}),
            event('B', WORKER + worker, begin, cat='run', name='scheduler 1', args={'scheduler': 1}),
            event('E', WORKER + worker, end), event('E', 1, end, args={'end': why, **args})]


def off(worker, begin, end, cat, name=None):
    return [event('B', WORKER + worker, begin, cat=cat, name=name or cat), event('E', WORKER + worker, end)]


def made_up_trace():
    """Worker 1 yields 100 times and is ready for 1, 2 ... 100 us; worker 2 rides a call out, and blocks in the next."""
    events, at = run(1, 0, 10, 'yield'), 10
    for delay in range(1, 101):
        events += off(1, at, at + delay, 'ready') + run(1, at + delay, at + delay + 10, 'yield')
        at += delay + 10
    events += off(1, at, at + 2000, 'ready')
    stay = run(2, at, at + 50, 'block', call='NtReadFile')
    stay[2:2] = off(2, at + 5, at + 15, 'kernel', 'NtReadFile') + off(2, at + 20, at + 50, 'kernel', 'NtReadFile')
    events += stay
    events += [event('s', 1, at + 50, cat='block', name='block', id=1)]
    events += off(2, at + 50, at + 550, 'block', 'NtReadFile')
    events += [event('B', WORKER + 2, at + 550, cat='queued', name='queued'),
               event('f', WORKER + 2, at + 550, cat='block', name='block', id=1, bp='e'),
               event('E', WORKER + 2, at + 600)]
    events += off(2, at + 600, at + 700, 'ready')
    events += [event('B', 1, at + 100, cat='idle', name='idle'), event('E', 1, at + 650)]
    events += run(2, at + 700, at + 1000, 'end') + run(1, at + 2000, at + 2001, 'end')
    return {'traceEvents': events, 'otherData': {'producer': 'ums', 'format': 1, 'lost': 0}}, at


def write(trace, folder):
    path = os.path.join(folder, 'trace.json')
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(trace, file)
    return path


def made_up(folder):
    trace, at = made_up_trace()
    s = summary(write(trace, folder))
    ready = s['ready']['after a yield']
    # 1 .. 100 us, and one of 2000 us: nearest rank of 101 values
    expect((ready['count'], ready['p50'], ready['p90'], ready['p99'], ready['max']) ==
           (101, 51, 91, 100, 2000), 'percentiles', ready)
    ready = s['ready']['after a block']
    expect((ready['count'], ready['p50']) == (1, 150), 'queued and ready are one delay', ready)
    call = s['calls'][0]
    expect((call['call'], call['blocks'], call['blocked'], call['longest']) == ('NtReadFile', 1, 500, 500),
           'block time', call)
    expect((call['rides'], call['inside']) == (1, 40), 'a call that is told in the middle did not ride out', call)
    sched = s['schedulers'][0]
    expect((sched['life'], sched['run'], sched['idle'], sched['executed']) ==
           (at + 2001, 1010 + 50 + 300 + 1, 550, 104), 'scheduler', sched)
    expect(s['ends'] == {'yield': 101, 'block': 1, 'end': 2}, 'ends', s['ends'])
    status, out, _ = umstrace(os.path.join(folder, 'trace.json'))
    expect(status == 0 and 'NtReadFile' in out and '2 ms' in out, 'text', out)
    nobody_reads(os.path.join(folder, 'trace.json'))
    by_lines(trace, folder)
    contrast()
    bad_traces(trace, folder)
    bad_rings(folder)


def by_lines(trace, folder):
    """A trace in the form that the shim writes is read in parts, and says the same."""
    path = os.path.join(folder, 'lines.json')
    with open(path, 'w', encoding='utf-8') as file:
        file.write('{"displayTimeUnit":"ns","traceEvents":[\n' + ',\n'.join(map(json.dumps, trace['traceEvents']))
                   + '\n],\n"otherData":' + json.dumps({**trace['otherData'], 'lost': 3, 'begins': 7.5}) + '}\n')
    parts, whole = summary(path), summary(write(trace, folder))
    expect((parts['lost'], parts['begins']) == (3, 7.5), 'lost', parts['lost'], parts['begins'])
    expect({**parts, 'lost': 0, 'begins': 0} == whole, 'in parts', parts, whole)
    status, _, err = umstrace('--check', path)
    expect(status == 3 and 'begins at 7.5 us' in err, 'events are missing', status, err)
    tells_how_far(parts, path, folder)
    out = os.path.join(folder, 'lines.html')
    umstrace('--html', out, path)
    with open(out, encoding='utf-8') as file:
        expect('"begins":7.5' in file.read().replace(' ', ''), 'the page does not know where it begins')


def tells_how_far(parts, path, folder):
    """A large file, in the form of the shim's and in another one; on a terminal a percentage is shown."""
    with open(path, encoding='utf-8') as file:
        text = file.read().replace('": ', '":').replace(', "', ',"')
    large = os.path.join(folder, 'large.json')
    idle = ''.join(f',\n{{"ph":"{ph}","pid":1,"tid":2,"ts":{n}.{at},{rest}}}' for n in range(40000)
                   for ph, at, rest in (('B', '000', '"cat":"idle","name":"idle","args":{"call":"NtDelayExecution"}'),
                                        ('E', '500', '"name":"idle"')))
    for separator in (',', ', '):                       # the second is not the shim's
        with open(large, 'w', encoding='utf-8') as file:
            file.write(text.replace('\n],', idle.replace(',"cat"', separator + '"cat"') + '\n],'))
        expect(os.path.getsize(large) > 1 << 22, 'too small', os.path.getsize(large))
        found = summary(large)
        expect(found['schedulers'][:1] == parts['schedulers'] and found['schedulers'][1]['idles'] == 40000,
               'a large one', found['schedulers'])
    out = os.path.join(folder, 'terminal')
    with open(out, 'wb') as file:
        subprocess.run([sys.executable, '-c', 'import pty, sys; pty.spawn(sys.argv[1:])', UMSTRACE, large], stdin=subprocess.DEVNULL,
                       stdout=file, check=False)
    with open(out, encoding='utf-8', newline='') as file:
        expect(re.search(r'\rumstrace: \d\d% read.*\rumstrace: 100% read\r?\n', file.read(), re.DOTALL), 'no percentage on a terminal')


def contrast():
    """Text on the page has a contrast of 4.5 at least (WCAG AA), in either theme."""
    with open(os.path.join(TOP, 'scripts', 'umstrace.html'), encoding='utf-8') as file:
        blocks = re.findall(r':root(?:\[data-theme=dark\])? \{(.*?)\}', file.read(), re.DOTALL)
    light, dark = (dict(re.findall(r'--(\w+): (#[0-9a-f]{6})', block)) for block in blocks)

    def luminance(color):
        parts = [int(color[at:at + 2], 16) / 255 for at in (1, 3, 5)]
        parts = [part / 12.92 if part <= .03928 else ((part + .055) / 1.055) ** 2.4 for part in parts]
        return .2126 * parts[0] + .7152 * parts[1] + .0722 * parts[2]

    def ratio(one, two):
        low, high = sorted((luminance(one), luminance(two)))
        return (high + .05) / (low + .05)

    for name, theme in (('light', light), ('dark', {**light, **dark})):
        for text, ground in (('text', 'card'), ('soft', 'card'), ('soft', 'page'), ('flow', 'card'), ('ink', 'run'), ('ink', 'run2'),
                             ('dim', 'block'), ('dim', 'ready'), ('dim', 'queued'), ('dim', 'idle')):
            expect(ratio(theme[text], theme[ground]) >= 4.5, name, text, 'on', ground, ratio(theme[text], theme[ground]))


def bad_rings(folder):
    """Rings that are damaged are said to be so, without a traceback."""
    path = os.path.join(folder, 'bad.json.ring')
    names_at, events_at, frequency_at = 0x190 + 64 * 33, 0x19000, 0x20
    good = bytearray(events_at + (33 * 16 << 10))
    struct.pack_into('<8sIIIIQQ', good, 0, b'UMSRING1', 10, 33, 10, 1, 1000, 10 ** 9)
    struct.pack_into('<Q', good, 0x190, 1)
    good[names_at:names_at + 10] = b'5 NtClose\n'
    struct.pack_into('<QQ', good, events_at, 2000, 1 | 1 << 8 | 7 << 24)

    def broken(what, at, value, want, size=None):
        data = bytearray(good)
        data[at:at + len(value)] = value
        with open(path, 'wb') as file:
            file.write(data[:size])
        status, _, err = umstrace('--check', path)
        expect(status == (2 if want else 0) and want in err and 'Traceback' not in err, 'rings:', what, status, err)

    broken('none', 0, b'', '')
    for size in (0x190, 0x200, 0x3000, len(good) - 1):
        broken(f'{size} bytes', 0, b'', 'damaged', size)
    broken('frequency', frequency_at, bytes(8), 'damaged')
    broken('room', 8, b'\x7f', 'damaged')
    broken('a number', names_at, b'x', 'names of calls')
    for kind in (15, 31):
        broken('kind', events_at + 8, bytes([kind]), f'unknown kind {kind}')


def nobody_reads(path):
    """As in `umstrace FILE | head`."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([UMSTRACE, path], stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    expect(done.stderr == '', 'nobody reads', done.stderr)


def bad_traces(good, folder):
    """Everything that umstrace checks, broken once."""
    def broken(what, want, change):
        trace = copy.deepcopy(good)
        change(trace['traceEvents'])
        status, _, err = umstrace('--check', write(trace, folder))
        expect(status == 1 and want in err, what, status, err)

    def index(events, ph, row):
        return next(i for i, e in enumerate(events) if e['ph'] == ph and e['tid'] == row)

    broken('time', 'time goes back', lambda e: e[8].update(ts=0.5))
    broken('an end is missing', 'never ends', lambda e: e.pop())
    broken('a begin is missing', 'has not begun', lambda e: e.pop(0))
    broken('two schedulers', 'is on', lambda e: e.extend(
        [event('B', 2, 3, cat='run', name='worker 1', args={'worker': 1}),
         event('E', 2, 8, args={'end': 'yield'})]))
    broken('rows differ', 'differ', lambda e: e[0]['args'].update(worker=2))
    broken('a flow without end', 'has no end', lambda e: e.pop(index(e, 'f', WORKER + 2)))
    broken('a flow without begin', 'has not begun', lambda e: e.pop(index(e, 's', 1)))
    broken('no list', 'comes after', lambda e: [x.update(cat='odd') for x in e if x.get('cat') == 'queued'])
    broken('an odd event', 'unknown kind', lambda e: e.append(event('Q', 1, 1e9)))
    broken('no name', 'lacks', lambda e: e[0].pop('cat'))
    broken('another end', 'is open', lambda e: e[index(e, 'E', 1)].update(name='worker 9'))
    for content, want in (('', 'empty'), ('[1,', 'not valid JSON'), ('{}', 'traceEvents'), ('{"traceEvents":[]}', 'UMS_TRACE')):
        path = os.path.join(folder, 'trace.json')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(content)
        status, _, err = umstrace('--check', path)
        expect(status == 2 and want in err, 'a file with', content, status, err)


# ---- under Wine ----

def start(umsrun, known, trace, how, *more, before=(), stdin=None, restore_signals=True, **environment):
    return subprocess.Popen([*before, WINERUN, umsrun, known, how, *more], stdin=stdin, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, restore_signals=restore_signals,
                            env={**os.environ, 'UMS_TRACE': 'Z:' + trace.replace('/', '\\'), **environment})


def run_it(status, *args, **environment):
    """To its end, which has this status: both outputs."""
    process, out, err = lost_start.finish(lambda: start(*args, **environment), timeout=100)
    expect(process.returncode == status, args[3:], 'status', process.returncode, out, err)
    return out, err


def counts(line):
    return {key: int(value) for key, value in (word.split('=') for word in line.split())}


def compare(path, program):
    """The trace and the program have counted the same."""
    s = summary(path)
    ends = s['ends']
    calls = {call['call']: call for call in s['calls']}
    expect(s['lost'] == 0, 'events are lost', s['lost'])
    expect(len(s['schedulers']) == program['schedulers'], 'schedulers', s['schedulers'])
    expect(s['workers'] == program['workers'], 'workers', s['workers'])
    expect(s['executed'] == program['executed'], 'executed', s['executed'], program)
    expect(ends.get('yield', 0) == program['yielded'], 'yields', ends, program)
    expect(ends.get('block', 0) == program['blocked'], 'blocks', ends, program)
    expect(ends.get('end', 0) == program['workers'], 'ends', ends, program)
    expect(calls.get('NtDelayExecution', {}).get('blocks') == program['sleeps'], 'sleeps', calls)
    # the C runtime's and the loader's locks wait so, too
    expect(calls.get('NtWaitForAlertByThreadId', {}).get('blocks', 0) >= program['addresses'], 'addresses', calls)
    expect(sum(call['blocks'] for call in s['calls']) == program['blocked'], 'blocks by call', calls)
    expect(sum(line['idles'] for line in s['schedulers']) == program['idled'], 'idle', program)
    # each has come to the list once when it was new, and after each block
    expect(s['queued'] == program['workers'] + program['blocked'], 'queued', s['queued'], program)
    return s


def span(path):
    """Milliseconds from the first event of a worker to the last one."""
    with open(path, encoding='utf-8') as file:
        stamps = [event['ts'] for event in json.load(file)['traceEvents'] if event['tid'] >= WORKER and 'ts' in event]
    return (max(stamps) - min(stamps)) / 1e3


def known(folder, umsrun, program):
    path = os.path.join(folder, 'trace.json')
    out, _ = run_it(0, umsrun, program, path, 'exit')
    s = compare(path, counts(out))
    # One worker's sleeps follow each other, and all events are inside the time that the program has measured. The trace's
    # clock is calibrated in 5 ms: a tenth more is allowed.
    slept = counts(out)['sleeps'] // counts(out)['workers']
    expect(slept <= span(path) <= 1.1 * counts(out)['ms'], 'the clock', slept, span(path), out)
    expect(f'engine={os.environ["UMS_ENGINE"]} hook={os.environ["UMS_HOOK"]}' in s['about'], s['about'])
    expect(s['program'] == os.path.basename(program), s['program'])
    expect(glob.glob(path + '.ring') == [], 'the rings are still there')


def ends(folder, umsrun, program):
    """Other ways to end a process, a name with %e and %p, and rings that are too small."""
    for how in ('exitprocess', 'terminate', 'handle'):
        out, _ = run_it(7, umsrun, program, os.path.join(folder, '%e-%p-%%.json'), how)
        paths = glob.glob(os.path.join(folder, 'trace_known-*-%.json'))
        expect(len(paths) == 1, how, os.listdir(folder))
        compare(paths[0], counts(out))
        expect(glob.glob(os.path.join(folder, '*.ring')) == [], how, 'the rings are still there')
        for path in glob.glob(os.path.join(folder, '*')):
            os.unlink(path)
    killed(folder, umsrun, program)
    small_rings(folder, umsrun, program)
    tells(folder, umsrun, program)


def limits(folder, umsrun, program):
    """A start that is refused; files that may not become large."""
    refused(folder, umsrun, program)
    small_files(folder, umsrun, program)
    full_disk(folder, umsrun, program)


def refused(folder, umsrun, program):
    """A process that gets no UMS leaves no trace that looks like one of a process that was killed."""
    path = os.path.join(folder, 'trace.json')
    for before in (), ('prlimit', '--fsize=1000000'):   # the second has its rings in memory
        _, err = run_it(2, umsrun, program, path, 'exit', before=before, UMS_ENGINE='carry', UMS_PARK='address')
        expect('ums: cannot serve this program' in err, 'it was not refused', err)
        expect(os.listdir(folder) == [], 'a refused start leaves', os.listdir(folder))


def small_files(folder, umsrun, program):
    """Files are limited: the signal of that would end the program at the start, or in the middle of its trace."""
    path = os.path.join(folder, 'trace.json')
    limited = ('prlimit', '--fsize=1000000')
    out, err = run_it(0, umsrun, program, path, 'exit', before=limited)
    expect('if the process is killed, its trace is lost' in err, 'small files', err)
    compare(path, counts(out))
    _, err = run_it(0, umsrun, program, path, 'exit', '10000', before=limited)
    expect('could not be written to its end' in err, 'a trace that is larger than a file may be', err)
    for left in os.listdir(folder):
        os.unlink(os.path.join(folder, left))


def full_disk(folder, umsrun, program):
    """The last write stores a part only. As on a full disk, but by a limit: its signal is ignored, and it comes late, so the
    shim does not know it. The trace has some 110 KB, so the second block of 64 KB is the last."""
    path = os.path.join(folder, 'trace.json')
    limit = (1 << 16) + 1000
    process, line = lost_start.begin(lambda: start(umsrun, program, path, 'asked', '10', folder, stdin=subprocess.PIPE,
                                                   restore_signals=False))
    pids = victims(folder)
    expect(len(pids) == 1, 'whose files are to be limited', pids)
    for pid in pids:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (limit, limit))
    _, err = process.communicate('\n', timeout=100 * lost_start.FACTOR)
    expect(process.returncode == 0, 'status', process.returncode, err)
    expect(os.path.getsize(path) == limit and 'could not be written to its end' in err, 'a part', os.path.getsize(path), err)
    compare(path + '.ring', counts(line))


def windows(folder, umsrun, program):
    """Calls of win32u.dll have names, too."""
    run_it(0, umsrun, program, os.path.join(folder, '%p.json'), 'scenario_message_waits')
    names = set()
    for path in glob.glob(os.path.join(folder, '*.json')):
        with open(path, encoding='utf-8') as file:
            names |= {e['name'] for e in json.load(file)['traceEvents'] if e.get('cat') == 'kernel'}
    expect('NtUserMsgWaitForMultipleObjectsEx' in names, 'the calls have these names only:', sorted(names))


def tells(folder, umsrun, program):
    """A process that ends with many events says what it does; one with a few says nothing."""
    path = os.path.join(folder, 'many.json')
    for yields, want in (('40', r'^$'), ('10000', rf'^ums: UMS_TRACE: writing the trace, 1\d{{5}} events, to .*many.json\n')):
        _, err = run_it(0, umsrun, program, path, 'exit', yields)
        # every ten seconds: how much is written
        err = ''.join(line for line in err.splitlines(keepends=True) if 'MB are written' not in line)
        expect(re.match(want, err), yields, 'yields:', err)


def killed(folder, umsrun, program):
    path = os.path.join(folder, 'trace.json')
    process, line = lost_start.begin(lambda: start(umsrun, program, path, 'hang', folder))
    pids = victims(folder)
    expect(len(pids) == 1, 'who is to be killed', pids)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=100 * lost_start.FACTOR)
    expect(os.path.getsize(path) == 0, 'a killed process has written')
    s = compare(path, counts(line))
    expect(s['recovered'], 'not recovered')
    status, _, err = umstrace('--recover', os.path.join(folder, 'again.json'), path)
    expect(status == 0, err)
    compare(os.path.join(folder, 'again.json'), counts(line))


def victims(word):
    """The program, by a word that nobody else's command line has, and not the launcher."""
    return [int(path.split('/')[2]) for path in glob.glob('/proc/[0-9]*/cmdline') if is_victim(path, word)]


def is_victim(path, word):
    """An unpacked Wine starts the launcher through its loader and a shell: its name comes late."""
    try:
        with open(path, 'rb') as file:
            words = file.read().split(b'\0')
    except OSError:
        return False
    return word.encode() in words and b'umsrun' not in b' '.join(words) and b'winerun' not in b' '.join(words)


def small_rings(folder, umsrun, program):
    path = os.path.join(folder, 'small.json')
    out, _ = run_it(0, umsrun, program, path, 'exit', '2000', UMS_TRACE_EVENTS='16')
    s = summary(path)
    # there is room for 1024 in each; all stays but the last ones are gone
    expect(0 < s['executed'] < counts(out)['executed'] / 4, 'executed', s['executed'], out)
    expect(s['lost'] >= 2 * (counts(out)['executed'] - s['executed']), 'lost', s['lost'], s['executed'], out)
    # it begins where every ring does: a scheduler's row then fills the time, and all rates are of that time
    with open(path, encoding='utf-8') as file:
        trace = json.load(file)
    begins = trace['otherData']['begins']
    expect(all(e['ts'] >= begins for e in trace['traceEvents'] if 'ts' in e), 'events before', begins)
    expect(begins > 0 and s['begins'] == begins, 'begins', begins, s['begins'])
    status, _, err = umstrace('--check', path)
    expect(status == 3 and 'events are missing' in err, '--check of it', status, err)
    run_it(0, umsrun, program, os.path.join(folder, 'none', 'x.json'), 'exit')


# ---- the page ----

def page(folder, umsrun, program):
    trace = os.path.join(folder, 'trace.json')
    run_it(0, umsrun, program, trace, 'exit')
    out = os.path.join(folder, 'page.html')
    status, _, err = umstrace('--html', out, trace)
    expect(status == 0, err)
    with open(out, encoding='utf-8') as file:
        expect('http' not in file.read().replace('http://www.w3.org', ''), 'the page names something outside')
    rows = len(summary(trace)['schedulers']) + summary(trace)['workers']

    def open_page(wish):
        return subprocess.run(['chromium', '--headless=new', '--no-sandbox', '--disable-gpu', '--dump-dom',
                               '--virtual-time-budget=3000', '--user-data-dir=' + folder + '/chrome',
                               f'file://{out}#{wish}'], capture_output=True, text=True, timeout=100,
                              check=False).stdout

    expect('>nothing found<' in open_page('filter=NtNothing'), 'a search that finds nothing does not say so')
    dom = open_page('filter=ntdelayexecution')      # six workers slept, and both schedulers ran some of them
    expect('>8 rows<' in dom, 'the search does not find calls', dom[dom.find('id="found"'):][:80])
    for theme in ('light', 'dark'):
        dom = open_page(f'theme={theme}')
        expect(f'data-drawn="{rows}"' in dom, theme, 'rows are not drawn', len(dom))
        expect(f'data-theme="{theme}"' in dom, theme)
        expect('NtDelayExecution' in dom, theme, 'no table of calls')


def main():
    folder = tempfile.mkdtemp(prefix='umstrace.')
    try:
        {'made-up': made_up, 'known': known, 'ends': ends, 'limits': limits, 'page': page,
         'windows': windows}[sys.argv[1]](folder, *sys.argv[2:])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if failures else 0


if __name__ == '__main__':
    begin = time.monotonic()
    STATUS = main()
    print(f'{sys.argv[1]}: {time.monotonic() - begin:.1f} s')
    sys.exit(STATUS)
