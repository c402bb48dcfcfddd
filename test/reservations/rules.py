"""Every kind of rule with open holds: the arithmetic that a store needs, and nothing more.

A rule with one debt (buckets and windows) keeps, for each open hold, the lowest debt since the hold
was made, `low`. That is exactly what may be returned: where the stored debt is D, and D' the debt
if the hold had cost less by k from the start, D - D' begins as k. A charge changes both by the same
amount. Whatever lowers D to d (time, a refund, the end of a window) leaves D - D' = min(D - D', d),
as D' stops at 0. So D - D' = min(k, low), and a settlement returns that.

A counter has two such debts, and a log has the weights of its events. Times are microseconds.
"""
from math import gcd

LOTS = 1 << 62
left_out = None  # the rule that --break leaves out


def skips(name):
    return left_out == name


class Lows:
    """The lowest debt since each open hold was made, in one number per hold and one for all: `gaps`
    has the lowest debt between the hold before and this one, `low` that since the newest hold. So
    a call that settles nothing changes one number, however many holds are open."""

    def __init__(self):
        self.ids, self.gaps, self.low = [], [], LOTS

    def note(self, debt):
        """What every write does first, when time has passed, with the debt that it finds."""
        if not skips('lowest_is_forgotten'):
            self.low = min(self.low, debt)

    def add(self, hold, debt):
        self.ids.append(hold)
        self.gaps.append(self.low)
        self.low = debt

    def of(self, hold):
        return min(self.gaps[self.after(hold):] + [self.low])

    def after(self, hold):
        """Where the gaps after a hold begin; it is absent only if a rule is left out."""
        return self.ids.index(hold) + 1 if hold in self.ids else 0

    def settle(self, hold, back):
        """Removes a hold that returns `back`: all debts since it was made are lower by that."""
        i = self.after(hold)
        if not skips('later_holds_stay'):
            self.gaps[i:] = [g - back for g in self.gaps[i:]]
            self.low -= back
        if i == 0 or skips('settles_twice'):
            return
        before = LOTS if skips('older_holds_stay') else self.gaps[i - 1]
        if i < len(self.gaps):
            self.gaps[i] = min(before, self.gaps[i])
        else:
            self.low = min(before, self.low)
        del self.ids[i - 1], self.gaps[i - 1]

    def forget(self):
        """Makes every open hold return nothing."""
        self.low = 0


class Level:
    """A rule with one debt, in ticks of which a token has `num`."""
    num = 1
    phase = None  # the next boundary, where that depends on the calls before

    def __init__(self, capacity, most):
        self.capacity, self.most_tokens = capacity, most
        self.debt, self.lows = 0, Lows()

    @property
    def most(self):
        """The debt at which `charge` saturates."""
        return max(self.most_tokens, self.capacity) * self.num

    def fits(self, now, cost):
        return self.debt_at(now) + cost * self.num <= self.capacity * self.num

    def level(self, now):
        return self.debt_at(now)

    def advance(self, now):
        self.debt = self.debt_at(now)
        self.lows.note(self.debt)
        self.move(now)

    def charge(self, cost, _now):
        """Returns whether the charge was cut at the largest debt."""
        debt = self.debt + cost * self.num
        cut = debt > self.most
        if cut and not skips('cut_is_ignored'):
            self.lows.forget()  # what was cut has been returned to some of them, unknown to which
        self.debt = min(debt, self.most)
        return cut

    def refund(self, amount):
        self.debt = max(0, self.debt - amount * self.num)

    def hold(self, hold, cost, now):
        cut = self.charge(cost, now)
        self.lows.add(hold, self.debt)
        if cut and not skips('cut_is_ignored'):
            self.lows.forget()
        return cut

    def settle(self, hold, rest, _now):
        back = min(rest * self.num, self.debt if skips('plain_refund') else self.lows.of(hold))
        self.debt -= back
        self.lows.settle(hold, back)

    def charge_more(self, _hold, cost, now):
        """Charges what a settlement has above what is charged for the hold."""
        return self.charge(cost, now)

    def reset(self, _now):
        self.debt = 0
        self.lows = Lows()

    def renumber(self, capacity, _count, now):
        """A call of a version of the policy with other numbers finds the state."""
        self.capacity = capacity
        self.debt = min(self.debt, capacity * self.num)
        self.forget()
        self.advance(now)

    def forget(self):
        if not skips('other_numbers_are_ignored'):
            self.lows.forget()


class Bucket(Level):
    """Continuous: gcra, cell, token_bucket, leaky_bucket."""
    def __init__(self, capacity, count, period, unit, most):
        super().__init__(capacity, most)
        self.period, self.unit, self.t = period, unit, 0
        self.set_rate(count)

    def set_rate(self, count):
        units = self.period // self.unit
        self.num, self.den = units // gcd(units, count), count // gcd(units, count)

    def debt_at(self, now):
        return max(0, self.debt - max(0, now // self.unit - self.t) * self.den)

    def ahead(self, now):
        return self.t > now // self.unit

    def move(self, now):
        self.t = now // self.unit

    def wait(self, delay, cost, now):
        """A call of `wait` with its turn after `delay`: time up to its turn is taken, so debts are
        as low as they will be then."""
        passed = (now + delay) // self.unit - now // self.unit
        if not skips('wait_is_ignored'):
            self.lows.note(max(0, self.debt - passed * self.den))
        self.debt = max(self.debt, passed * self.den)
        return self.charge(cost, now)

    def renumber(self, capacity, count, now):
        tokens = -(-self.debt // self.num)
        self.capacity = capacity
        self.set_rate(count)
        self.debt = min(tokens, capacity) * self.num
        self.forget()
        self.advance(now)


class Stepped(Level):
    """stepwise(): `count` returns once per period since the first use; aligned(): at multiples."""
    def __init__(self, capacity, count, period, aligned, most):
        super().__init__(capacity, most)
        self.count, self.period, self.aligned = count, period, aligned
        self.phase = 0

    def next_after(self, now):
        return (now // self.period + 1) * self.period if self.aligned else now + self.period

    def steps(self, now):
        return 0 if now < self.phase else (now - self.phase) // self.period + 1

    def debt_at(self, now):
        return max(0, self.debt - self.steps(now) * self.count)

    def ahead(self, now):
        return self.debt > 0 and self.phase > self.next_after(now)

    def move(self, now):
        if self.debt == 0 or self.phase > self.next_after(now):
            self.phase = self.next_after(now)
        else:
            self.phase += self.steps(now) * self.period

    def renumber(self, capacity, count, now):
        self.count = count
        super().renumber(capacity, count, now)


class Window(Level):
    """fixed_window, from_first() and calendar: the end of a window repays everything."""
    def __init__(self, limit, next_end, from_first, most):
        super().__init__(limit, most)
        self.next_end, self.from_first = next_end, from_first
        self.phase = 0

    def debt_at(self, now):
        return self.debt if now < self.phase or skips('wrong_window') else 0

    def ahead(self, now):
        return self.debt > 0 and self.phase > self.next_end(now)

    def move(self, now):
        end = self.next_end(now)
        counts = self.debt > 0 and now < self.phase
        self.phase = min(self.phase, end) if self.from_first and counts else end


class Counter:
    """sliding_window: a debt of the current window, and one of the window before."""
    phase = None

    def __init__(self, limit, period, unit):
        self.limit, self.period, self.unit = limit, period, unit
        self.reset(0)

    def at(self, now):
        """Returns the counts of the current and of the previous window."""
        if now < self.end:
            return self.used, self.previous
        return 0, self.used if now - self.end < self.period else 0

    def end_at(self, now):
        return (now // self.period + 1) * self.period

    def level(self, now, cost=0):
        used, previous = self.at(now)
        left = self.end_at(now) // self.unit - now // self.unit
        return previous * left + (used + cost) * (self.period // self.unit)

    def fits(self, now, cost):
        return self.level(now, cost) <= self.limit * (self.period // self.unit)

    def ahead(self, now):
        return (self.used > 0 or self.previous > 0) and self.end > self.end_at(now)

    def advance(self, now):
        self.lows.note(self.used)
        if now >= self.end:
            follows = now - self.end < self.period
            self.previous_lows = self.lows if follows else Lows()
            self.lows = Lows()
        self.used, self.previous = self.at(now)
        if self.end > self.end_at(now) and not skips('clock_moves_no_window'):
            moved = self.end - self.end_at(now)
            self.ends = {hold: end - moved for hold, end in self.ends.items()}
        self.end = self.end_at(now)

    def charge(self, cost, _now):
        self.used += cost
        return False

    def refund(self, amount):
        self.used = max(0, self.used - amount)

    def hold(self, hold, cost, now):
        self.charge(cost, now)
        self.lows.add(hold, self.used)
        self.ends[hold] = self.end
        return False

    def settle(self, hold, rest, _now):
        if skips('plain_refund') or skips('wrong_window'):
            self.used = max(0, self.used - rest)
        elif self.ends[hold] == self.end:
            back = min(rest, self.lows.of(hold))
            self.used -= back
            self.lows.settle(hold, back)
        elif self.ends[hold] == self.end - self.period:
            back = min(rest, self.previous_lows.of(hold))
            self.previous -= back
            self.previous_lows.settle(hold, back)

    def charge_more(self, hold, cost, now):
        """Charges the window of the hold, if it counts: refunds do not lower the previous one."""
        if self.ends[hold] == self.end - self.period and not skips('excess_in_this_window'):
            self.previous += cost
            return False
        return self.charge(cost, now)

    def reset(self, _now):
        self.ends = {}  # of the windows of holds
        self.end, self.used, self.previous = 0, 0, 0
        self.lows, self.previous_lows = Lows(), Lows()

    def renumber(self, capacity, _count, now):
        self.limit = capacity
        self.lows.forget()
        self.previous_lows.forget()
        self.advance(now)


class Log:
    """All sliding_log rules of a policy, which share one log. A hold has the time of its event, and
    the weight that is still its own."""
    phase = None

    def __init__(self, limits, counts_denied):
        self.limits, self.counts_denied = limits, counts_denied  # limits: of (limit, period)
        self.kept_for = max(period for _, period in limits)
        self.reset(0)

    def used(self, now, period):
        return sum(w for t, w in self.events if t > now - period)

    def level(self, now):
        return [self.used(now, period) for _, period in self.limits]

    def fits(self, now, cost):
        return all(self.used(now, period) + cost <= limit for limit, period in self.limits)

    def ahead(self, now):
        return any(t > now for t, _ in self.events)

    def advance(self, now):
        future = sum(w for t, w in self.events if t > now)
        start = now - self.kept_for
        self.events = [[t, w] for t, w in self.events if start < t <= now]
        self.add(now, future)
        for h in self.holds.values():
            if h[0] <= start and not skips('expired_events_stay'):
                h[1] = 0  # after a step back of the clock a later event would be taken for it
            if h[0] > now and not skips('clock_moves_no_hold'):
                h[0] = now

    def add(self, now, weight):
        if weight > 0 and self.events and self.events[-1][0] == now:
            self.events[-1][1] += weight
        elif weight > 0:
            self.events.append([now, weight])

    def charge(self, cost, now):
        self.add(now, cost)
        return False

    def refund(self, amount):
        """Takes from the newest event first. What is not found in events after that of a hold may
        have been its weight."""
        if not skips('refunds_keep_weights'):
            for h in self.holds.values():
                event = self.event_of(h)
                newer = sum(w for t, w in self.events if event and t > event[0])
                h[1] = max(0, h[1] - max(0, amount - newer))
        for event in reversed(self.events):
            taken = min(amount, event[1])
            event[1] -= taken
            amount -= taken

    def event_of(self, hold):
        """The first event that is not before that of the hold: events may have been merged."""
        return next((e for e in self.events if e[0] >= hold[0]), None)

    def hold(self, hold, cost, now):
        self.holds[hold] = [now, cost]
        return self.charge(cost, now)

    def charge_more(self, _hold, cost, now):
        return self.charge(cost, now)

    def settle(self, hold, rest, _now):
        h = self.holds[hold] if skips('settles_twice') else self.holds.pop(hold)
        event = self.event_of(h)
        if skips('wrong_event') and self.events:
            event = self.events[-1]
        for _ in self.limits if skips('removes_event_twice') else [0]:
            if event:
                event[1] -= min(rest, event[1] if skips('plain_refund') else h[1], event[1])

    def reset(self, _now):
        self.events, self.holds = [], {}

    def renumber(self, capacity, _count, now):
        self.limits = [(capacity, period) for _, period in self.limits]
        for h in self.holds.values():
            h[1] = 0
        self.advance(now)
