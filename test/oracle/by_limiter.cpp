// SPDX-License-Identifier: BSL-1.0
//
// Each policy has a second rule that never denies: a window of a century. What it counts is what
// the server has granted, charged in the same step as the limit.

#include "caller.hpp"
#include "records_file.hpp"

#include <support/live_limiter.hpp>
#include <support/on_failure.hpp>

#include <array>
#include <chrono>
#include <random>
#include <stdexcept>

namespace colimit::oracle {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using std::chrono::microseconds;

constexpr auto callers = 64;
constexpr auto century = 24h * 36'500;
constexpr auto no_limit = std::int64_t{1} << 40;

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
        return gcra(l.tokens, period);
    }
    throw std::logic_error{"no such kind"};
}

[[nodiscard]] policy policy_of(const limit& l) {
    return policy{l.name, rule_of(l).named("limit"),
                  fixed_window(no_limit, century).named("total")};
}

[[nodiscard]] std::vector<policy> all_policies() {
    auto all = std::vector<policy>{};
    for (const auto& l : limits)
        all.push_back(policy_of(l));
    return all;
}

[[nodiscard]] std::string key_of(std::size_t k) {
    return "key " + std::to_string(k);
}

void note(record& r, error_code ec, const decision& d, int process) {
    if (ec) {
        r.verdict = ec == condition::maybe_charged ? verdict::unknown : verdict::failed;
        return;
    }
    r.time = d.server_time.time_since_epoch().count();
    r.verdict = d.allowed() ? verdict::granted : verdict::refused;
    r.granted = static_cast<std::uint16_t>(d.granted);
    if (d.source != decision_source::store && d.source != decision_source::deny_cache)
        r.process = static_cast<std::uint8_t>(process);
}

} // namespace

void call_by_limiter(const task& t) {
    auto random = std::mt19937_64{t.seed};
    auto out = records_file{t.file};
    const auto policies = all_policies();
    auto l = test::live{t.server, [&](config& c) {
                            c.prefix = t.prefix;
                            c.timeout = 1s;
                            c.reconnect_delay_max = 50ms;
                            test::errors_come_through(c);
                        }};
    auto left = t.checks;
    auto running = callers;
    for (auto i = 0; i < callers; ++i)
        asio::co_spawn(
            l.context,
            [&]() -> asio::awaitable<void> {
                while (left > 0) {
                    --left;
                    const auto draw = random();
                    auto r = record{};
                    r.limit = static_cast<std::uint8_t>(draw % limits.size());
                    r.key = static_cast<std::uint8_t>(draw / 16 % keys_each);
                    r.cost = static_cast<std::uint16_t>(1 + draw / 4096 % 3);
                    const auto key = key_of(r.key);
                    auto options = check_options{.cost = r.cost};
                    if (draw / 65'536 % 4 == 0)
                        options.at_least = 1; // as many as fit
                    const auto [ec, d] = co_await l.allow(key, policies[r.limit], options);
                    note(r, ec, d, t.process);
                    out.append(r);
                    if (ec)
                        co_await test::pause_for(1ms);
                }
                --running;
            },
            test::rethrow);
    // A call that never ends is what the oracle is to find, not what it waits for.
    auto seen = std::int64_t{-1};
    while (running != 0 && seen != out.size()) {
        seen = out.size();
        const auto end = std::chrono::steady_clock::now() + test::patience;
        while (running != 0 && seen == out.size() && std::chrono::steady_clock::now() < end)
            l.context.run_one_for(100ms);
    }
}

totals read_totals(const std::string& server, const std::string& prefix) {
    auto executed = totals{};
    const auto policies = all_policies();
    auto l = test::live{server, [&](config& c) {
                            c.prefix = prefix;
                            test::errors_come_through(c);
                        }};
    l.run([&]() -> asio::awaitable<void> {
        for (std::size_t i = 0; i < limits.size(); ++i)
            for (std::size_t k = 0; k < keys_each; ++k) {
                const auto key = key_of(k);
                const auto d = co_await l.limiter.peek(key, policies[i], {.cost = 0});
                executed[i][k] = no_limit - d.rules[1].balance;
            }
    });
    return executed;
}

} // namespace colimit::oracle
