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
/// the failover up if a busy machine makes all replicas seem slow.
inline boost::asio::awaitable<void> fail_over(sentinel_group& group, std::size_t watcher) {
    const auto before = group.named_by(watcher);
    while (group.named_by(watcher) == before) {
        (void)group.watcher(watcher).connect()({"SENTINEL", "FAILOVER", "mymaster"});
        co_await pause_for(std::chrono::milliseconds{500});
    }
}

} // namespace colimit::test
