// SPDX-License-Identifier: BSL-1.0
//
// A failover that a Sentinel makes because it is told to.

#pragma once

#include <support/coroutine_run.hpp>
#include <support/live_limiter.hpp>
#include <support/sentinel_group.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>

namespace colimit::test {

/// Completes when this Sentinel names another master. It is told more than once: a Sentinel gives
/// the failover up if a busy machine makes all replicas seem slow. There is only one failover,
/// though: a second one could lose what has been counted since the first.
inline boost::asio::awaitable<void> fail_over(sentinel_group& group, std::size_t watcher) {
    const auto before = group.named_by(watcher);
    for (;;) {
        // Asked before the name, which changes while the failover is still under way.
        const auto may_order = !group.is_failing_over(watcher);
        if (group.named_by(watcher) != before)
            co_return;
        if (may_order)
            (void)group.watcher(watcher).connect()({"SENTINEL", "FAILOVER", "mymaster"});
        co_await pause_for(std::chrono::milliseconds{50});
    }
}

/// Completes when calls are decided by the new master, and no Sentinel interferes any more: one
/// that knows the old master might demote the new one, and ends the connections of its clients.
/// @param rules of a call on a key of its own
inline boost::asio::awaitable<void> fail_over_calmly(sentinel_group& group, live& l,
                                                     const policy& rules) {
    const auto reconnects = l.limiter.statistics().reconnects;
    co_await fail_over(group, 0);
    co_await until([&] { return l.limiter.statistics().reconnects > reconnects; });
    group.await_health();
    // Nothing was read meanwhile, not even the end of a connection.
    co_await l.until_it_works("after the failover", rules);
}

} // namespace colimit::test
