// SPDX-License-Identifier: BSL-1.0
//
// Callers that make one call after the other until told to stop, and what became of their calls.

#pragma once

#include <support/live_limiter.hpp>

#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace colimit::scenario {

namespace asio = boost::asio;

struct callers {
    struct order {
        policy rules;
        std::size_t count = 20;
        std::vector<std::string> keys = {"k"};
        std::chrono::microseconds pause = std::chrono::milliseconds{10}; ///< after each call
        bool has_ids = false; ///< each call has one, and is made twice
    };

    callers(test::live& l, order o) : target(l), what(std::move(o)), admitted(what.keys.size()) {
        for (std::size_t i = 0; i < what.count; ++i)
            asio::co_spawn(l.context, call(i), test::rethrow);
    }
    callers(const callers&) = delete;
    callers& operator=(const callers&) = delete;

    /// Calls until the store has decided so many more.
    asio::awaitable<void> until_decided(std::int64_t more) {
        const auto enough = decided + more;
        co_await test::until([this, enough] { return decided >= enough; });
    }
    asio::awaitable<void> finish() {
        ends = true;
        co_await test::until([this] { return running == 0; });
    }

    test::live& target;
    order what;
    std::vector<std::int64_t> admitted; ///< of each key
    std::int64_t decided = 0;
    std::int64_t unknown = 0;
    std::int64_t unavailable = 0;
    std::int64_t others = 0; ///< other errors, and second calls with another result
    std::chrono::microseconds longest{0};

  private:
    [[nodiscard]] static std::chrono::microseconds now() {
        return std::chrono::duration_cast<std::chrono::microseconds>(
            std::chrono::steady_clock::now().time_since_epoch());
    }

    asio::awaitable<void> call(std::size_t next) {
        ++running;
        while (!ends) {
            const auto i = next++ % what.keys.size();
            const auto id = std::to_string(made++);
            auto options = check_options{};
            if (what.has_ids)
                options.request = id;
            const auto begin = now();
            const auto [ec, d] = co_await target.allow(what.keys[i], what.rules, options);
            longest = std::max(longest, now() - begin);
            note(ec, i, d);
            if (!ec && what.has_ids) {
                const auto [failure, again] =
                    co_await target.allow(what.keys[i], what.rules, options);
                others += failure || again != d ? 1 : 0;
            }
            const auto pause =
                ec ? std::max<std::chrono::microseconds>(what.pause, std::chrono::milliseconds{1})
                   : what.pause;
            if (pause.count() != 0)
                co_await test::pause_for(pause);
        }
        --running;
    }

    void note(error_code ec, std::size_t key, const decision& d) {
        decided += ec ? 0 : 1;
        admitted[key] += !ec && d.allowed() ? 1 : 0;
        unknown += ec == errc::outcome_unknown ? 1 : 0;
        unavailable += ec == errc::unavailable ? 1 : 0;
        others += ec && ec != errc::outcome_unknown && ec != errc::unavailable ? 1 : 0;
    }

    bool ends = false;
    int running = 0;
    int made = 0; ///< calls
};

} // namespace colimit::scenario
