"""The as-if history: from the list of all calls that wrote, each reservation with its actual amount,
what each rule counts now and later. It is computed from the beginning each time, by the shortest
code there is, and shares none with rules.py.

An event has `at`, `op`, `amount`, `phases` (for each rule the next boundary that was stored) and,
of other numbers, `numbers`. Of a rule of its own phase (stepwise, from_first) the boundaries are
those of the key as it was: a reservation begins a phase, whatever it turns out to have cost.
"""
from math import gcd


class Event:
    def __init__(self, at, op, amount=0, **more):
        self.at, self.op, self.amount = at, op, amount
        self.delay = more.get('delay', 0)
        self.numbers = more.get('numbers')
        self.phases = more.get('phases')


def bucket(n, events, times, index):
    capacity, count, unit = n['capacity'], n['count'], n['unit']
    units = n['period'] // unit
    token, each = units // gcd(units, count), count // gcd(units, count)
    debt, last = 0, 0
    for e in events:
        if e.op == 'numbers':
            tokens = (debt + token - 1) // token
            capacity, count = e.numbers[index]
            token, each = units // gcd(units, count), count // gcd(units, count)
            debt = min(tokens, capacity) * token
        if e.at // unit > last:
            debt = max(0, debt - (e.at // unit - last) * each)
        last = e.at // unit
        most = max(n['most'], capacity) * token
        if e.op == 'charge':
            debt = min(most, debt + e.amount * token)
        elif e.op == 'refund':
            debt = max(0, debt - e.amount * token)
        elif e.op == 'wait':
            turn = ((e.at + e.delay) // unit - e.at // unit) * each
            debt = min(most, max(debt, turn) + e.amount * token)
        elif e.op == 'reset':
            debt = 0
    return [max(0, debt - max(0, t // unit - last) * each) for t in times]


def stepped(n, events, times, index, own_phase=False):
    period, count, capacity = n['period'], n['count'], n['capacity']
    debt, boundary = 0, 0

    def repaid(at):
        passed = 0 if at < boundary else (at - boundary) // period + 1
        return passed, max(0, debt - passed * count)

    for e in events:
        if e.op == 'numbers':
            capacity, count = e.numbers[index]
            debt = min(debt, capacity)
        passed, debt = repaid(e.at)
        boundary += passed * period
        first = (e.at // period + 1) * period if n['kind'] == 'aligned' else e.at + period
        if debt == 0 or boundary > first:
            boundary = first
        if not own_phase and n['kind'] == 'stepwise':
            boundary = e.phases[index]
        if e.op == 'charge':
            debt = min(max(n['most'], capacity), debt + e.amount)
        elif e.op == 'refund':
            debt = max(0, debt - e.amount)
        elif e.op == 'reset':
            debt = 0
    return [repaid(t)[1] for t in times]


def window(n, events, times, index):
    used, end, limit = 0, 0, n['capacity']
    for e in events:
        if e.at >= end:
            used = 0
        end = e.phases[index] if n['kind'] == 'from_first' else n['end_of'](e.at)
        if e.op == 'numbers':
            limit = e.numbers[index][0]
            used = min(used, limit)
        elif e.op == 'charge':
            used = min(max(n['most'], limit), used + e.amount)
        elif e.op == 'refund':
            used = max(0, used - e.amount)
        elif e.op == 'reset':
            used = 0
    return [used if t < end else 0 for t in times]


def counter(n, events, times, index):
    period, unit = n['period'], n['unit']
    counts = {}  # of window number
    last = 0
    for e in events:
        now = e.at // period
        if now < last:  # the clock went back: the current window and the one before it move along
            counts = {now: counts.get(last, 0), now - 1: counts.get(last - 1, 0)}
        last = now
        if e.op == 'charge':
            counts[now] = counts.get(now, 0) + e.amount
        elif e.op == 'refund':
            counts[now] = max(0, counts.get(now, 0) - e.amount)
        elif e.op == 'reset':
            counts = {}
    levels = []
    for t in times:
        left = (t // period + 1) * period // unit - t // unit
        now = max(last, t // period)
        levels.append(counts.get(now, 0) * (period // unit) + counts.get(now - 1, 0) * left)
    return levels


def log(n, events, times, index):
    longest = max(p for _, p in n['limits'])
    entries = []
    for e in events:
        entries = [[min(t, e.at), w] for t, w in entries if t > e.at - longest]
        if e.op == 'charge' or (e.op == 'denied' and n['counts_denied']):
            entries.append([e.at, e.amount])
        elif e.op == 'refund':
            left = e.amount
            while entries and left > 0:
                taken = min(left, entries[-1][1])
                entries[-1][1] -= taken
                left -= taken
                if entries[-1][1] == 0:
                    entries.pop()
        elif e.op == 'reset':
            entries = []
    return [[sum(w for s, w in entries if s > t - p) for _, p in n['limits']] for t in times]


LEVELS = {'bucket': bucket, 'stepwise': stepped, 'aligned': stepped, 'window': window,
          'from_first': window, 'calendar': window, 'counter': counter, 'log': log}
