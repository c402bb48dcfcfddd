// SPDX-License-Identifier: BSL-1.0
//
// Calls while the server lacks what executes them, such as a function library or the server module.

#pragma once

#include <support/problems.hpp>

#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace colimit::test {

/// Makes calls after `take_away()`: they wait while `advice` is reported, and are decided in their
/// order after `bring_back()`.
/// @param rules a policy with one rule of this capacity
template<class TakeAway, class BringBack>
void check_calls_that_wait(live& l, const policy& rules, std::int64_t capacity,
                           std::string_view advice, TakeAway take_away, BringBack bring_back) {
    l.run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        take_away();
        auto decided = std::vector<decision>{};
        for (auto i = 0; i < 10; ++i)
            l.limiter.allow("k", rules, [&](error_code ec, const decision& d) {
                BOOST_TEST(!ec, ec.message());
                decided.push_back(d);
            });
        co_await until_reported(l.limiter, advice);
        BOOST_TEST(decided.empty());
        bring_back();
        co_await until([&] { return decided.size() == 10U; });
        for (auto i = 0U; i < 10; ++i)
            BOOST_TEST(decided[i].remaining == capacity - 2 - i);
    });
}

} // namespace colimit::test
