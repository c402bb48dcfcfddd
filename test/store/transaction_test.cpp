// SPDX-License-Identifier: BSL-1.0
//
// Sliding logs on servers where scripting is off.

#include "scriptless.hpp"

#include <support/decision_text.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(transactions)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;

const policy five{"five", sliding_log(5, 1min)};

} // namespace

BOOST_AUTO_TEST_CASE(a_log_is_exact_without_scripts_in_both_protocols) {
    auto s = scriptless{};
    for (const auto resp : {2, 3}) {
        auto l = s.open(resp);
        const auto key = "k" + std::to_string(resp);
        for (int i = 0; i < 5; ++i) {
            const auto d = allow(l, key, five, {.now = at(i * second)});
            BOOST_TEST(d.outcome == outcome::allowed);
            BOOST_TEST(d.remaining == 4 - i);
            BOOST_TEST(d.reset_after.count() == 60 * second);
        }
        const auto no = allow(l, key, five, {.now = at(10 * second)});
        BOOST_TEST(no.outcome == outcome::denied);
        BOOST_TEST(no.retry_after.count() == 50 * second);
        BOOST_TEST(no.reset_after.count() == 54 * second);
        BOOST_TEST(allow(l, key, five, {.now = at(60 * second - 1)}).retry_after.count() == 1);
        BOOST_TEST(allow(l, key, five, {.now = at(60 * second)}).outcome == outcome::allowed);
    }
    BOOST_TEST(calls_of(s.look, "exec") > 0);
}

BOOST_AUTO_TEST_CASE(a_user_without_the_right_to_run_scripts_is_served) {
    auto server = redis_server{};
    server.connect().must({"ACL", "SETUSER", "default", "-@scripting", "-info"});
    auto l = live{server.address(), [](config& c) { c.advanced.mode = execution_mode::multi; }};
    BOOST_TEST(allow(l, "k", five).remaining == 4);
    BOOST_TEST(allow(l, "k", five).remaining == 3);
}

BOOST_AUTO_TEST_CASE(bloom_filters_need_scripts) {
    auto s = scriptless{};
    auto l = s.open();
    auto got = std::vector<std::pair<error_code, bool>>{};
    const auto into = [&](error_code ec, bool seen) { got.emplace_back(ec, seen); };
    l.limiter.seen("id", bloom_filter{"f"}, into);
    l.limiter.probably_seen("id", bloom_filter{"f"}, into);
    run_until(l.context, [&] { return got.size() == 2; });
    for (const auto& [ec, seen] : got) {
        BOOST_TEST((ec == errc::invalid_policy));
        BOOST_TEST(ec.message() == got[0].first.message());
        BOOST_TEST(!seen);
    }
}

BOOST_AUTO_TEST_CASE(what_a_refused_call_recorded_is_removed_again) {
    auto s = scriptless{};
    auto l = s.open();
    for (int i = 0; i < 9; ++i)
        (void)allow(l, "k", five, {.cost = 2});
    run_until(l.context, [&] { return s.events(five, "k") == 4; });
    BOOST_TEST(allow(l, "k", five).remaining == 0);
    const auto ttl = s.look.pttl(s.name_of(five, "k"));
    BOOST_TEST(ttl > 60'000);
}

BOOST_AUTO_TEST_CASE(a_refund_gives_back_as_many_events_as_it_says) {
    auto s = scriptless{};
    auto l = s.open();
    const policy five{"five", sliding_log(5, 1h)};
    (void)allow(l, "k", five, {.cost = 5});
    auto left = std::int64_t{5};
    for (const std::int64_t cost : {1, 0, 2, 1, 3}) {
        (void)must(l, [&](auto h) { l.limiter.refund("k", five, {.cost = cost}, h); });
        left = std::max<std::int64_t>(left - cost, 0);
        BOOST_TEST(s.events(five, "k") == left);
    }
}

BOOST_AUTO_TEST_CASE(a_key_ends_a_second_after_its_period) {
    auto s = scriptless{};
    auto l = live{s.server.address(), [](config& c) { c.advanced.mode = execution_mode::multi; }};
    (void)allow(l, "k", five);
    const auto ttl = s.look.pttl(s.name_of(five, "k"));
    BOOST_TEST(ttl > 55'000);
    BOOST_TEST(ttl <= 61'000);
}

BOOST_AUTO_TEST_CASE(peek_and_what_is_refused_for_ever_write_nothing) {
    auto s = scriptless{};
    auto l = s.open();
    (void)allow(l, "k", five, {.cost = 3, .now = at(0)});
    const auto before = s.look.dump(s.name_of(five, "k"));
    const auto yes = must(l, [&](auto h) { l.limiter.peek("k", five, {.now = at(1)}, h); });
    BOOST_TEST(yes.outcome == outcome::allowed);
    BOOST_TEST(yes.remaining == 2);
    const auto never = allow(l, "k", five, {.cost = 6, .now = at(1)});
    BOOST_TEST(never.outcome == outcome::never);
    BOOST_TEST((never.retry_after == never_again));
    BOOST_TEST((s.look.dump(s.name_of(five, "k")) == before));
    (void)must(l, [&](auto h) { l.limiter.peek("new", five, h); });
    BOOST_TEST(s.look.dbsize() == 1);
}

BOOST_AUTO_TEST_CASE(a_thousand_calls_at_one_instant_are_a_thousand_events) {
    const policy many{"many", sliding_log(1'000, 1min)};
    auto s = scriptless{};
    auto l = s.open();
    auto left = 1'000;
    auto granted = 0;
    for (int i = 0; i < 1'000; ++i)
        l.limiter.allow("k", many, {.now = at(0)}, [&](error_code ec, const decision& d) {
            granted += !ec && d.allowed() ? 1 : 0;
            --left;
        });
    run_until(l.context, [&] { return left == 0; });
    BOOST_TEST(granted == 1'000);
    BOOST_TEST(s.events(many, "k") == 1'000);
    BOOST_TEST(allow(l, "k", many, {.now = at(0)}).outcome == outcome::denied);
}

BOOST_AUTO_TEST_CASE(the_two_modes_do_not_read_each_others_keys) {
    auto s = scriptless{};
    auto l = s.open();
    (void)allow(l, "k", five);
    BOOST_TEST((s.look.keys() == std::vector<std::string>{s.name_of(five, "k")}));
    BOOST_TEST(s.name_of(five, "k").ends_with(":five:tk:k"));
}

BOOST_AUTO_TEST_CASE(a_foreign_key_is_a_conflict_of_its_call_and_keeps_its_time_to_live) {
    auto s = scriptless{};
    auto l = s.open();
    s.look.must({"SET", s.name_of(five, "eternal"), "x"});
    s.look.must({"SET", s.name_of(five, "mortal"), "x", "PX", "100000"});
    auto codes = std::vector<std::optional<error_code>>(4);
    const auto into = [&codes](std::size_t i) {
        return [&codes, i](error_code ec, const decision&) { codes[i] = ec; };
    };
    l.limiter.allow("eternal", five, into(0));
    l.limiter.allow("mine", five, into(1));
    l.limiter.charge("mortal", five, into(2));
    l.limiter.reset("eternal", five, into(3));
    run_until(l.context, [&] {
        return std::ranges::all_of(codes, [](const auto& c) { return c.has_value(); });
    });
    BOOST_TEST((*codes[0] == errc::key_conflict));
    BOOST_TEST(!*codes[1]);
    BOOST_TEST((*codes[2] == errc::key_conflict));
    BOOST_TEST((*codes[3] == errc::key_conflict));
    run_until(l.context, [&] { return s.look.pttl(s.name_of(five, "eternal")) == -1; });
    run_until(l.context, [&] { return s.look.pttl(s.name_of(five, "mortal")) <= 100'000; });
    BOOST_TEST(s.look.get(s.name_of(five, "mortal")).value() == "x");
}

BOOST_AUTO_TEST_CASE(what_it_cannot_do_is_refused_at_the_call) {
    auto s = scriptless{};
    auto l = s.open();
    const policy bucket{"bucket", gcra(5, 1s)};
    const policy mixed{"mixed", sliding_log(5, 1s), sliding_window(9, 1min)};
    const auto apart = policy{"apart", sliding_log(5, 1s)}.prevent_duplicate(1s);
    for (const auto* p : {&bucket, &mixed, &apart}) {
        BOOST_TEST(
            (code_of(l, [&](auto h) { l.limiter.allow("k", *p, h); }) == errc::invalid_policy));
        BOOST_TEST(
            (code_of(l, [&](auto h) { l.limiter.peek("k", *p, h); }) == errc::invalid_policy));
        BOOST_TEST(
            (code_of(l, [&](auto h) { l.limiter.wait("k", *p, h); }) == errc::invalid_policy));
    }
    auto counted = std::optional<error_code>{};
    l.limiter.count_distinct("k", policy{"members", distinct(5, 1s)},
                             [&](error_code ec, std::int64_t) { counted = ec; });
    run_until(l.context, [&] { return counted.has_value(); });
    BOOST_TEST((*counted == errc::invalid_policy));
    const policy counting{"counting", sliding_log(5, 1s).count_denied()};
    const auto wrong = errc::invalid_argument;
    BOOST_TEST((code_of(l, [&](auto h) { l.limiter.block("k", five, 1s, h); }) == wrong));
    BOOST_TEST((code_of(l, [&](auto h) { l.limiter.once("k", 1s, h); }) == wrong));
    BOOST_TEST((code_of(l, [&](auto h) {
                    l.limiter.charge("k", five, {.cost = limits::max_log_events + 1}, h);
                }) == wrong));
    BOOST_TEST((code_of(l, [&](auto h) {
                    l.limiter.allow("k", counting, {.cost = 2, .at_least = 1}, h);
                }) == wrong));
    auto checks = std::vector<check_item>{{"a", five}, {"b", five}};
    BOOST_TEST((code_of(l, [&](auto h) { l.limiter.allow_all(checks, h); }) == wrong));
    BOOST_TEST(s.look.dbsize() == 0);
}

BOOST_AUTO_TEST_CASE(many_checks_at_once_are_as_many_calls) {
    auto s = scriptless{};
    auto l = s.open();
    auto checks = std::vector<check_item>{{"a", five}, {"b", five}, {"a", five}};
    auto done = false;
    l.limiter.allow_many(checks, [&done](error_code ec) { done = !ec; });
    run_until(l.context, [&] { return done; });
    BOOST_TEST(checks[0].result.remaining == 4);
    BOOST_TEST(checks[1].result.remaining == 4);
    BOOST_TEST(checks[2].result.remaining == 3);
}

BOOST_AUTO_TEST_SUITE_END()
