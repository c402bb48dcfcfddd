// SPDX-License-Identifier: BSL-1.0
//
// A failover that a Sentinel makes because it is told to.

#pragma once

#include <support/coroutine_run.hpp>
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

} // namespace colimit::test
