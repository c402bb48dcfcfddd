// SPDX-License-Identifier: BSL-1.0
//
// Calls for one key in one batch get the decisions, and leave the bytes, of calls made in sequence
// at the same instant.

#include "stores.hpp"

#include <support/decision_text.hpp>
#include <support/live_limiter.hpp>
#include <support/rules_of_every_kind.hpp>
#include <support/unit_test.hpp>

#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(merged)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;

/// Rules of all kinds, alone, in company, with a hold, and watching only.
[[nodiscard]] std::vector<policy> policies() {
    auto rules = rules_of_every_kind(20, 1h);
    rules.push_back(sliding_log(20, 1h));
    auto all = std::vector<policy>{};
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const auto name = "p" + std::to_string(i);
        all.emplace_back(name, rules[i]);
        all.emplace_back(name + "shadow", rules[i].shadow());
        all.push_back(policy{name + "hold", rules[i]}.prevent_duplicate(1s));
        all.emplace_back(name + "more", rules[i].named("one"),
                         rules[(i + 3) % rules.size()].named("other"), gcra(15, 1h).named("least"));
    }
    return all;
}

struct asked {
    std::vector<std::int64_t> costs;
    std::int64_t at_least = 0; ///< 0: all or nothing
};

constexpr std::int64_t uneven = 4'206'533'750'925'914;

const std::vector<asked> rows{
    {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
    {{3, 3, 3, 3, 3, 3, 3, 3, 1, 1, 1, 1, 7, 7}},
    {{7, 7, 7, 7, 4, 4, 4, 1, 1, 1, 1, 0, 0, 0}},
    {{25, 25, 20, 20, limits::max_exact_integer, limits::max_exact_integer}},
    // Five times this is beyond 2^53 and rounds down, which a policy that only watches grants.
    {{uneven, uneven, uneven, uneven, uneven}},
    {{6, 6, 6, 6, 6, 6}, 2},
};

/// All at once, or one after another.
[[nodiscard]] std::vector<decision> ask(live& l, const policy& p, std::string_view key,
                                        const asked& row, bool together) {
    auto got = std::vector<decision>(row.costs.size());
    auto left = row.costs.size();
    for (std::size_t i = 0; i < row.costs.size(); ++i) {
        const auto cost = row.costs[i];
        auto options = check_options{.cost = cost, .now = at(0)};
        if (row.at_least != 0)
            options.at_least = row.at_least;
        l.limiter.allow(key, p, options, [&, i](error_code ec, const decision& d) {
            BOOST_TEST(!ec);
            got[i] = d;
            --left;
        });
        if (!together)
            run_until(l.context, [&, after = left - 1] { return left == after; });
    }
    run_until(l.context, [&] { return left == 0; });
    return got;
}

BOOST_AUTO_TEST_CASE(calls_that_leave_together_are_decided_as_one_after_another) {
    look().must({"FLUSHALL"});
    auto l = live{server().address(), [](config& c) { c.advanced.min_key_ttl = 1h; }};
    l.run([&]() -> asio::awaitable<void> { (void)co_await l.ready(); });
    for (const auto& p : policies())
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const auto where = std::string{p.name()} + ", row " + std::to_string(i);
            const auto merged = ask(l, p, "together" + std::to_string(i), rows[i], true);
            const auto single = ask(l, p, "alone" + std::to_string(i), rows[i], false);
            for (std::size_t c = 0; c < merged.size(); ++c)
                BOOST_TEST_CONTEXT(where << ", call " << c)
            BOOST_TEST(merged[c] == single[c]);
            const auto value = [&](const std::string& key) {
                return look().must({"GET", name_of(p, key + std::to_string(i))}).value();
            };
            BOOST_TEST_CONTEXT(where)
            BOOST_TEST((value("together") == value("alone")));
        }
    const auto s = l.limiter.statistics();
    BOOST_TEST(s.merged > 0U);
    BOOST_TEST(s.failed == 0U);
}

/// A batch says in a byte how often each key is asked, or in two where one of them needs it.
BOOST_AUTO_TEST_CASE(more_equal_calls_than_a_byte_counts_are_all_counted) {
    look().must({"FLUSHALL"});
    auto l = live{server().address(), [](config& c) { c.advanced.min_key_ttl = 1h; }};
    l.run([&]() -> asio::awaitable<void> { (void)co_await l.ready(); });
    const std::vector<policy> policies{policy{"bucket", gcra(1'000, 1h)},
                                       policy{"window", fixed_window(1'000, 1h)}};
    for (const auto& p : policies) {
        auto left = 301 + 2;
        for (int i = 0; i < 301; ++i)
            l.limiter.allow("many", p, {.now = at(0)}, [&](error_code ec, const decision& d) {
                BOOST_TEST((!ec && d.allowed()));
                --left;
            });
        for (const auto* key : {"few", "one"})
            l.limiter.allow(key, p, {.now = at(0)}, [&](error_code, const decision&) { --left; });
        run_until(l.context, [&] { return left == 0; });
        auto after = decision{};
        l.run([&]() -> asio::awaitable<void> {
            after = co_await l.limiter.peek("many", p, {.now = at(0)});
        });
        BOOST_TEST(after.remaining == 1'000 - 301);
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE_END()
