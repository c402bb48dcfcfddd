// SPDX-License-Identifier: BSL-1.0
//
// A cached denial and later replies about its key: a limiter repeats a decision without a request
// only if it is the latest reply about that key.

#include "stores.hpp"

#include <support/decision_text.hpp>
#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/test/data/test_case.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>

BOOST_AUTO_TEST_SUITE(deny_cache_and_fresher_news)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;
namespace data = boost::unit_test::data;

const policy ten{"ten", gcra(1, 10s).burst(10)};

/// `a` remembers denials until their retry_after is over; `b` changes what `a` knows.
struct news_fixture {
    news_fixture()
        : a(server().address(), [](config& c) { c.advanced.deny_cache_max_age = 1h; }),
          b(server().address()) {
        look().must({"FLUSHALL"});
    }

    template<class Verb>
    [[nodiscard]] static decision ask(live& from, Verb verb) {
        auto got = decision{};
        from.run([&]() -> asio::awaitable<void> { got = co_await verb(from.limiter); });
        return got;
    }
    [[nodiscard]] static decision allow(live& from, const policy& p, std::int64_t cost) {
        return ask(from, [&](limiter& l) { return l.allow("k", p, {.cost = cost}); });
    }
    [[nodiscard]] static decision peek(live& from, const policy& p, std::int64_t cost) {
        return ask(from, [&](limiter& l) { return l.peek("k", p, {.cost = cost}); });
    }
    /// Five of ten are used, and 8 more are denied, which is remembered.
    void deny_eight() {
        BOOST_TEST(allow(a, ten, 5).allowed());
        BOOST_TEST((allow(a, ten, 8).source == decision_source::store));
        BOOST_TEST((allow(a, ten, 8).source == decision_source::deny_cache));
    }
    static void reset(live& by) {
        (void)ask(by, [](limiter& l) { return l.reset("k", ten); });
    }

    live a;
    live b;
};

BOOST_FIXTURE_TEST_CASE(a_grant_by_allow_all_ends_a_denial, news_fixture) {
    deny_eight();
    auto checks = std::array{check_item{"k", ten, {.cost = 5}}, check_item{"other", ten}};
    BOOST_TEST(ask(a, [&](limiter& l) { return l.allow_all(checks); }).allowed());
    const auto d = allow(a, ten, 8);
    BOOST_TEST((d.source == decision_source::store));
    BOOST_TEST(d.remaining == peek(a, ten, 8).remaining);
}

BOOST_FIXTURE_TEST_CASE(a_denial_by_allow_all_replaces_one_and_an_allowed_check_ends_it,
                        news_fixture) {
    deny_eight();
    BOOST_TEST(allow(b, ten, 3).allowed());
    auto checks = std::array{check_item{"k", ten, {.cost = 8}}, check_item{"other", ten}};
    const auto all = ask(a, [&](limiter& l) { return l.allow_all(checks); });
    BOOST_TEST(!all.allowed());
    const auto d = allow(a, ten, 8);
    BOOST_TEST((d.source == decision_source::deny_cache));
    BOOST_TEST((d.server_time + d.retry_after == all.server_time + all.retry_after));
    reset(b);
    checks[1].options.cost = 11;
    BOOST_TEST(!ask(a, [&](limiter& l) { return l.allow_all(checks); }).allowed());
    BOOST_TEST(checks[0].result.allowed());
    BOOST_TEST(allow(a, ten, 8).allowed());
}

BOOST_FIXTURE_TEST_CASE(a_peek_that_finds_quota_ends_a_denial, news_fixture) {
    deny_eight();
    reset(b);
    BOOST_TEST((allow(a, ten, 8).source == decision_source::deny_cache));
    BOOST_TEST(peek(a, ten, 1).allowed());
    BOOST_TEST(allow(a, ten, 8).allowed());
}

BOOST_FIXTURE_TEST_CASE(a_peek_that_finds_less_replaces_a_denial, news_fixture) {
    deny_eight();
    BOOST_TEST(allow(b, ten, 5).allowed());
    const auto peeked = peek(a, ten, 8);
    const auto d = allow(a, ten, 8);
    BOOST_TEST((d.source == decision_source::deny_cache));
    BOOST_TEST(d.remaining == peeked.remaining);
    BOOST_TEST((d.server_time + d.retry_after == peeked.server_time + peeked.retry_after));
}

BOOST_FIXTURE_TEST_CASE(other_rules_in_allow_all_end_a_denial_before_they_are_answered,
                        news_fixture) {
    deny_eight();
    const policy raised{"ten", gcra(1, 10s).burst(20)};
    auto checks = std::array{check_item{"k", raised, {.cost = 30}}};
    auto meanwhile = decision{};
    a.run([&]() -> asio::awaitable<void> {
        auto left = 2;
        a.limiter.allow_all(checks, [&](error_code ec, const decision&) {
            BOOST_TEST(!ec);
            --left;
        });
        a.limiter.allow("k", ten, {.cost = 8}, [&](error_code ec, const decision& d) {
            BOOST_TEST(!ec);
            meanwhile = d;
            --left;
        });
        co_await until([&] { return left == 0; });
    });
    BOOST_TEST((meanwhile.source == decision_source::store));
}

BOOST_AUTO_TEST_CASE(a_call_that_is_cancelled_in_flight_ends_a_denial) {
    auto own = redis_server{};
    auto c = live{own.address(), [](config& s) { s.advanced.deny_cache_max_age = 1h; }};
    auto checks = std::array{check_item{"k", ten, {.cost = 1}}};
    for (const auto together : {false, true}) {
        const auto key = std::string{"k"};
        c.run([&]() -> asio::awaitable<void> {
            (void)co_await c.limiter.reset(key, ten);
            (void)co_await c.limiter.allow(key, ten, {.cost = 5});
            (void)co_await c.limiter.allow(key, ten, {.cost = 8});
            const auto d = co_await c.limiter.allow(key, ten, {.cost = 8});
            BOOST_TEST((d.source == decision_source::deny_cache));

            own.stop();
            auto ended = std::optional<error_code>{};
            auto signal = asio::cancellation_signal{};
            auto token = asio::bind_cancellation_slot(
                signal.slot(), [&](error_code ec, const decision&) { ended = ec; });
            const auto sent = c.limiter.statistics().batches;
            if (together)
                c.limiter.allow_all(checks, std::move(token));
            else
                c.limiter.allow(key, ten, {.cost = 1}, std::move(token));
            co_await until([&] { return c.limiter.statistics().batches > sent; });
            signal.emit(asio::cancellation_type::terminal);
            co_await until([&] { return ended.has_value(); });
            BOOST_TEST((ended == asio::error::operation_aborted));
            own.cont();

            const auto now = co_await c.limiter.allow(key, ten, {.cost = 8});
            BOOST_TEST((now.source == decision_source::store));
            BOOST_TEST(now.remaining == 4);
        });
    }
}

BOOST_AUTO_TEST_CASE(a_call_whose_connection_is_lost_ends_a_denial) {
    auto own = redis_server{};
    auto c = live{own.address(), [](config& s) { s.advanced.deny_cache_max_age = 1h; }};
    c.run([&]() -> asio::awaitable<void> {
        (void)co_await c.limiter.allow("k", ten, {.cost = 5});
        (void)co_await c.limiter.allow("k", ten, {.cost = 8});
        const auto d = co_await c.limiter.allow("k", ten, {.cost = 8});
        BOOST_TEST((d.source == decision_source::deny_cache));
        own.stop();
        auto ended = std::optional<error_code>{};
        const auto sent = c.limiter.statistics().batches;
        c.limiter.allow("k", ten, {.cost = 1}, [&](error_code ec, const decision&) { ended = ec; });
        co_await until([&] { return c.limiter.statistics().batches > sent; });
        own.restart();
        co_await until([&] { return ended.has_value(); });
        BOOST_TEST((ended == errc::outcome_unknown));
        co_await c.until_it_works("other", ten);
        const auto now = co_await c.limiter.allow("k", ten, {.cost = 8});
        BOOST_TEST(now.allowed()); // the new server knows of nothing
    });
}

BOOST_AUTO_TEST_CASE(after_its_greatest_age_the_server_is_asked) {
    look().must({"FLUSHALL"});
    auto l = live{server().address(), [](config& c) { c.advanced.deny_cache_max_age = 1ms; }};
    auto other = live{server().address()};
    l.run([&]() -> asio::awaitable<void> {
        (void)co_await l.limiter.allow("k", ten, {.cost = 10});
        for (int i = 0; i < 10; ++i) {
            const auto d = co_await l.limiter.allow("k", ten, {.cost = 9});
            BOOST_TEST((d.source == decision_source::store));
            co_await pause_for(1ms);
        }
    });
    other.run([&]() -> asio::awaitable<void> { (void)co_await other.limiter.reset("k", ten); });
    l.run([&]() -> asio::awaitable<void> {
        co_await pause_for(1ms);
        const auto d = co_await l.limiter.allow("k", ten, {.cost = 9});
        BOOST_TEST(d.allowed());
    });
}

/// The last decision about a key for `a` that matters to later calls: a denial, or nothing.
struct last_denial {
    std::int64_t at_least;
    decision said;
};

/// Random calls by two limiters on two keys, one after another.
class random_calls {
  public:
    random_calls(news_fixture& f, const policy& p, std::uint64_t seed)
        : f_(f), policy_(p), random_(seed) {}

    void make_one() {
        const auto is_a = number(0, 2) != 0;
        auto& from = is_a ? f_.a : f_.b;
        const auto key = std::string{number(0, 1) == 0 ? "x" : "y"};
        const auto cost = number(0, 5);
        const auto verb = number(0, 19);
        const auto d = f_.ask(from, [&](limiter& l) -> asio::awaitable<decision> {
            if (verb < 11)
                co_return co_await l.allow(key, policy_, {.cost = cost});
            if (verb < 14)
                co_return co_await l.peek(key, policy_, {.cost = cost});
            if (verb < 15)
                co_return co_await l.charge(key, policy_, {.cost = cost});
            if (verb < 16)
                co_return co_await l.refund(key, policy_, {.cost = cost});
            if (verb < 17)
                co_return co_await l.reset(key, policy_);
            if (verb < 18)
                co_return co_await l.block(key, policy_, 1h);
            auto checks =
                std::array{check_item{"x", policy_, {.cost = cost}}, check_item{"y", policy_}};
            const auto all = co_await l.allow_all(checks);
            for (const auto& c : checks)
                if (is_a)
                    hear(std::string{c.key}, c.options.cost, c.result, true);
            co_return all;
        });
        if (is_a && verb < 18)
            hear(key, cost, d, verb < 14);
    }

    [[nodiscard]] int repeated() const noexcept { return repeated_; }

  private:
    [[nodiscard]] std::int64_t number(std::int64_t least, std::int64_t most) {
        return std::uniform_int_distribution{least, most}(random_);
    }

    void hear(const std::string& key, std::int64_t cost, const decision& d, bool asks) {
        auto& last = last_[key];
        if (d.source == decision_source::store) {
            last.reset();
            if (asks && d.outcome == outcome::denied)
                last = last_denial{cost, d};
            return;
        }
        ++repeated_;
        BOOST_TEST((d.source == decision_source::deny_cache));
        BOOST_REQUIRE(last);
        BOOST_TEST(cost >= last->at_least);
        BOOST_TEST(d.remaining == last->said.remaining);
        BOOST_TEST(
            (d.server_time + d.retry_after == last->said.server_time + last->said.retry_after));
        BOOST_TEST(
            (d.server_time + d.reset_after == last->said.server_time + last->said.reset_after));
    }

    news_fixture& f_;
    const policy& policy_;
    std::mt19937_64 random_;
    std::map<std::string, std::optional<last_denial>> last_;
    int repeated_ = 0;
};

BOOST_DATA_TEST_CASE_F(news_fixture, what_is_repeated_is_the_last_that_was_heard, data::xrange(4)) {
    const auto policies = std::array{
        policy{"gcra", gcra(1, 1h).burst(7)}, policy{"window", fixed_window(7, 24h * 365)},
        policy{"log", sliding_log(7, 24h)}, policy{"both", sliding_window(9, 24h), gcra(7, 1h)}};
    auto calls = random_calls{*this, policies[static_cast<std::size_t>(sample)],
                              static_cast<std::uint64_t>(sample) + 1};
    for (int i = 0; i < 1'500; ++i)
        calls.make_one();
    BOOST_TEST(calls.repeated() > 50);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
