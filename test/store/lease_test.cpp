// SPDX-License-Identifier: BSL-1.0
//
// Leases of a limiter on a server, beside a second one. They last for an hour, so that none ends
// during a test.

#include "stores.hpp"

#include <colimit/local_limiter.hpp>
#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(leases_on_redis)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;

/// 1,000 tokens, of which the bucket leaves 42 for its leases.
const policy without{"daily", gcra(1'000, 24h)};
const policy daily = policy{"daily", gcra(1'000, 24h)}.with_leases(1h);
constexpr std::int64_t capacity = 958;

struct fixture {
    explicit fixture(const std::string& address = server().address())
        : a(address, [](config& c) { c.counted_policies = 9; }), b(address) {
        look().must({"FLUSHALL"});
    }

    template<class Ask>
    [[nodiscard]] static decision ask(live& from, Ask verb) {
        auto got = decision{};
        from.run([&]() -> asio::awaitable<void> { got = co_await verb(from.limiter); });
        return got;
    }
    [[nodiscard]] static decision allow(live& from, const policy& p, const check_options& o = {}) {
        return ask(from, [&](limiter& l) { return l.allow("k", p, o); });
    }
    /// Calls until a lease has decided several calls. Returns how many calls that takes.
    static std::int64_t lease(live& from, const policy& p) {
        auto calls = std::int64_t{0};
        for (auto leased = 0; leased < 5; ++calls) {
            const auto d = allow(from, p);
            BOOST_TEST_REQUIRE(d.allowed());
            leased += d.source == decision_source::lease ? 1 : 0;
        }
        return calls;
    }
    [[nodiscard]] static std::int64_t held(const live& by) {
        const auto s = by.limiter.statistics();
        return static_cast<std::int64_t>(s.lease_tokens_taken - s.lease_tokens_spent -
                                         s.lease_tokens_lapsed);
    }

    live a;
    live b;
};

void spend_all(const policy& p, std::int64_t limit) {
    auto f = fixture{};
    const auto asked = check_calls(look());
    auto allowed = std::int64_t{0};
    for (;;) {
        const auto d = fixture::allow(f.a, p);
        BOOST_TEST(d.limit == limit);
        if (!d.allowed()) {
            BOOST_TEST((d.source != decision_source::lease));
            break;
        }
        ++allowed;
        BOOST_TEST(d.granted == 1);
        if (d.source == decision_source::lease)
            BOOST_TEST(d.remaining == limit - allowed);
        BOOST_TEST(d.rules[0].balance == d.remaining);
        BOOST_TEST((d.retry_after == 0us));
        BOOST_TEST((d.reset_after > 0us));
    }
    BOOST_TEST(allowed == limit);
    const auto s = f.a.limiter.statistics();
    BOOST_TEST(check_calls(look()) - asked < limit / 4);
    BOOST_TEST(s.leases > 0U);
    BOOST_TEST(s.lease_tokens_taken == s.lease_tokens_spent);
    BOOST_TEST(s.lease_tokens_lapsed == 0U);
    BOOST_TEST(s.count(decision_source::lease) == s.lease_tokens_spent);
    const auto counted = f.a.limiter.policy_statistics();
    BOOST_TEST_REQUIRE(counted.size() == 1U);
    BOOST_TEST(counted[0].count(decision_source::lease) == s.lease_tokens_spent);
    BOOST_TEST(counted[0].allowed == static_cast<std::uint64_t>(limit));
}

} // namespace

BOOST_AUTO_TEST_CASE(a_single_client_is_allowed_all_and_asks_rarely) {
    spend_all(daily, capacity);
}

BOOST_AUTO_TEST_CASE(so_is_one_whose_states_are_packed) {
    spend_all(daily.with_storage(storage::shared_hash), capacity);
}

BOOST_AUTO_TEST_CASE(so_is_one_with_several_rules) {
    spend_all(policy{"two", gcra(1'000, 24h), gcra(5'000, 24h).named("b")}.with_leases(1h),
              capacity);
}

BOOST_AUTO_TEST_CASE(the_store_in_process_has_the_same_limit) {
    auto here = local_limiter{100};
    BOOST_TEST(here.allow("k", daily).limit == capacity);
    auto memory = live{"memory:"};
    BOOST_TEST(fixture::allow(memory, daily).limit == capacity);
    BOOST_TEST(memory.limiter.statistics().leases == 0U);
}

BOOST_FIXTURE_TEST_CASE(what_is_held_is_taken_from_all, fixture) {
    (void)lease(a, daily);
    BOOST_TEST(held(a) > 0);
    const auto d = ask(b, [](limiter& l) { return l.peek("k", daily); });
    const auto used = static_cast<std::int64_t>(a.limiter.statistics().allowed);
    BOOST_TEST(d.remaining == capacity - used - held(a));
    const auto own = ask(a, [](limiter& l) { return l.peek("k", daily); });
    BOOST_TEST(own.remaining == d.remaining);
    BOOST_TEST((own.source == decision_source::store));
}

BOOST_FIXTURE_TEST_CASE(calls_that_are_made_at_once_do_not_hide_what_a_lease_took, fixture) {
    auto checks = std::vector<check_item>(12, {.key = "k", .policy = daily});
    for (auto i = 0; i < 2; ++i) // the second time one of them asks for a lease
        a.run([&]() -> asio::awaitable<void> { co_await a.limiter.allow_many(checks); });
    BOOST_TEST(held(a) > 0);
    const auto d = allow(a, daily);
    BOOST_TEST((d.source == decision_source::lease));
    BOOST_TEST(d.remaining == capacity - 25);
}

BOOST_FIXTURE_TEST_CASE(two_clients_share_one_limit, fixture) {
    auto allowed = std::int64_t{0};
    for (auto denied = 0; denied < 2;) {
        denied = 0;
        for (auto* one : {&a, &b}) {
            if (allow(*one, daily).allowed())
                ++allowed;
            else
                ++denied;
        }
    }
    BOOST_TEST(allowed == capacity);
}

BOOST_FIXTURE_TEST_CASE(costs_take_as_many_tokens, fixture) {
    auto tokens = std::int64_t{0};
    for (auto i = 0;; ++i) {
        const auto d = allow(a, daily, {.cost = 1 + i % 3});
        if (!d.allowed())
            break;
        tokens += d.granted;
        if (d.source == decision_source::lease)
            BOOST_TEST(d.remaining == capacity - tokens);
    }
    BOOST_TEST(tokens <= capacity);
    BOOST_TEST(held(a) < 3);
    BOOST_TEST(tokens > capacity - 3);
    BOOST_TEST(a.limiter.statistics().leases > 0U);
}

using verb = std::function<asio::awaitable<decision>(limiter&)>;

BOOST_FIXTURE_TEST_CASE(a_reset_a_block_and_another_version_drop_the_lease, fixture) {
    const verb verbs[] = {
        [](limiter& l) -> asio::awaitable<decision> { co_return co_await l.reset("k", daily); },
        [](limiter& l) -> asio::awaitable<decision> {
            co_return co_await l.block("k", daily, 1ms);
        },
        [](limiter& l) -> asio::awaitable<decision> { co_return co_await l.allow("k", without); },
        [](limiter& l) -> asio::awaitable<decision> {
            auto check = std::vector<check_item>{{.key = "k", .policy = without}};
            co_return co_await l.allow_all(check);
        }};
    auto i = 0;
    for (const auto& v : verbs) {
        BOOST_TEST_CONTEXT("verb " << ++i) {
            look().must({"FLUSHALL"});
            (void)lease(a, daily);
            BOOST_TEST(held(a) > 0);
            (void)ask(a, v);
            BOOST_TEST(held(a) == 0);
        }
    }
}

/// All of them are admitted all tokens together, and no more.
BOOST_FIXTURE_TEST_CASE(other_verbs_keep_the_lease_and_the_limit, fixture) {
    const std::pair<verb, std::int64_t> verbs[] = {
        // and what it takes
        {[](limiter& l) -> asio::awaitable<decision> { co_return co_await l.charge("k", daily); },
         1},
        {[](limiter& l) -> asio::awaitable<decision> { co_return co_await l.refund("k", daily); },
         -1},
        {[](limiter& l) -> asio::awaitable<decision> {
             co_return co_await l.allow("k", daily, {.cost = 2, .at_least = 1});
         },
         2},
        {[](limiter& l) -> asio::awaitable<decision> {
             co_return co_await l.allow("k", daily, {.request = "id"});
         },
         1},
        {[](limiter& l) -> asio::awaitable<decision> {
             auto check = std::vector<check_item>{{.key = "k", .policy = daily}};
             co_return co_await l.allow_all(check);
         },
         1},
        {[](limiter& l) -> asio::awaitable<decision> { co_return co_await l.wait("k", daily); },
         1}};
    auto i = 0;
    for (const auto& [v, takes] : verbs) {
        BOOST_TEST_CONTEXT("verb " << ++i) {
            (void)ask(a, [](limiter& l) { return l.reset("k", daily); });
            const auto lapsed = a.limiter.statistics().lease_tokens_lapsed;
            auto tokens = lease(a, daily);
            const auto kept = held(a);
            BOOST_TEST(kept > 0);
            (void)ask(a, v);
            BOOST_TEST(held(a) == kept);
            for (tokens += takes; allow(a, daily).allowed(); ++tokens) {
            }
            BOOST_TEST(tokens == capacity);
            BOOST_TEST(a.limiter.statistics().lease_tokens_lapsed == lapsed);
        }
    }
}

BOOST_FIXTURE_TEST_CASE(a_blocked_key_is_denied_by_its_own_limiter_at_once, fixture) {
    (void)lease(a, daily);
    (void)ask(a, [](limiter& l) { return l.block("k", daily, 1h); });
    const auto d = allow(a, daily);
    BOOST_TEST(!d.allowed());
    BOOST_TEST((d.reason == denial_reason::block));
}

BOOST_FIXTURE_TEST_CASE(closing_lets_leases_lapse, fixture) {
    (void)lease(a, daily);
    BOOST_TEST(held(a) > 0);
    a.limiter.close();
    BOOST_TEST(held(a) == 0);
    BOOST_TEST(a.limiter.statistics().lease_tokens_lapsed > 0U);
}

BOOST_AUTO_TEST_CASE(without_a_table_all_ask_the_store) {
    auto f = fixture{};
    auto l = live{server().address(), [](config& c) { c.advanced.max_leases = 0; }};
    for (auto i = 0; i < 50; ++i) {
        const auto d = fixture::allow(l, daily);
        BOOST_TEST((d.source == decision_source::store));
        BOOST_TEST(d.limit == capacity);
    }
    BOOST_TEST(l.limiter.statistics().leases == 0U);
}

BOOST_AUTO_TEST_CASE(what_is_held_is_spent_while_the_server_is_away) {
    auto own = redis_server{};
    auto l = live{own.address()};
    (void)fixture::lease(l, daily);
    const auto held = fixture::held(l);
    BOOST_TEST(held > 0);
    own.kill();
    auto allowed = std::int64_t{0};
    auto ended = error_code{};
    l.run([&]() -> asio::awaitable<void> {
        for (;;) {
            const auto [ec, d] = co_await l.allow("k", daily);
            if (ec) {
                ended = ec;
                break;
            }
            BOOST_TEST((d.source == decision_source::lease));
            ++allowed;
        }
    });
    BOOST_TEST(allowed == held);
    BOOST_TEST((ended == condition::transient || ended == condition::maybe_charged));
}

BOOST_AUTO_TEST_SUITE_END()
