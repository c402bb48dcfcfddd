// SPDX-License-Identifier: BSL-1.0
//
// Every verb and every kind of rule on a server whose clock is stepped back and forward. No call
// fails, no client is locked out for longer than its rule takes to recover, a step back creates no
// quota, and every key expires in time.
//
// `wait` while it waits is in wait_clock_test.

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <support/live_limiter.hpp>
#include <support/rules_of_every_kind.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::stepped_clock_test {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using us = std::chrono::microseconds;
using test::live;

/// A Wednesday, in the middle of an hour: no window ends within half an hour of it.
constexpr auto start = std::chrono::sys_days{std::chrono::year{2026} / 5 / 13} + 12h + 30min;

constexpr auto limit = 5;
constexpr auto day = std::chrono::hours{24};

/// Steps of the clock; the longest one is longer than any window.
constexpr std::array<us, 3> steps{10s, 1h, 400 * day};

enum class verb { allow, allow_many, wait, allow_all, peek, charge, refund, reset };

constexpr std::array verbs{verb::allow, verb::allow_many, verb::wait,   verb::allow_all,
                           verb::peek,  verb::charge,     verb::refund, verb::reset};

std::ostream& operator<<(std::ostream& out, verb v) {
    constexpr std::array names{"allow", "allow_many", "wait",   "allow_all",
                               "peek",  "charge",     "refund", "reset"};
    return out << names.at(static_cast<std::size_t>(v));
}

/// A limiter and its own server, whose clock `set` sets.
struct stepped_server {
    explicit stepped_server(execution_mode how = execution_mode::script)
        : l(server.address(), [how](config& c) {
              c.advanced.mode = how;
              c.advanced.deny_cache = 0; // its denials age by this process's clock
          }) {
        set(0s);
    }

    /// Sets the server's clock.
    void set(time_point now) {
        const auto here = std::chrono::time_point_cast<us>(std::chrono::system_clock::now());
        server.set_clock(now - here);
    }
    void set(us since_start) { set(start + since_start); }

    /// Deletes all keys and sets the clock to `start`.
    void clear() {
        cleared_ = std::chrono::steady_clock::now();
        set(0s);
        look.must({"FLUSHALL"});
    }
    /// Returns at least how far the clock has run since then, without steps.
    [[nodiscard]] us since_cleared() const {
        return std::chrono::ceil<us>(std::chrono::steady_clock::now() - cleared_);
    }

    /// Makes the call `begin(handler)` and returns its decision.
    template<class Begin>
    decision ask(Begin begin) {
        auto got = std::optional<decision>{};
        begin([&got](error_code ec, const decision& d) {
            BOOST_TEST(!ec, ec.message());
            got = d;
        });
        test::run_until(l.context, [&] { return got.has_value(); });
        return *got;
    }

    decision allow(const policy& p, std::int64_t cost = 1, std::string_view member = "new") {
        return ask([&](auto handler) {
            l.limiter.allow("k", p, {.cost = cost, .at_least = 1, .member = member}, handler);
        });
    }
    decision peek(const policy& p, std::int64_t cost = 1) {
        return ask([&](auto handler) {
            l.limiter.peek("k", p, {.cost = cost, .member = "new"}, handler);
        });
    }
    /// Grants, one by one, until the key is used up; returns how many there were.
    std::int64_t use_up(const policy& p, std::string_view names = "member ") {
        for (auto n = 0;; ++n)
            if (!allow(p, 1, std::string{names} + std::to_string(n)).allowed() || n > 3 * limit)
                return n;
    }

    decision call(verb v, const policy& p) {
        if (v == verb::allow)
            return allow(p);
        if (v == verb::wait) // not for long
            return ask([&](auto handler) { l.limiter.wait("k", p, {.max_wait = 0s}, handler); });
        if (v == verb::peek)
            return peek(p);
        if (v == verb::charge)
            return ask([&](auto handler) { l.limiter.charge("k", p, {.member = "new"}, handler); });
        if (v == verb::refund)
            return ask([&](auto handler) { l.limiter.refund("k", p, {.cost = 2}, handler); });
        if (v == verb::reset)
            return ask([&](auto handler) { l.limiter.reset("k", p, handler); });
        return several(v, p);
    }

    /// Checks the key together with an unused one, and returns the decision for the key.
    decision several(verb v, const policy& p) {
        auto checks =
            std::array{check_item{.key = "other", .policy = p, .options = {.member = "new"}},
                       check_item{.key = "k", .policy = p, .options = {.member = "new"}}};
        if (v == verb::allow_all)
            return ask([&](auto handler) { l.limiter.allow_all(checks, handler); });
        auto done = std::optional<error_code>{};
        l.limiter.allow_many(checks, [&done](error_code ec) { done = ec; });
        test::run_until(l.context, [&] { return done.has_value(); });
        BOOST_TEST(!*done, done->message());
        for (const auto& c : checks)
            BOOST_TEST(!c.ec, c.ec.message());
        BOOST_TEST(checks[0].result.allowed());
        return checks[1].result;
    }

    /// Checks that every key expires, within `latest`.
    void check_ends(us latest) {
        for (const auto& name : look.keys()) {
            const auto ttl = look.pttl(name);
            BOOST_TEST(ttl > 0, name << " ends in " << ttl << " ms");
            BOOST_TEST(ttl <= latest.count() / 1000,
                       name << " ends in " << ttl << " ms of " << latest.count() / 1000);
        }
    }

    test::redis_server server{{.can_step_clock = true}};
    test::raw_client look = server.connect();
    live l;

  private:
    std::chrono::steady_clock::time_point cleared_;
};

/// The longest time that a rule takes to recover from a limit that was used up.
[[nodiscard]] us recovery_of(const rule& r) {
    switch (r.kind()) {
    case algorithm::calendar:
        return std::array{day, 7 * day, 31 * day, 366 * day}.at(static_cast<std::size_t>(r.unit()));
    case algorithm::fixed_window:
    case algorithm::sliding_log:
    case algorithm::distinct:
        return r.period();
    case algorithm::sliding_window:
        return 2 * r.period();
    default:
        return (r.capacity() + r.count() - 1) / r.count() * r.period();
    }
}

/// Returns how long keys may live after a call: twice as long as the state may matter, and a
/// second. A bucket with a beginning of its own matters until it has been full for as long as it
/// fills. A hash of packed states lives on until its generations, which began before the step, are
/// over.
[[nodiscard]] us longest_life(const policy& p, us recovery, us step_back = 0s) {
    const auto is_packed = detail::access::options(p).storage == storage::shared_hash;
    const auto matters = p[0].has_initial() ? recovery + recovery_of(p[0]) : recovery;
    return 2 * matters + 1s + (is_packed ? step_back + 1s : 0s);
}

[[nodiscard]] std::vector<policy> every_kind() {
    auto all = std::vector<policy>{};
    for (const auto& r : test::rules_of_every_kind(limit, 1h)) {
        all.emplace_back("p", r);
        all.push_back(all.back().with_storage(storage::shared_hash));
    }
    all.emplace_back("p", sliding_log(limit, 1h));
    all.emplace_back("p", distinct(limit, 1h));
    return all;
}

[[nodiscard]] std::string text_of(const policy& p) {
    return to_string(p[0]) +
           (detail::access::options(p).storage == storage::shared_hash ? ", packed" : "");
}

/// Calls `check(policy, step)` for every policy and step, each time on a server without keys.
template<class Check>
void with_every_kind_and_step(stepped_server& s, Check check) {
    for (const auto& p : every_kind())
        for (const auto step : steps)
            BOOST_TEST_CONTEXT(text_of(p) << ", a step of " << step.count() << " us") {
                s.clear();
                check(p, step);
            }
}

[[nodiscard]] bool can_be_asked(verb v, const policy& p) {
    const auto is_packed = detail::access::options(p).storage == storage::shared_hash;
    const auto is_continuous =
        p[0].kind() <= algorithm::leaky_bucket && p[0].refill() == refill::continuous;
    return v == verb::wait ? is_continuous && !is_packed : v == verb::allow_all ? !is_packed : true;
}

/// The balance that the verb returns for a key that was used up.
[[nodiscard]] std::int64_t balance_after(verb v, const policy& p) {
    if (v == verb::charge)
        return detail::access::options(p).storage == storage::shared_hash ? 0 : -1;
    if (v == verb::refund)
        return p[0].kind() == algorithm::distinct ? 0 : 2;
    return v == verb::reset ? limit : 0;
}

BOOST_AUTO_TEST_SUITE(stepped_clocks)

BOOST_DATA_TEST_CASE(P8_a_step_back_gives_no_verb_quota, verbs) {
    auto s = stepped_server{};
    with_every_kind_and_step(s, [&](const policy& p, us step) {
        if (!can_be_asked(sample, p))
            return;
        BOOST_TEST(s.use_up(p) == limit);
        s.set(-step);
        const auto d = s.call(sample, p);
        BOOST_TEST(d.rules[0].balance == balance_after(sample, p));
        const auto latest = longest_life(p, std::max(recovery_of(p[0]), d.reset_after), step);
        if (sample != verb::peek && sample != verb::allow_all) // these write nothing
            s.check_ends(latest);
        BOOST_TEST(s.use_up(p, "another ") == d.remaining);
        s.check_ends(latest);
    });
}

constexpr std::array retrying{verb::allow, verb::allow_many, verb::wait};

BOOST_DATA_TEST_CASE(P8_after_a_step_back_a_retry_at_retry_after_is_allowed, retrying) {
    auto s = stepped_server{};
    with_every_kind_and_step(s, [&](const policy& p, us step) {
        if (!can_be_asked(sample, p))
            return;
        const auto recovery = recovery_of(p[0]);
        s.use_up(p);
        s.set(-step);
        const auto d = s.call(sample, p);
        BOOST_TEST((d.outcome == outcome::denied));
        BOOST_TEST((d.retry_after <= recovery));
        BOOST_TEST((d.reset_after <= recovery));
        s.set(d.server_time + d.retry_after - 1min);
        BOOST_TEST((s.call(sample, p).outcome == outcome::denied));
        s.set(d.server_time + d.retry_after);
        BOOST_TEST((s.call(sample, p).outcome == outcome::allowed));
        s.check_ends(longest_life(p, recovery, step));
        s.set(d.server_time + 2 * recovery + 7min); // a boundary of no bucket or window
        BOOST_TEST(s.use_up(p, "another ") == limit);
        BOOST_TEST(s.use_up(p, "yet another ") == 0);
    });
}

BOOST_AUTO_TEST_CASE(P8_a_step_forward_gives_any_kind_one_limit_and_the_step_back_none) {
    auto s = stepped_server{};
    with_every_kind_and_step(s, [&](const policy& p, us step) {
        const auto recovery = recovery_of(p[0]);
        s.use_up(p);
        s.set(step);
        const auto more = s.use_up(p, "another ");
        BOOST_TEST(more <= limit);
        BOOST_TEST(more == (step == 10s ? 0 : more));
        BOOST_TEST(more == (step == 400 * day ? limit : more));
        s.check_ends(longest_life(p, recovery));
        s.set(0s);
        const auto d = s.allow(p);
        BOOST_TEST((d.outcome == outcome::denied));
        BOOST_TEST((d.reset_after <= recovery));
        s.check_ends(longest_life(p, recovery, step));
        s.set(d.server_time + d.retry_after);
        BOOST_TEST(s.allow(p).allowed());
        s.check_ends(longest_life(p, recovery, step));
    });
}

BOOST_AUTO_TEST_CASE(P8_a_step_puts_off_the_end_of_no_block) {
    auto s = stepped_server{};
    with_every_kind_and_step(s, [&](const policy& p, us step) {
        if (detail::access::options(p).storage == storage::shared_hash)
            return;
        const auto block_for = [&](us length) {
            return s.ask([&](auto handler) { s.l.limiter.block("k", p, length, handler); });
        };
        block_for(2h);
        s.set(-step);
        BOOST_TEST((s.peek(p).retry_after <= 2h));
        const auto d = s.allow(p);
        BOOST_TEST((d.reason == denial_reason::block));
        BOOST_TEST((d.retry_after <= 2h));
        BOOST_TEST((block_for(1h).retry_after > 1h)); // the longer one stays
        s.check_ends(longest_life(p, std::max(us{2h}, recovery_of(p[0]))));
        s.set(d.server_time + d.retry_after);
        BOOST_TEST(s.allow(p).allowed());

        block_for(2h);
        s.set(-step);
        s.call(verb::reset, p);
        BOOST_TEST(s.allow(p).allowed());
        block_for(2h);
        s.set(-step + 2 * recovery_of(p[0]) + 2h + 7min);
        BOOST_TEST(s.use_up(p) == limit);
    });
}

BOOST_DATA_TEST_CASE(P8_a_step_back_puts_off_no_second_call_and_no_id_for_longer, steps) {
    auto s = stepped_server{};
    const auto p = policy{"p", gcra(limit, 1h)}.prevent_duplicate(1h);
    const auto once = [&] {
        return s.ask([&](auto handler) { s.l.limiter.once("id", 1h, handler); });
    };
    BOOST_TEST(s.allow(p).allowed());
    BOOST_TEST(once().allowed());
    s.set(-sample);
    const auto second = s.allow(p);
    BOOST_TEST((second.reason == denial_reason::duplicate));
    BOOST_TEST((second.retry_after <= 1h));
    const auto again = once();
    BOOST_TEST((again.outcome == outcome::denied));
    BOOST_TEST((again.retry_after <= 1h));
    s.check_ends(longest_life(p, 1h));
    s.set(again.server_time + std::max(second.retry_after, again.retry_after) - 1min);
    BOOST_TEST(!s.allow(p).allowed());
    BOOST_TEST(!once().allowed());
    s.set(again.server_time + std::max(second.retry_after, again.retry_after));
    BOOST_TEST(s.allow(p).allowed());
    BOOST_TEST(once().allowed());
    BOOST_TEST(!once().allowed());
    s.check_ends(longest_life(p, 1h));
    s.set(sample + 2h);
    BOOST_TEST(once().allowed());
}

BOOST_DATA_TEST_CASE(P8_an_id_that_was_seen_stays_known_for_its_age_whatever_the_step, steps) {
    auto s = stepped_server{};
    const auto filter = bloom_filter{"f", {.capacity = 1'000, .error_rate = 1e-6, .ttl = 1h}};
    const auto seen = [&](std::string_view id) {
        auto known = std::optional<bool>{};
        s.l.limiter.seen(id, filter, [&known](error_code ec, bool was) {
            BOOST_TEST(!ec, ec.message());
            known = was;
        });
        test::run_until(s.l.context, [&] { return known.has_value(); });
        return *known;
    };
    constexpr us longest = 3 * 1h + 1s; // a bitmap is asked in its own stretch and the next one
    BOOST_TEST(!seen("a"));
    for (const auto back : {-sample, -2 * sample, -2 * sample + 1h}) {
        s.set(back);
        BOOST_TEST(seen("a"));
        s.check_ends(longest);
    }
    s.set(-2 * sample);
    BOOST_TEST(!seen("b"));
    BOOST_TEST(seen("b"));
    s.set(-2 * sample + 59min);
    BOOST_TEST(seen("b"));
    s.set(-2 * sample + 5h);
    BOOST_TEST(!seen("a"));
    BOOST_TEST(!seen("b"));
    s.check_ends(longest);
}

BOOST_DATA_TEST_CASE(P8_a_place_in_line_is_given_up_after_a_step, steps) {
    const auto p = policy{"p", gcra(1, 1h)};
    for (const auto to : {us{-sample}, us{sample}}) {
        auto s = stepped_server{};
        BOOST_TEST(s.allow(p).allowed());
        auto stop = asio::cancellation_signal{};
        auto ended = std::optional<error_code>{};
        s.l.limiter.wait("k", p, {.max_wait = 48h},
                         asio::bind_cancellation_slot(
                             stop.slot(), [&ended](error_code ec, decision) { ended = ec; }));
        BOOST_TEST((s.peek(p).retry_after > 1h));
        s.set(to);
        BOOST_TEST((s.peek(p).retry_after <= 2h));
        stop.emit(asio::cancellation_type::terminal);
        test::run_until(s.l.context, [&] { return ended.has_value(); });
        BOOST_TEST((*ended == asio::error::operation_aborted));
        const auto d = s.allow(p);
        BOOST_TEST((d.retry_after <= (to < 0s ? 2h : 1h))); // a step back lets the place lapse
        s.check_ends(longest_life(p, 2h));
        if (d.allowed()) { // the first call has recovered, after 1h and the time that this took
            BOOST_TEST((to >= 1h));
            continue;
        }
        s.set(d.server_time + d.retry_after);
        BOOST_TEST(s.allow(p).allowed());
    }
}

// Without scripts. A clock that is set back by more than a period and a minute makes the server
// forget what was counted; set back by less, that counts for as much longer.

[[nodiscard]] std::vector<policy> logs() {
    return {policy{"p", sliding_log(limit, 1h)},
            policy{"p", sliding_log(limit, 1h), sliding_log(2 * limit, 2h).named("two_hours")},
            policy{"p", sliding_log(limit, 1h).count_denied()}};
}

[[nodiscard]] us longest_period(const policy& p) {
    return p[p.size() - 1].period();
}

/// Calls `check(policy, verb, step)` after the limit was used up and the clock was stepped.
template<class Check>
void with_logs_and_steps(stepped_server& s, std::initializer_list<us> by, Check check) {
    for (const auto& p : logs())
        for (const auto step : by)
            for (const auto v : verbs)
                if (v != verb::wait && v != verb::allow_all)
                    BOOST_TEST_CONTEXT(to_string(p[0]) << ", " << p.size() << " rules, " << v
                                                       << ", a step of " << step.count() << " us") {
                        s.clear();
                        (void)s.peek(p); // learns the time
                        for (auto n = 0; n < limit; ++n)
                            BOOST_TEST(s.allow(p).allowed());
                        s.set(step);
                        check(p, v, step);
                    }
}

BOOST_AUTO_TEST_CASE(P8_without_scripts_a_small_step_back_counts_for_as_much_longer) {
    auto s = stepped_server{execution_mode::multi};
    with_logs_and_steps(s, {-10s, -50min}, [&](const policy& p, verb v, us step) {
        const auto is_counted = p[0].counts_denied() && v <= verb::allow_many;
        const auto d = s.call(v, p);
        BOOST_TEST(d.rules[0].balance == balance_after(v, p) - (is_counted ? 1 : 0));
        if (v <= verb::allow_many || v == verb::charge)
            s.check_ends(longest_period(p) + 1s);
        const auto now = s.peek(p); // by the new time, which the call before has learnt
        BOOST_TEST((now.retry_after <= 1h - step + s.since_cleared() + 1s));
        s.set(now.server_time + now.retry_after + 1s);
        (void)s.peek(p);
        BOOST_TEST(s.allow(p).allowed());
    });
}

BOOST_AUTO_TEST_CASE(P8_without_scripts_a_large_step_gives_one_limit_and_locks_no_client_out) {
    auto s = stepped_server{execution_mode::multi};
    const auto steps_of_both_kinds = {us{-400 * day}, us{-4h}, us{4h}, us{400 * day}};
    with_logs_and_steps(s, steps_of_both_kinds, [&](const policy& p, verb v, us step) {
        (void)s.call(v, p);
        auto granted = 0;
        for (auto n = 0; n < 4 * limit; ++n)
            granted += s.allow(p).allowed() ? 1 : 0;
        BOOST_TEST(granted <= limit);
        s.check_ends(longest_period(p) + 1s);
        s.set(step + longest_period(p) + 1min);
        (void)s.peek(p);
        BOOST_TEST(s.allow(p).allowed());
    });
}

BOOST_AUTO_TEST_CASE(P8_without_scripts_a_step_moves_the_end_of_a_window_by_no_more_than_a_period) {
    auto s = stepped_server{execution_mode::multi};
    for (const auto& r : {fixed_window(limit, 1h), fixed_window(limit, 1h).from_first()})
        for (const auto step : {us{-400 * day}, us{-4h}, us{-10s}, us{4h}, us{400 * day}})
            for (const auto v : {verb::allow, verb::peek, verb::charge})
                BOOST_TEST_CONTEXT(to_string(r)
                                   << ", " << v << ", a step of " << step.count() << " us") {
                    const auto p = policy{"p", r};
                    s.clear();
                    (void)s.peek(p); // learns the time
                    for (auto n = 0; n < limit; ++n)
                        BOOST_TEST(s.allow(p).allowed());
                    s.set(step);
                    (void)s.call(v, p);
                    // A call that did not know the step may have been too late for its window, and
                    // left one of a millisecond.
                    test::run_until(s.l.context, [&] {
                        const auto keys = s.look.keys();
                        return keys.empty() || s.look.pttl(keys[0]) > 1'000;
                    });
                    auto granted = 0;
                    for (auto n = 0; n < 4 * limit; ++n)
                        granted += s.allow(p).allowed() ? 1 : 0;
                    BOOST_TEST(granted <= limit);
                    s.check_ends(1h + 1s);
                    s.set(step + 1h + 1min);
                    (void)s.peek(p);
                    BOOST_TEST(s.allow(p).allowed());
                }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace colimit::stepped_clock_test
