// SPDX-License-Identifier: BSL-1.0
//
// The table "Coming from a Redis article" in example/README.md: a case per row, with the code of
// the row as it is there (`test/style` compares them), in process and on a server.

#include "stores.hpp"

#include <colimit/bloom_filter.hpp>
#include <colimit/key.hpp>
#include <colimit/limiter.hpp>
#include <colimit/redis_cell.hpp>
#include <colimit/rule_text.hpp>
#include <colimit/rules.hpp>
#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/awaitable.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(redis_articles)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;
namespace asio = boost::asio;

constexpr std::string_view key = "user";

/// The time of every call.
auto now = at(0);

using answered = asio::awaitable<decision>;
using row = asio::awaitable<void> (*)(colimit::limiter&);

void on_both_stores(row r) {
    for (const auto& address : {std::string{"memory:"}, server().unix_address()}) {
        BOOST_TEST_CONTEXT(address) {
            look().must({"FLUSHALL"});
            now = at(0);
            live l{address, [](config& c) {
                       c.advanced.clock = [] { return now; };
                       c.advanced.min_key_ttl = for_supplied_clocks;
                   }};
            l.run([&] { return r(l.limiter); });
        }
    }
}

/// Makes calls until one is denied, at most 200, and returns how many are allowed.
template<class Call>
asio::awaitable<int> allowed_calls(Call call) {
    for (int i = 0; i < 200; ++i) {
        const decision d = co_await call();
        if (!d)
            co_return i;
    }
    co_return -1;
}

asio::awaitable<void> sliding_window_of_a_zset(colimit::limiter& limiter) {
    const auto call = [&]() -> answered {
        co_return co_await limiter.allow(key, sliding_log(5, 1min));
    };
    BOOST_TEST(co_await allowed_calls(call) == 5); // all in the same microsecond
    now += 1min - 1us;
    BOOST_TEST(co_await allowed_calls(call) == 0);
    now += 1us;
    BOOST_TEST(co_await allowed_calls(call) == 5);
}
BOOST_AUTO_TEST_CASE(zadd) {
    on_both_stores(sliding_window_of_a_zset);
}

asio::awaitable<void> fixed_window_of_a_count(colimit::limiter& limiter) {
    const auto call = [&]() -> answered {
        co_return co_await limiter.allow(key, fixed_window(5, 1min).from_first());
    };
    now += 20s; // the window begins with the first call, as with EXPIRE
    BOOST_TEST(co_await allowed_calls(call) == 5);
    const auto d = co_await call();
    BOOST_TEST(d.retry_after_seconds() == 60);
    now += 1min;
    BOOST_TEST(co_await allowed_calls(call) == 5);
}
BOOST_AUTO_TEST_CASE(incr_and_expire) {
    on_both_stores(fixed_window_of_a_count);
}

asio::awaitable<void> funnel(colimit::limiter& limiter) {
    const auto call = [&]() -> answered {
        co_return co_await limiter.allow(key, leaky_bucket(15, 1, 2s));
    };
    BOOST_TEST(co_await allowed_calls(call) == 15);
    now += 2s - 1us;
    BOOST_TEST(co_await allowed_calls(call) == 0);
    now += 1us;
    BOOST_TEST(co_await allowed_calls(call) == 1);
    BOOST_TEST((parse_rules("0.5/s leaky_bucket burst 15")[0] == leaky_bucket(15, 1, 2s)));
}
BOOST_AUTO_TEST_CASE(leaky) {
    on_both_stores(funnel);
}

asio::awaitable<void> bucket_of_tokens(colimit::limiter& limiter) {
    const auto call = [&]() -> answered {
        co_return co_await limiter.allow(key, token_bucket(100, 10, 1s));
    };
    BOOST_TEST(co_await allowed_calls(call) == 100);
    now += 1s;
    BOOST_TEST(co_await allowed_calls(call) == 10);
    now += 1h; // no more than the capacity
    BOOST_TEST(co_await allowed_calls(call) == 100);
}
BOOST_AUTO_TEST_CASE(tokens) {
    on_both_stores(bucket_of_tokens);
}

asio::awaitable<void> throttle(colimit::limiter& limiter) {
    const auto d = co_await limiter.allow(key, cell(15, 30, 60s));
    BOOST_TEST((to_cell_reply(d) == cell_reply{0, 16, 15, -1, 2}));
    BOOST_TEST(co_await allowed_calls([&]() -> answered {
                   co_return co_await limiter.allow(key, cell(15, 30, 60s));
               }) == 15);
}
BOOST_AUTO_TEST_CASE(cl_throttle) {
    on_both_stores(throttle);
}

asio::awaitable<void> visitors_of_a_page(colimit::limiter& limiter) {
    const policy visitors{"visitors", distinct(1'000'000, 24h)};
    const auto members = std::array<std::string_view, 4>{"ann", "bob", "ann", "cid"};
    co_await limiter.charge_members(key, visitors, members);
    const auto count = co_await limiter.count_distinct(key, visitors);
    BOOST_TEST(count == 3);
    // As a limit: a fourth address is denied, a known one is not.
    const auto from = [&](std::string_view address) -> answered {
        co_return co_await limiter.allow(key, distinct(3, 24h), {.member = address});
    };
    for (const auto* address : {"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.1"}) {
        const auto d = co_await from(address);
        BOOST_TEST(d.allowed());
    }
    const auto fourth = co_await from("192.0.2.4");
    BOOST_TEST((fourth.outcome == outcome::denied));
}
BOOST_AUTO_TEST_CASE(pfadd_and_pfcount) {
    on_both_stores(visitors_of_a_page);
}

asio::awaitable<void> ids_of_articles(colimit::limiter& limiter) {
    const bloom_filter filter{"articles", {.capacity = 1'000'000, .error_rate = 0.01, .ttl = 24h}};
    const std::string_view id = "article 7";
    auto seen = co_await limiter.probably_seen(id, filter); // BF.EXISTS
    BOOST_TEST(!seen);
    seen = co_await limiter.seen(id, filter); // BF.ADD
    BOOST_TEST(!seen);
    seen = co_await limiter.seen(id, filter);
    BOOST_TEST(seen);
    seen = co_await limiter.probably_seen(id, filter);
    BOOST_TEST(seen);
    now += 24h - 1us;
    seen = co_await limiter.probably_seen(id, filter);
    BOOST_TEST(seen);
    now += 24h + 1us; // each filter expires
    seen = co_await limiter.probably_seen(id, filter);
    BOOST_TEST(!seen);
}
BOOST_AUTO_TEST_CASE(bf_add_and_bf_exists) {
    on_both_stores(ids_of_articles);
}

asio::awaitable<void> form(colimit::limiter& limiter) {
    const std::string_view form_id = "7";
    BOOST_TEST(co_await allowed_calls(
                   [&]() -> answered { co_return co_await limiter.once(form_id, 5s); }) == 1);
    now += 5s;
    BOOST_TEST(co_await allowed_calls(
                   [&]() -> answered { co_return co_await limiter.once(form_id, 5s); }) == 1);

    const auto orders = policy{"orders", gcra(100, 1min)}.prevent_duplicate(5s);
    BOOST_TEST(co_await allowed_calls(
                   [&]() -> answered { co_return co_await limiter.allow(key, orders); }) == 1);
    const auto d = co_await limiter.allow(key, orders);
    BOOST_TEST((d.reason == denial_reason::duplicate));
    now += 5s;
    BOOST_TEST(co_await allowed_calls(
                   [&]() -> answered { co_return co_await limiter.allow(key, orders); }) == 1);
}
BOOST_AUTO_TEST_CASE(duplicates) {
    on_both_stores(form);
}

asio::awaitable<void> two_rules(colimit::limiter& limiter) {
    const auto call = [&]() -> answered {
        co_return co_await limiter.allow(key, rules{sliding_log(10, 1min), sliding_log(15, 1h)});
    };
    BOOST_TEST(co_await allowed_calls(call) == 10);
    now += 1min; // the denied call has used up nothing of the hour
    BOOST_TEST(co_await allowed_calls(call) == 5);
    now += 1min;
    BOOST_TEST(co_await allowed_calls(call) == 0);
}
BOOST_AUTO_TEST_CASE(several_rules) {
    on_both_stores(two_rules);
}

asio::awaitable<bool> is_action_allowed(colimit::limiter& limiter, std::string_view user,
                                        std::string_view action, std::chrono::seconds period,
                                        std::int64_t max) {
    const auto d = co_await limiter.allow(key::user(user).part(action), sliding_log(max, period));
    co_return d.allowed();
}

asio::awaitable<void> actions(colimit::limiter& limiter) {
    for (int i = 0; i < 7; ++i)
        BOOST_TEST(co_await is_action_allowed(limiter, "ann", "reply", 60s, 5) == (i < 5));
    BOOST_TEST(co_await is_action_allowed(limiter, "ann", "like", 60s, 5));
    // Joined with ':', these two would be one key.
    BOOST_TEST(co_await is_action_allowed(limiter, "ann:x", "reply", 60s, 1));
    BOOST_TEST(co_await is_action_allowed(limiter, "ann", "x:reply", 60s, 1));
}
BOOST_AUTO_TEST_CASE(action) {
    on_both_stores(actions);
}

} // namespace

BOOST_AUTO_TEST_SUITE_END()
