"""The rings that a process leaves when it is killed, read as a trace. A part of umstrace.

Copyright 2026 the UMS shim authors
SPDX-License-Identifier: LGPL-2.1-or-later
"""
import struct

WORKER_ROW = 0x10000        # the row of worker n is this plus n, that of scheduler n is n


class Bad(Exception):
    """The file is not what it should be."""


class Ring:
    """The rings of a process that was killed. dlls/ntdll_ums/record/record.h describes them. Events become
    slices by the same rules as in record_json.c."""

    HEADER = struct.Struct('<8sIIIIQQ128s128sII')
    RINGS_AT, NAMES_SIZE, PAGE = 0x190, 0x18000, 0x1000
    SLACK, MAX_SHIFT = 64, 22
    WHY = ('Unix call', 'suspended', 'page fault', 'DequeueUmsCompletionListItems',
           'NtWaitForWorkViaWorkerFactory', '(no call)')
    KINDS = ('none', 'enter', 'leave', 'start', 'execute', 'home', 'yield', 'kernel', 'back', 'block',
             'queue', 'dequeue', 'end', 'idle', 'busy')

    def __init__(self, path):
        with open(path, 'rb') as file:
            self.data = file.read()
        if len(self.data) < self.RINGS_AT or not self.data.startswith(b'UMSRING'):
            raise Bad(f'{path} holds no rings')
        if self.data[7:8] == b'0':
            raise Bad(f'{path} is of a process that has written its file')
        if self.data[7:8] != b'1':
            raise Bad(f'{path} is of another version of the shim')
        (_, self.shift, self.rings, names, self.pid, self.start, self.frequency, program, about, _,
         _) = self.HEADER.unpack_from(self.data)
        names_at = self.RINGS_AT + 64 * self.rings
        self.program = program.split(b'\0')[0].decode(errors='replace')
        self.about = about.split(b'\0')[0].decode(errors='replace')
        lines = self.data[names_at:names_at + names].decode(errors='replace').splitlines()
        self.events_at = (names_at + self.NAMES_SIZE + self.PAGE - 1) // self.PAGE * self.PAGE
        if not self.frequency or self.shift > self.MAX_SHIFT or len(self.data) < self.events_at + (self.rings * 16 << self.shift):
            raise Bad(f'{path} is damaged, or was not written to its end')
        self.names = {}
        for number, _, name in (line.partition(' ') for line in lines):
            if not number.isdecimal() or not name:
                raise Bad(f'{path} is damaged: its names of calls are none')
            self.names[int(number)] = name
        self.out, self.lost, self.flows = [], 0, 0
        self.first = 0                                  # stamp: before it rings have lost events
        self.on, self.open, self.flow = {}, {}, {}      # by worker: scheduler, slices, flow
        self.runs, self.idle, self.named = {}, set(), set()
        self.titles = {}                                # by row: the names of what is open

    def read(self):
        """All events, in order of time: (stamp, what)."""
        found = []
        for ring in range(self.rings):
            head, = struct.unpack_from('<Q', self.data, self.RINGS_AT + 64 * ring)
            events = self.read_ring(ring, head)
            if head > (1 << self.shift) - self.SLACK and events:       # it ran over
                self.first = max(self.first, min(events)[0])
            found += events
        names = {self.KINDS.index('enter'), self.KINDS.index('start')}
        kept = [event for event in found if event[0] >= self.first or event[1] & 31 in names]
        self.lost += len(found) - len(kept)
        return sorted(kept, key=lambda event: event[0])

    def read_ring(self, ring, head):
        events, room = [], 1 << self.shift
        first = max(0, head - (room - self.SLACK))
        self.lost += first
        for at in range(first, head):
            place = self.events_at + ((ring << self.shift) + (at & (room - 1))) * 16
            stamp, what = struct.unpack_from('<QQ', self.data, place)
            if what & 31 and what >> 5 & 7 == at >> self.shift & 7:
                events.append((stamp, what))
            else:
                self.lost += 1
        return events

    def call(self, number):
        if 0x4000 <= number < 0x4000 + len(self.WHY):
            return self.WHY[number - 0x4000]
        return self.names.get(number, f'call {number}')

    def put(self, ph, row, ts, **more):
        if ph == 'B':
            self.titles.setdefault(row, []).append(more['name'])
        elif ph == 'E':
            more = {'name': self.titles[row].pop(), **more}
        self.out.append({'ph': ph, 'pid': self.pid, 'tid': row, 'ts': ts, **more})

    def name(self, row, thread=0):
        if row in self.named:
            return
        self.named.add(row)
        kind = f'worker {row - WORKER_ROW}' if row >= WORKER_ROW else f'scheduler {row}'
        label = kind + (f' (thread {thread})' if thread else '')
        for key, args in (('thread_name', {'name': label}), ('thread_sort_index', {'sort_index': row})):
            self.out.append({'ph': 'M', 'pid': self.pid, 'tid': row, 'name': key, 'args': args})

    def begin(self, row, ts, cat, name, **args):
        self.put('B', row, ts, cat=cat, name=name, **({'args': args} if args else {}))
        if row >= WORKER_ROW:
            self.open.setdefault(row - WORKER_ROW, []).append(cat)

    def close(self, worker, ts, end='unknown', **args):
        """All that is open of it, on its scheduler's row too."""
        while self.open.get(worker):
            self.open[worker].pop()
            self.put('E', WORKER_ROW + worker, ts)
        scheduler = self.on.pop(worker, 0)
        if scheduler:
            self.put('E', scheduler, ts, args={'end': end, **args})
            del self.runs[scheduler]

    def close_scheduler(self, scheduler, ts):
        if scheduler in self.runs:
            self.close(self.runs[scheduler], ts)
        self.busy(scheduler, ts)

    def busy(self, scheduler, ts):
        if scheduler in self.idle:
            self.put('E', scheduler, ts)
        self.idle.discard(scheduler)

    def execute(self, scheduler, worker, ts):
        self.close_scheduler(scheduler, ts)
        self.close(worker, ts)
        self.begin(scheduler, ts, 'run', f'worker {worker}', worker=worker)
        self.begin(WORKER_ROW + worker, ts, 'run', f'scheduler {scheduler}', scheduler=scheduler)
        self.on[worker], self.runs[scheduler] = scheduler, worker

    def off(self, worker, ts, name, **args):
        self.close(worker, ts, **args)
        self.begin(WORKER_ROW + worker, ts, name, name)

    def block(self, worker, ts, call):
        if worker in self.on:
            self.flows += 1
            self.flow[worker] = self.flows
            self.put('s', self.on[worker], ts, cat='block', name='block', id=self.flows)
        self.close(worker, ts, 'block', call=call)
        self.begin(WORKER_ROW + worker, ts, 'block', call)

    def queue(self, worker, ts):
        self.off(worker, ts, 'queued')
        if worker in self.flow:
            self.put('f', WORKER_ROW + worker, ts, cat='block', name='block', bp='e',
                     id=self.flow.pop(worker))

    def worker_event(self, kind, scheduler, worker, arg, ts):
        row, opened = WORKER_ROW + worker, self.open.get(worker, [])
        self.name(row, arg << 16 | scheduler if kind == 'start' else 0)
        if kind == 'execute':
            self.name(scheduler)
            self.execute(scheduler, worker, ts)
        elif kind == 'home' and opened == ['run']:
            self.begin(row, ts, 'home', 'at home')
        elif kind == 'kernel' and 'run' in opened and 'kernel' not in opened:
            self.begin(row, ts, 'kernel', self.call(arg))
        elif kind == 'back' and opened[-1:] == ['kernel']:
            opened.pop()
            self.put('E', row, ts)
        elif kind == 'yield':
            self.off(worker, ts, 'ready', end='yield')
        elif kind == 'block':
            self.block(worker, ts, self.call(arg))
        elif kind == 'queue':
            self.queue(worker, ts)
        elif kind == 'dequeue':
            self.busy(scheduler, ts)
            self.off(worker, ts, 'ready')
        elif kind == 'end':
            self.close(worker, ts, 'end')

    def time(self, stamp):
        return (stamp - self.start) * 1000000000 // self.frequency / 1000

    def event(self, stamp, what):
        if what & 31 >= len(self.KINDS):
            raise Bad(f'the rings are damaged: they have an event of the unknown kind {what & 31}')
        kind, scheduler = self.KINDS[what & 31], what >> 8 & 0xffff
        worker, arg = what >> 24 & 0xffffff, what >> 48
        ts = self.time(stamp)
        if kind == 'enter':
            self.name(scheduler, arg << 24 | worker)
        elif kind == 'leave':
            self.close_scheduler(scheduler, ts)
        elif kind == 'idle' and scheduler not in self.runs and scheduler not in self.idle:
            self.name(scheduler)
            self.begin(scheduler, ts, 'idle', 'idle', call=self.call(arg))
            self.idle.add(scheduler)
        elif kind == 'busy':
            self.busy(scheduler, ts)
        elif kind not in ('idle', 'none'):
            self.worker_event(kind, scheduler, worker, arg, ts)
        return ts

    def trace(self):
        last = 0
        self.out.append({'ph': 'M', 'pid': self.pid, 'tid': 0, 'name': 'process_name',
                         'args': {'name': self.program}})
        for stamp, what in self.read():
            last = self.event(stamp, what)
        for scheduler in sorted(set(self.runs) | self.idle):
            self.close_scheduler(scheduler, last)
        for worker in sorted(self.open):
            self.close(worker, last)
        other = {'producer': 'ums', 'format': 1, 'about': self.about, 'lost': self.lost, 'recovered': True}
        if self.first:
            other['begins'] = self.time(self.first)
        return {'displayTimeUnit': 'ns', 'traceEvents': self.out, 'otherData': other}
