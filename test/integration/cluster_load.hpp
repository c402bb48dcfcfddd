// SPDX-License-Identifier: BSL-1.0
//
// Keys of which a test knows the node, and callers that ask for them.

#pragma once

#include <support/live_limiter.hpp>
#include <support/redis_cluster.hpp>
#include <support/unit_test.hpp>
#include <support/usual_tags.hpp>

#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace colimit::test {

[[nodiscard]] inline std::string address_of(const redis_cluster& c,
                                            const std::string& scheme = "redis+cluster://") {
    auto hosts = std::string{};
    for (const auto& e : c.endpoints())
        hosts += (hosts.empty() ? "" : ",") + e;
    return scheme + hosts;
}

/// Keys in the slots of one node, each in another slot.
[[nodiscard]] inline std::vector<std::string> keys_on(const redis_cluster& c, std::size_t node,
                                                      std::size_t count) {
    auto found = std::vector<std::string>{};
    auto slots = std::vector<std::size_t>{};
    for (auto i = 0; found.size() < count; ++i) {
        auto key = "key" + std::to_string(i);
        const auto slot = std::size_t{slot_of(key)};
        if (c.owner(slot) == node && std::ranges::find(slots, slot) == slots.end()) {
            slots.push_back(slot);
            found.push_back(std::move(key));
        }
    }
    return found;
}

/// Callers that each ask for their own keys, one after the other, until told to stop.
struct cluster_load {
    void start(live& l, std::size_t callers, std::vector<std::string> on, policy p) {
        keys = std::move(on);
        admitted.resize(keys.size());
        for (std::size_t i = 0; i < callers; ++i)
            asio::co_spawn(l.context, call_on(l, i, p), rethrow);
    }
    asio::awaitable<void> end() {
        ends = true;
        co_await until([this] { return running == 0; });
    }
    asio::awaitable<void> until_decided(int more) {
        const auto enough = decided + more;
        co_await until([this, enough] { return decided >= enough; });
    }

    std::vector<std::string> keys;
    std::vector<int> admitted; ///< of each key
    int decided = 0;
    int unknown = 0;
    std::vector<std::string> others;

  private:
    asio::awaitable<void> call_on(live& l, std::size_t next, policy p) {
        ++running;
        while (!ends) {
            const auto i = next++ % keys.size();
            const auto [ec, d] = co_await l.allow(keys[i], p);
            if (!ec) {
                ++decided;
                admitted[i] += d.allowed() ? 1 : 0;
            } else if (ec == errc::outcome_unknown) {
                ++unknown;
            } else {
                others.push_back(ec.message());
                co_await pause_for(std::chrono::milliseconds{1}); // to not fill the processor
            }
        }
        --running;
    }

    bool ends = false;
    int running = 0;
};

/// Calls for six keys of node 0 while their slots move to node 1. Nothing may be admitted twice,
/// and no call may fail.
/// @param move moves a slot, and may let calls be decided meanwhile: move(slot, decide), and
///             decide(n) returns when n more are
template<class Move>
void check_moving_slots(const redis_cluster& c, live& l, const rule& r, int limit, Move move) {
    const auto keys = keys_on(c, 0, 6);
    auto all = cluster_load{};
    all.start(l, 12, keys, policy{"p", r});
    const auto decide = [&](int more) {
        l.run([&]() -> asio::awaitable<void> { co_await all.until_decided(more); });
    };
    decide(200);
    for (const auto& key : keys) {
        move(slot_of(key), decide);
        decide(50);
    }
    l.run([&]() -> asio::awaitable<void> {
        for (const auto& admitted : all.admitted)
            co_await until([&] { return admitted >= limit; });
        co_await all.until_decided(200);
        co_await all.end();
    });
    BOOST_TEST(all.unknown == 0);
    BOOST_TEST(all.others == std::vector<std::string>{}, boost::test_tools::per_element());
    BOOST_TEST(all.admitted == std::vector<int>(keys.size(), limit),
               boost::test_tools::per_element());
}

} // namespace colimit::test
