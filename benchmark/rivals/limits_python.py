# A rival: limits on Python, a fixed window, 16 threads as in a server of that kind. rival.hpp says
# what a rival program takes and prints.

import random
import resource
import sys
import threading
import time

import limits
import redis

THREADS = 16


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def run(socket, checks, keys):
    storage = limits.storage.storage_from_string("redis+unix://" + socket)
    limiter = limits.strategies.FixedWindowRateLimiter(storage)
    rule = limits.RateLimitItemPerHour(1000)
    refused = []

    def ask(calls):
        for _ in range(calls):
            if not limiter.hit(rule, "user:%d" % (1000000 + random.randrange(keys))):
                refused.append(1)

    def ask_on_all_threads(calls):
        threads = [threading.Thread(target=ask, args=(calls // THREADS,)) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    ask_on_all_threads(checks // 10)
    begin, cpu = time.monotonic(), cpu_seconds()
    timed = (checks - checks // 10) // THREADS * THREADS
    ask_on_all_threads(timed)
    took, cpu = time.monotonic() - begin, cpu_seconds() - cpu
    if refused:
        sys.exit("a check was refused")
    print(timed / took, cpu / timed * 1e6)


if sys.argv[1:] == ["--version"]:
    print("limits %s, redis-py %s" % (limits.__version__, redis.__version__))
else:
    run(sys.argv[1], max(int(sys.argv[2]), 10 * THREADS), int(sys.argv[3]))
