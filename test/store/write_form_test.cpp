// SPDX-License-Identifier: BSL-1.0
//
// Values that keep their TTLs are written with one command for all keys of a batch where the server
// has it and the user may run it, else with one for each key. The differential compares the bytes,
// but most of its calls supply a clock, and then no TTL is kept.

#include <colimit/local_limiter.hpp>
#include <support/live_limiter.hpp>
#include <support/redis_server.hpp>
#include <support/rng.hpp>
#include <support/script_only.hpp>
#include <support/server_version.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(write_form)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;

const std::vector<std::string> names{"a", "b", "c"};

/// Whether a check writes with MSETEX: the script does where the server has it, the module never.
[[nodiscard]] bool writes_with_msetex(raw_client& look) {
    const auto v = version_of(look);
    return calls_of(look, "colimit.check") == 0 && v.is_valkey() && v.is_at_least(9, 1);
}

/// Calls for these keys in one batch.
[[nodiscard]] std::vector<live::answer> allow_each(live& l, const policy& p,
                                                   const std::vector<std::string>& keys = names) {
    auto got = std::vector<std::optional<live::answer>>(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i)
        l.limiter.allow(keys[i], p,
                        [&got, i](error_code ec, const decision& d) { got[i] = {ec, d}; });
    run_until(l.context, [&] {
        return std::ranges::all_of(got, [](const auto& one) { return one.has_value(); });
    });
    auto all = std::vector<live::answer>{};
    for (auto& one : got)
        all.push_back(*one);
    return all;
}

void check_each(live& l, const policy& p, std::int64_t remaining) {
    for (const auto& [ec, d] : allow_each(l, p)) {
        BOOST_TEST(!ec, ec.message());
        BOOST_TEST(d.remaining == remaining);
    }
}

/// Checks that each key expires when its value, which begins with this time, says so.
void check_ttls(raw_client& look) {
    for (const auto& name : look.keys()) {
        const auto value = look.get(name);
        const auto end = look.must({"PEXPIRETIME", name}).integer;
        if (!value || end == -2)
            continue; // expired meanwhile
        auto promise = double{};
        BOOST_TEST_REQUIRE(value->size() >= sizeof promise);
        std::memcpy(&promise, value->data(), sizeof promise);
        BOOST_TEST(static_cast<std::int64_t>(promise) == end * 1000, name);
    }
}

/// Makes the first calls, after which the next one keeps the TTL: for a bucket that is the third.
void use_twice(live& l, const policy& p) {
    check_each(l, p, 4);
    check_each(l, p, 3);
}

} // namespace

BOOST_AUTO_TEST_CASE(values_of_one_rule_are_replaced_together_where_the_server_can) {
    for (const auto& p :
         {policy{"bucket", gcra(5, 5h)}, policy{"window", fixed_window(5, 24h * 36'500)},
          policy{"counter", sliding_window(5, 24h * 36'500)}}) {
        const auto server = redis_server{};
        auto look = server.connect();
        auto l = live{server.address()};
        use_twice(l, p);
        const auto before = calls_of(look, "msetex");
        check_each(l, p, 2);
        BOOST_TEST(calls_of(look, "msetex") - before == (writes_with_msetex(look) ? 1 : 0));
        for (const auto& name : look.keys())
            BOOST_TEST(look.pttl(name) > 0);
        check_each(l, p, 1);
        check_each(l, p, 0);
        for (const auto& [ec, d] : allow_each(l, p))
            BOOST_TEST((!ec && d.outcome == outcome::denied), ec.message());
    }
}

BOOST_AUTO_TEST_CASE(batches_that_keep_ttls_decide_as_the_store_in_process) {
    constexpr auto steps = 150;
    auto random = rng{1};
    for (const auto& p : {policy{"bucket", gcra(40, 1h)}, policy{"thirds", token_bucket(20, 3, 7s)},
                          policy{"window", fixed_window(9, 1min)},
                          policy{"first", fixed_window(9, 1min).from_first()},
                          policy{"counter", sliding_window(9, 1min)}}) {
        auto server = redis_server{{.can_step_clock = true}};
        auto look = server.connect();
        auto l = live{server.address(), [](config& c) { c.advanced.deny_cache = 0; }};
        auto twin = local_limiter{100};
        auto passed = std::chrono::microseconds{};
        for (auto step = 0; step < steps; ++step) {
            auto keys = std::vector<std::string>{};
            for (auto i = random.between(2, 20); i != 0; --i)
                keys.push_back("k" + std::to_string(random.below(8)));
            const auto got = allow_each(l, p, keys);
            for (std::size_t i = 0; i < keys.size(); ++i) {
                const auto& [ec, d] = got[i];
                BOOST_TEST_REQUIRE(!ec, ec.message());
                BOOST_TEST((twin.allow(keys[i], p, {.now = d.server_time}) == d));
            }
            if (step % 10 == 0)
                check_ttls(look);
            passed += std::chrono::microseconds{random.magnitude(20'000'000)};
            server.set_clock(passed);
        }
        BOOST_TEST((calls_of(look, "msetex") > 10) == writes_with_msetex(look));
    }
}

BOOST_AUTO_TEST_CASE(long_values_and_single_keys_are_changed_in_place,
                     *colimit::test::script_only) {
    const auto server = redis_server{};
    auto look = server.connect();
    auto l = live{server.address()};
    const auto two = policy{"two", gcra(5, 5h).named("a"), gcra(50, 50h).named("b")};
    use_twice(l, two);
    check_each(l, two, 2);
    const auto one = policy{"one", gcra(5, 5h)};
    l.run([&]() -> asio::awaitable<void> {
        for (auto i = 0; i < 3; ++i)
            (void)co_await l.allow("a", one);
    });
    BOOST_TEST(calls_of(look, "msetex") == 0);
    BOOST_TEST(calls_of(look, "setrange") >= 4);
}

BOOST_AUTO_TEST_CASE(a_user_who_may_not_replace_values_together_changes_each,
                     *colimit::test::script_only) {
    const auto server = redis_server{};
    auto look = server.connect();
    if (writes_with_msetex(look))
        look.must({"ACL", "SETUSER", "default", "-msetex"});
    auto l = live{server.address()};
    const auto p = policy{"bucket", gcra(5, 5h)};
    use_twice(l, p);
    check_each(l, p, 2);
    BOOST_TEST(calls_of(look, "msetex") == 0);
    BOOST_TEST(calls_of(look, "setrange") >= 3);
    BOOST_TEST(!l.limiter.last_error());
}

BOOST_AUTO_TEST_CASE(on_a_full_server_each_key_that_must_be_written_fails) {
    const auto server = redis_server{};
    auto look = server.connect();
    auto l = live{server.address()};
    const auto p = policy{"bucket", gcra(5, 5h)};
    use_twice(l, p);
    l.run([&]() -> asio::awaitable<void> {
        for (auto i = 0; i < 3; ++i)
            (void)co_await l.allow("b", p);
    });
    look.must({"CONFIG", "SET", "maxmemory", "1"});
    auto got = allow_each(l, p);
    look.must({"CONFIG", "SET", "maxmemory", "0"});
    BOOST_TEST((std::get<0>(got[0]) == errc::server_error), std::get<0>(got[0]).message());
    BOOST_TEST((std::get<1>(got[1]).outcome == outcome::denied));
    BOOST_TEST(!std::get<0>(got[1]));
    BOOST_TEST((std::get<0>(got[2]) == errc::server_error), std::get<0>(got[2]).message());
    l.run([&]() -> asio::awaitable<void> {
        const auto [ec, d] = co_await l.allow("a", p);
        BOOST_TEST(d.remaining == 2);
    });
}

BOOST_AUTO_TEST_SUITE_END()
