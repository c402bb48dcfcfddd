"""A key with open holds: what a store does for each call, over rules of any kind."""
import rules
from rules import skips


def make_rule(n):
    """Returns the rule of a policy that has these numbers."""
    kind = n['kind']
    if kind == 'bucket':
        return rules.Bucket(n['capacity'], n['count'], n['period'], n['unit'], n['most'])
    if kind in ('stepwise', 'aligned'):
        return rules.Stepped(n['capacity'], n['count'], n['period'], kind == 'aligned', n['most'])
    if kind in ('window', 'from_first', 'calendar'):
        return rules.Window(n['capacity'], n['end_of'], kind == 'from_first', n['most'])
    if kind == 'counter':
        return rules.Counter(n['capacity'], n['period'], n['unit'])
    return rules.Log(n['limits'], n['counts_denied'])


class Hold:
    def __init__(self, cost, expires, ttl):
        self.cost, self.expires, self.ttl = cost, expires, ttl


class Key:
    """Calls return a result, and append to `writes` when states were written, and their phases.
    `stricter` is set when from now on the states may be stricter than the as-if history."""

    def __init__(self, policy, as_of_expiry):
        self.rules = [make_rule(n) for n in policy]
        self.is_shadow = [n['shadow'] for n in policy]
        self.as_of_expiry = as_of_expiry
        self.open, self.expired, self.results = {}, {}, {}
        self.last_id, self.blocked_until = 0, 0
        self.writes, self.stricter = [], False

    OPEN_MOST = 5
    EXPIRED_MOST = 3

    def write(self, now):
        for r in self.rules:
            r.advance(now)
        self.writes.append((now, [r.phase for r in self.rules]))

    def begin(self, now):
        """What every call does first, also one that is denied."""
        self.writes = []
        late = [h for h in self.open.values() if h.expires > now + h.ttl]
        if late or any(r.ahead(now) for r in self.rules):
            for h in late:  # the clock has gone back
                h.expires = now + h.ttl
            self.write(now)
        due = sorted((h.expires, id) for id, h in self.open.items() if h.expires <= now)
        for expires, id in [] if skips('nothing_expires') else due:
            self.write(expires if self.as_of_expiry else now)
            hold = self.open.pop(id)
            self.settle(id, hold.cost, now)
            self.expired[id] = hold.expires + hold.ttl
            while len(self.expired) > self.EXPIRED_MOST:
                del self.expired[next(iter(self.expired))]
        if due:
            self.write(now)
        for id in [id for id, end in self.expired.items() if end <= now]:
            del self.expired[id]

    def settle(self, id, rest, at):
        for r in self.rules[:1] if skips('settles_one_rule') else self.rules:
            r.settle(id, rest, at)

    def charge_more(self, now, id, cost):
        self.write(now)
        for r in self.rules:
            r.charge_more(id, cost, now)
        self.stricter = True

    def charge_all(self, cost, now):
        self.write(now)
        cuts = [r.charge(cost, now) for r in self.rules]
        self.stricter |= any(cuts) and bool(self.open)

    def fits(self, now, cost):
        return now >= self.blocked_until and all(
            shadow or r.fits(now, cost) for r, shadow in zip(self.rules, self.is_shadow))

    def deny(self, now, cost):
        """Returns what a denied call returns, and counts it where denials count."""
        logs = [r for r in self.rules if isinstance(r, rules.Log) and r.counts_denied]
        if logs:
            self.write(now)
            for r in logs:
                r.charge(cost, now)
        return 'denied'

    def allow(self, now, cost):
        self.begin(now)
        if not self.fits(now, cost):
            return self.deny(now, cost)
        self.charge_all(cost, now)
        return 'allowed'

    def charge(self, now, cost):
        self.begin(now)
        self.charge_all(cost, now)

    def refund(self, now, amount):
        self.begin(now)
        self.write(now)
        for r in self.rules:
            r.refund(amount)

    def reset(self, now):
        self.begin(now)
        self.write(now)
        for r in self.rules:
            if not skips('reset_keeps_holds'):
                r.reset(now)
            elif not isinstance(r, rules.Log):
                r.debt, r.used, r.previous = 0, 0, 0
        if not skips('reset_keeps_holds'):
            self.open, self.expired = {}, {}
        self.blocked_until = 0

    def block(self, now, until):
        self.begin(now)
        self.blocked_until = until

    def renumber(self, now, numbers):
        """A call of another version of the policy writes."""
        self.begin(now)
        for r, (capacity, count) in zip(self.rules, numbers):
            r.renumber(capacity, count, now)
        self.write(now)
        self.stricter |= bool(self.open)

    def wait(self, now, delay, cost):
        self.begin(now)
        self.write(now)
        cuts = [r.wait(delay, cost, now) for r in self.rules]
        self.stricter |= any(cuts) and bool(self.open)

    def reserve(self, now, cost, ttl):
        self.begin(now)
        if len(self.open) == self.OPEN_MOST:
            return 'too_many_in_flight'
        if not self.fits(now, cost):
            return self.deny(now, cost)
        self.write(now)
        self.last_id += 1
        cuts = [r.hold(self.last_id, cost, now) for r in self.rules]
        self.stricter |= any(cuts)
        self.open[self.last_id] = Hold(cost, now + ttl, ttl)
        return 'allowed'

    def commit(self, now, id, used):
        """Returns the result, also to a second settlement. A hold that is not among the open and
        the expired ones has been settled (or belongs to a state that is gone): nothing changes."""
        self.begin(now)
        hold = self.open.get(id)
        if hold:
            self.write(now)
            self.settle(id, max(0, hold.cost - used), now)
            if not skips('settles_twice'):
                del self.open[id]
            if used > hold.cost and not skips('drops_excess'):
                self.charge_more(now, id, used - hold.cost)
            return self.results.setdefault(id, ('settled', used))
        if id in self.expired:
            del self.expired[id]
            if used > 0 and not skips('drops_late'):
                self.charge_more(now, id, used)
            return self.results.setdefault(id, ('late', used))
        return self.results.get(id, 'unknown')
