// SPDX-License-Identifier: BSL-1.0
//
// Every kind of rule in the in-process store, against an obviously correct reference: a map from
// keys to states, logs and sketches that forgets nothing. Where there is room the two give equal
// answers; where there is none the store grants no more than the reference has room for.

#include "memory_clocked_store.hpp"

#include <core/hyperloglog.hpp>
#include <core/log_counts.hpp>
#include <core/rule_kind.hpp>
#include <core/verb_traits.hpp>
#include <support/rounds.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(memory_every_kind)

using namespace std::chrono_literals;
using namespace colimit;
using core::call_request;
using core::verb;
using test::clocked_store;

namespace {

class reference {
  public:
    decision ask(const call_request& request, const std::string& key, const policy& p) {
        auto& one = keys_[std::string{p.name()} + ":" + key];
        const auto& plan = detail::access::data(p)->compiled;
        auto answer = decision{};
        const auto counts = request.has_member && request.cost > 0 &&
                            request.verb != verb::refund && request.verb != verb::reset &&
                            request.verb != verb::block;
        auto state = one.state;
        for (std::uint32_t i = 0; i < plan.size; ++i)
            if (plan.limits[i].kind == core::kind::distinct)
                tell(plan.limits[i], one, state, i, request, counts);
        (void)core::apply_before(one.log, plan, request);
        core::report_counts(one.log, plan, request, state.states);
        const auto effect = core::evaluate(plan, state, request, answer);
        (void)core::apply_after(one.log, plan, request, answer);
        if (counts &&
            (request.verb == verb::charge || (request.verb == verb::allow && answer.granted > 0)))
            for (auto& sketch : one.sketches)
                (void)sketch.add(core::hyperloglog::update_of(request.member));
        if (effect == core::effect::store)
            one.state = state;
        if (effect == core::effect::erase)
            one.state = {};
        one.state.exists = one.state.exists && effect != core::effect::erase;
        return answer;
    }

  private:
    struct one_key {
        core::key_state state;
        core::event_log log;
        std::array<core::hyperloglog, limits::max_rules_per_policy> sketches;
    };

    static void tell(const core::compiled_rule& l, one_key& one, core::key_state& state,
                     std::uint32_t rule, const call_request& request, bool counts) {
        auto& s = state.states[rule];
        if (core::kinds::distinct::advance_window(l, s, request.now))
            state.stale = true;
        auto& sketch = one.sketches[rule];
        if (s.debt == 0)
            sketch.clear();
        s.num = counts ? sketch.count_with(core::hyperloglog::update_of(request.member)) : s.debt;
    }

    std::map<std::string, one_key> keys_;
};

[[nodiscard]] std::vector<policy> every_kind() {
    return {
        policy{"bucket", gcra(3, 1s).burst(5)},
        policy{"initial", token_bucket(6, 3, 2s).initially(1)},
        policy{"stepwise", token_bucket(6, 3, 2s).stepwise()},
        policy{"stepwise_initial", token_bucket(6, 3, 2s).stepwise().initially(2)},
        policy{"aligned", token_bucket(6, 3, 2s).aligned(), gcra(20, 1min)},
        policy{"window", fixed_window(5, 3s)},
        policy{"from_first", fixed_window(5, 3s).from_first(), gcra(20, 1min)},
        policy{"calendar", calendar(30, calendar_unit::day), fixed_window(5, 3s)},
        policy{"counter", sliding_window(7, 3s)},
        policy{"log", sliding_log(6, 3s)},
        policy{"logs", sliding_log(3, 1s).named("s"), gcra(20, 5s),
               sliding_log(20, 1min).named("m")},
        policy{"refused", sliding_log(5, 3s).named("r").count_denied(),
               sliding_log(20, 30s).named("l")},
        policy{"refused_initial", gcra(10, 1s).initially(0),
               token_bucket(6, 3, 2s).stepwise().initially(2).named("steps"),
               sliding_log(5, 10s).count_denied()},
        policy{"distinct_initial", token_bucket(6, 3, 1s).initially(2), distinct(5, 5s)},
        policy{"shadow", sliding_log(2, 30s).shadow(), gcra(7, 1s)},
        policy{"distinct", distinct(5, 5s)},
        policy{"distincts", distinct(3, 2s).named("a"), distinct(8, 20s).named("b"), gcra(30, 9s)},
        policy{"duplicates", gcra(10, 1s), sliding_window(30, 20s)}.prevent_duplicate(300ms),
        policy{"all", gcra(10, 1s), token_bucket(10, 10, 2s).stepwise(), fixed_window(15, 3s),
               sliding_window(20, 5s), sliding_log(20, 5s), distinct(10, 10s),
               calendar(1000, calendar_unit::week), sliding_log(300, 1min).named("m").shadow()}
            .prevent_duplicate(1ms),
    };
}

[[nodiscard]] bool has_initial(const policy& p) {
    return std::ranges::any_of(p.rules(), [](const rule& r) { return r.has_initial(); });
}

class history {
  public:
    explicit history(unsigned seed) : random_(seed) {}

    [[nodiscard]] std::int64_t below(std::int64_t n) {
        return std::uniform_int_distribution<std::int64_t>{0, n - 1}(random_);
    }
    [[nodiscard]] call_request next(std::int64_t now) {
        static constexpr verb verbs[] = {verb::allow, verb::allow,  verb::allow, verb::allow,
                                         verb::peek,  verb::charge, verb::allow, verb::refund,
                                         verb::allow, verb::allow,  verb::reset, verb::allow};
        const auto v = below(100) == 0 ? verb::block : verbs[below(12)];
        const auto cost = v == verb::block   ? below(3'000'000)
                          : v == verb::reset ? 0
                          : below(20) == 0   ? below(30)
                                             : below(4);
        const auto at_least = v == verb::block ? 0 : below(3) == 0 ? below(cost + 1) : cost;
        member_ = "member" + std::to_string(below(40));
        return {.verb = v,
                .cost = cost,
                .at_least = at_least,
                .now = now,
                .member = member_,
                .has_member = true};
    }
    [[nodiscard]] std::chrono::microseconds pause() {
        return std::chrono::microseconds{below(50) == 0 ? below(2'000'000) : below(5'000)};
    }

  private:
    std::mt19937 random_;
    std::string member_;
};

} // namespace

BOOST_AUTO_TEST_CASE(with_room_every_answer_is_that_of_the_reference) {
    const auto policies = every_kind();
    for (unsigned seed = 1; seed <= 4; ++seed) {
        auto calls = history{seed};
        auto store = clocked_store{30'000};
        auto model = reference{};
        auto different = std::map<std::string_view, int>{};
        for (int i = 0; i < 30'000; ++i) {
            store.advance(calls.pause());
            // Sometimes the clock is back by a little, as after an adjustment.
            const auto now = store.now() - (calls.below(50) == 0 ? calls.below(1'000'000) : 0);
            const auto request = calls.next(now);
            const auto& p = policies[static_cast<std::size_t>(calls.below(std::ssize(policies)))];
            const auto key = std::to_string(calls.below(20));
            if (!(store.ask(request, key, p) == model.ask(request, key, p)))
                ++different[p.name()];
        }
        for (const auto& [name, count] : different)
            BOOST_TEST(count == 0, name << ", seed " << seed);
        BOOST_TEST(store.statistics().evicted > 0U);
        BOOST_TEST(store.statistics().overflowed == 0U);
    }
}

BOOST_AUTO_TEST_CASE(without_room_nothing_is_granted_that_the_reference_has_not) {
    const auto policies = every_kind();
    for (unsigned seed = 1; seed <= 4; ++seed) {
        auto calls = history{seed};
        auto store = clocked_store{static_cast<std::size_t>(1 + calls.below(300))};
        auto model = reference{};
        auto too_much = std::map<std::string_view, int>{};
        auto granted = std::int64_t{0};
        for (int i = 0; i < test::rounds(30'000); ++i) {
            store.advance(calls.pause() / 20);
            const auto request = calls.next(store.now());
            const auto& p = policies[static_cast<std::size_t>(calls.below(std::ssize(policies)))];
            const auto key = std::to_string(calls.below(400));
            auto peeked = request;
            peeked.verb = verb::peek;
            const auto room = model.ask(peeked, key, p);
            const auto shared_before = store.statistics().overflowed;
            const auto answer = store.ask(request, key, p);
            const auto is_shared = store.statistics().overflowed > shared_before;
            if (request.verb == verb::allow || request.verb == verb::peek)
                if (answer.granted > room.granted || (answer.allowed() && !room.allowed()))
                    ++too_much[p.name()];
            granted += answer.granted;
            auto charged = request; // what the store has really charged
            if (request.verb == verb::allow)
                charged.cost = charged.at_least = answer.granted;
            // Even a denied call is the first use of a key with `initially`, unless its cost never
            // fits. What gives back is a peek of a shared state.
            const auto is_use =
                request.verb == verb::allow
                    ? answer.allowed() || (has_initial(p) && answer.outcome != outcome::never)
                    : !(core::traits_of(request.verb).gives_back && is_shared);
            if (is_use && request.verb != verb::peek)
                (void)model.ask(charged, key, p);
            BOOST_REQUIRE(store.states() <= store.statistics().capacity);
        }
        for (const auto& [name, count] : too_much)
            BOOST_TEST(count == 0, name << ", seed " << seed);
        BOOST_TEST(granted > test::rounds(1'000));
        BOOST_TEST(store.statistics().overflowed > test::rounds(1'000U));
        BOOST_TEST(store.statistics().evicted > test::rounds(100U));
    }
}

// Waiting for one's turn: a turn is never earlier than with room, and a place that is given back is
// given back once.
BOOST_AUTO_TEST_CASE(without_room_no_turn_comes_earlier_than_that_of_the_reference) {
    const auto policies = std::array{policy{"bucket", gcra(3, 1s).burst(5)},
                                     policy{"two", gcra(3, 1s), gcra(20, 10s).named("more")}};
    for (unsigned seed = 1; seed <= 4; ++seed) {
        auto calls = history{seed};
        auto store = clocked_store{static_cast<std::size_t>(1 + calls.below(4))};
        auto model = reference{};
        auto early = 0;
        auto waits = 0;
        for (int i = 0; i < 10'000; ++i) {
            store.advance(calls.pause() * 3);
            const auto& p = policies[static_cast<std::size_t>(calls.below(2))];
            const auto key = std::to_string(calls.below(400));
            const auto cost = 1 + calls.below(3);
            const auto wait = call_request{
                .verb = verb::reserve, .cost = cost, .at_least = 10'000'000, .now = store.now()};
            const auto turn = store.ask(wait, key, p);
            if (!turn.allowed())
                continue;
            const auto first = model.ask(wait, key, p);
            early += !first.allowed() || turn.retry_after < first.retry_after ? 1 : 0;
            waits += turn.retry_after.count() > 0 ? 1 : 0;
            if (calls.below(3) != 0)
                continue;
            const auto back = [&](const decision& d) {
                return call_request{.verb = verb::unreserve,
                                    .cost = cost,
                                    .at_least = core::recovers_at(d),
                                    .now = store.now()};
            };
            (void)store.ask(back(turn), key, p);
            (void)model.ask(back(first), key, p);
        }
        BOOST_TEST(early == 0);
        BOOST_TEST(waits > 100);
    }
}

BOOST_AUTO_TEST_CASE(without_room_what_counts_from_its_first_use_keeps_its_bound) {
    constexpr auto period = 3'000'000;
    const policy from_first{"from_first", fixed_window(5, 3s).from_first()};
    const policy stepwise{"stepwise", token_bucket(6, 3, 3s).stepwise()};
    auto most = std::map<std::string_view, std::int64_t>{};
    for (unsigned seed = 1; seed <= 4; ++seed) {
        auto calls = history{seed};
        auto store = clocked_store{static_cast<std::size_t>(1 + calls.below(200))};
        auto granted = std::map<std::string, std::deque<std::pair<std::int64_t, std::int64_t>>>{};
        for (int i = 0; i < 60'000; ++i) {
            store.advance(calls.pause() / 20);
            const auto& p = calls.below(2) == 0 ? from_first : stepwise;
            const auto key = std::to_string(calls.below(300));
            const auto answer = store.allow(key, p, calls.below(4));
            if (answer.granted == 0)
                continue;
            auto& window = granted[std::string{p.name()} + key]; // of one period, up to now
            window.emplace_back(store.now(), answer.granted);
            while (window.front().first <= store.now() - period)
                window.pop_front();
            auto sum = std::int64_t{0};
            for (const auto& [at, count] : window)
                sum += count;
            most[p.name()] = std::max(most[p.name()], sum);
        }
        BOOST_TEST(store.statistics().overflowed > 1'000U);
        BOOST_TEST(store.statistics().evicted > 100U);
    }
    BOOST_TEST(most["from_first"] <= 2 * 5);
    BOOST_TEST(most["stepwise"] <= 6 + 3 * 2);
    BOOST_TEST(most["from_first"] > 5); // the bound is put to the test
    BOOST_TEST(most["stepwise"] > 6);
}

BOOST_AUTO_TEST_SUITE_END()
