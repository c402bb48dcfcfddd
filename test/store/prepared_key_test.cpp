// SPDX-License-Identifier: BSL-1.0
//
// A prepared key is the key itself: on every store, for every verb, among denials, and where nobody
// but this process answers.

#include "stores.hpp"

#include <support/decision_text.hpp>
#include <support/live_limiter.hpp>
#include <support/refusal.hpp>

#include <colimit/local_limiter.hpp>
#include <colimit/prepared_key.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;

const policy ten{"ten", gcra(10, 1h)};
const auto now = time_point{1'700'000'000s};

/// Asks by the key what was done by its prepared form, and the other way round.
/// @param ask calls a function with the limiter, and has its decision
template<class Ask>
void tell_a_story(const std::string& name, Ask ask) {
    const auto k = prepared_key{name, ten};
    const auto left = [&](std::int64_t n) {
        const auto by_key = ask([&](auto& l) { return l.peek(name, ten, {.now = now}); });
        const auto prepared = ask([&](auto& l) { return l.peek(k, {.now = now}); });
        BOOST_TEST(by_key.remaining == n);
        BOOST_TEST(prepared.remaining == n);
        BOOST_TEST(prepared.rules.size() == 1U);
    };
    left(10);
    BOOST_TEST(ask([&](auto& l) { return l.allow(k, {.cost = 2, .now = now}); }).granted == 2);
    left(8);
    (void)ask([&](auto& l) { return l.allow(name, ten, {.now = now}); });
    left(7);
    (void)ask([&](auto& l) { return l.charge(k, {.cost = 3, .now = now}); });
    left(4);
    (void)ask([&](auto& l) { return l.refund(k, {.cost = 1, .now = now}); });
    left(5);
    (void)ask([&](auto& l) { return l.block(k, 1min, {.now = now}); });
    const auto blocked = ask([&](auto& l) { return l.allow(name, ten, {.now = now}); });
    BOOST_TEST(blocked.outcome == outcome::limited);
    BOOST_TEST((blocked.retry_after == 1min));
    (void)ask([&](auto& l) { return l.reset(k, {.now = now}); });
    left(10);
}

template<class Verb>
[[nodiscard]] decision asked(live& from, Verb verb) {
    auto got = decision{};
    from.run([&]() -> asio::awaitable<void> { got = co_await verb(from.limiter); });
    return got;
}

/// By the limiter's own clock, in which a call takes no time that gives a token back.
void tell_the_story_of_defaults(live& l) {
    const auto k = prepared_key{"by its own clock", ten};
    BOOST_TEST(asked(l, [&](auto& x) { return x.wait(k); }).allowed());
    BOOST_TEST(asked(l, [&](auto& x) { return x.wait(k, {.cost = 2}); }).allowed());
    BOOST_TEST(asked(l, [&](auto& x) { return x.allow(k); }).remaining == 6);
    BOOST_TEST(asked(l, [&](auto& x) { return x.charge(k); }).remaining == 5);
    BOOST_TEST(asked(l, [&](auto& x) { return x.refund(k); }).remaining == 6);
    BOOST_TEST(asked(l, [&](auto& x) { return x.peek(k); }).remaining == 6);
    BOOST_TEST(asked(l, [&](auto& x) { return x.block(k, 1h); }).outcome == outcome::limited);
    BOOST_TEST(asked(l, [&](auto& x) { return x.reset(k); }).remaining == 10);
    BOOST_TEST(asked(l, [&](auto& x) { return x.peek(k.key(), k.policy()); }).remaining == 10);
}

BOOST_AUTO_TEST_SUITE(prepared_keys)

BOOST_AUTO_TEST_CASE(each_is_the_key_itself_in_every_store) {
    for (const auto& name : {std::string{"k"}, std::string{}, std::string(300, 'k')}) {
        auto local = local_limiter{};
        tell_a_story(name, [&](auto verb) { return verb(local); });
        auto memory = live{"memory:"};
        tell_a_story(name, [&](auto verb) { return asked(memory, verb); });
        look().must({"FLUSHALL"});
        auto redis = live{server().address()};
        tell_a_story(name, [&](auto verb) { return asked(redis, verb); });
    }
    auto memory = live{"memory:"};
    tell_the_story_of_defaults(memory);
    look().must({"FLUSHALL"});
    auto redis = live{server().address()};
    tell_the_story_of_defaults(redis);
}

BOOST_AUTO_TEST_CASE(denials_are_found_and_ended_by_either) {
    look().must({"FLUSHALL"});
    auto l = live{server().address()};
    const auto two = policy{"two", gcra(2, 1h)};
    const auto k = prepared_key{"k", two};
    const auto by_key = [&] { return asked(l, [&](auto& x) { return x.allow("k", two); }); };
    const auto prepared = [&] { return asked(l, [&](auto& x) { return x.allow(k); }); };
    BOOST_TEST(by_key().allowed());
    BOOST_TEST(prepared().allowed());
    BOOST_TEST((by_key().origin == origin::store));
    BOOST_TEST((prepared().origin == origin::deny_cache));
    (void)asked(l, [&](auto& x) { return x.refund(k); });
    BOOST_TEST(by_key().allowed());
    BOOST_TEST((prepared().origin == origin::store));
    BOOST_TEST((by_key().origin == origin::deny_cache));
    (void)asked(l, [&](auto& x) { return x.reset("k", two); });
    BOOST_TEST(prepared().allowed());
}

BOOST_AUTO_TEST_CASE(they_share_what_this_process_answers_where_no_server_does) {
    auto l = live{"unix:/nonexistent/colimit.sock",
                  [](config& settings) { settings.on_failure = failure_mode::local; }};
    const auto k = prepared_key{"k", ten};
    for (auto left = 9; left > 0; left -= 2) {
        const auto by_key = asked(l, [&](auto& x) { return x.allow("k", ten); });
        BOOST_TEST((by_key.origin == origin::fallback));
        BOOST_TEST(by_key.remaining == left);
        BOOST_TEST(asked(l, [&](auto& x) { return x.allow(k); }).remaining == left - 1);
    }
}

BOOST_AUTO_TEST_CASE(what_no_limiter_would_take_is_refused_when_it_is_prepared) {
    const auto longest = std::string(limits::key_bytes, 'k');
    BOOST_TEST(prepared_key(longest, ten).key() == longest);
    BOOST_TEST(refusal(errc::invalid_key, [&] { return prepared_key{longest + "k", ten}; }) ==
               "key: too long (got 65537 bytes, expected at most 65536)");
    auto l = local_limiter{};
    const auto k = prepared_key{"k", ten};
    BOOST_TEST(refusal(errc::invalid_argument, [&] { return l.allow(k, {.cost = -1}); }) ==
               "cost: out of range (got -1, expected 0 to 9007199254740991)");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
