// SPDX-License-Identifier: BSL-1.0
//
// The limits as policies, and what a limiter says of them when no process calls.

#include "policies.hpp"

#include "caller.hpp"

#include <support/live_limiter.hpp>
#include <support/on_failure.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

namespace colimit::oracle {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using std::chrono::microseconds;

constexpr auto century = 24h * 36'500;

[[nodiscard]] rule rule_of(const limit& l) {
    const auto period = microseconds{l.period};
    switch (l.kind) {
    case kind::log:
        return sliding_log(l.tokens, period);
    case kind::fixed:
        return fixed_window(l.tokens, period);
    case kind::counter:
        return sliding_window(l.tokens, period);
    case kind::bucket:
        return l.lease == 0 ? gcra(l.tokens, period) : token_bucket(l.tokens, l.refill, period);
    case kind::aligned:
        return token_bucket(l.tokens, l.refill, period).aligned();
    case kind::slots:
        return concurrent(l.tokens).lease(microseconds{l.lease});
    }
    throw std::logic_error{"no such kind"};
}

} // namespace

std::vector<policy> policies_of(mode m) {
    auto all = std::vector<policy>{};
    for (const auto& l : limits_of(m)) {
        if (m == mode::slots) {
            all.emplace_back(l.name, rule_of(l));
            continue;
        }
        all.push_back(policy{l.name, rule_of(l).named("limit"),
                             fixed_window(no_limit, century).named("total")});
        if (l.lease != 0)
            all.back() = all.back().with_leases(microseconds{l.lease});
    }
    return all;
}

namespace {

/// A limiter that waits longer than the processes do.
[[nodiscard]] test::live::adjustment patient(const task& t) {
    return [&t](config& c) {
        c.prefix = t.prefix;
        c.timeout = test::patience;
        test::errors_come_through(c);
    };
}

} // namespace

key_names simple_names() {
    auto names = key_names{};
    for (std::size_t k = 0; k < names.size(); ++k)
        names[k] = "key " + std::to_string(k);
    return names;
}

totals read_totals_by_limiter(const task& t) {
    auto executed = totals{};
    const auto policies = policies_of(t.mode);
    auto l = test::live{t.server, patient(t)};
    l.run([&]() -> asio::awaitable<void> {
        for (std::size_t i = 0; i < policies.size(); ++i)
            for (std::size_t k = 0; k < keys_of(t.mode); ++k) {
                const auto d = co_await l.limiter.peek(t.keys[k], policies[i], {.cost = 0});
                executed[i][k] = no_limit - d.rules[1].balance;
            }
    });
    return executed;
}

std::int64_t slots_lost_by_limiter(const task& t, std::size_t limit) {
    const auto p = policies_of(mode::slots)[limit];
    auto found = std::int64_t{0};
    auto l = test::live{t.server, patient(t)};
    l.run([&]() -> asio::awaitable<void> {
        auto taken = std::vector<slot>{};
        for (std::size_t k = 0; k < keys_of(mode::slots); ++k)
            for (auto place = slot_limits[limit].tokens; place > 0; --place) {
                taken.push_back(co_await l.limiter.acquire(t.keys[k], p));
                found += taken.back() ? 0 : 1;
            }
    });
    return found;
}

} // namespace colimit::oracle
