// SPDX-License-Identifier: BSL-1.0
//
// The in-process store against an obviously correct reference: a map from keys to states that
// forgets nothing. Where there is room the two give equal answers; where there is none the store
// grants no more than the reference has room for.

#include "memory_clocked_store.hpp"

#include <support/unit_test.hpp>

#include <map>
#include <random>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(memory_reference)

using namespace std::chrono_literals;
using colimit::decision;
using colimit::gcra;
using colimit::policy;
using colimit::core::call_request;
using colimit::core::verb;
using colimit::test::clocked_store;

namespace {

class reference {
  public:
    decision ask(const call_request& request, const std::string& key, const policy& p) {
        const auto name = std::string{p.name()} + ":" + key;
        auto state = states_[name];
        auto answer = decision{};
        switch (colimit::core::evaluate(colimit::detail::access::data(p)->compiled, state, request,
                                        answer)) {
        case colimit::core::effect::nothing:
            break;
        case colimit::core::effect::store:
            state.exists = true;
            states_[name] = state;
            break;
        case colimit::core::effect::erase:
            states_[name] = {};
            break;
        }
        return answer;
    }

  private:
    std::map<std::string, colimit::core::key_state> states_;
};

[[nodiscard]] std::vector<policy> some_policies() {
    return {policy{"one", gcra(3, 1s).burst(5)}, policy{"slow", gcra(4, 1min)},
            policy{"two", gcra(10, 1s), gcra(30, 1min).named("minute")},
            policy{"coarse", gcra(104'729, 24h).burst(7), gcra(3, 1s).named("s").shadow()},
            policy{"three", gcra(7, 1s).burst(3), gcra(9, 3s).named("b"), gcra(20, 1h).named("c")}};
}

/// Random calls; most of them are `allow`.
class history {
  public:
    explicit history(unsigned seed) : random_(seed) {}

    [[nodiscard]] std::int64_t below(std::int64_t n) {
        return std::uniform_int_distribution<std::int64_t>{0, n - 1}(random_);
    }
    [[nodiscard]] call_request next(std::int64_t now) {
        static constexpr verb verbs[] = {verb::allow, verb::allow,  verb::allow,  verb::allow,
                                         verb::allow, verb::peek,   verb::charge, verb::refund,
                                         verb::allow, verb::charge, verb::reset};
        const auto v = verbs[below(11)];
        const auto cost = v == verb::reset ? 0 : below(20) == 0 ? below(100) : below(4);
        const auto at_least = below(3) == 0 ? below(cost + 1) : cost;
        return {.verb = v, .cost = cost, .at_least = at_least, .now = now};
    }
    /// Mostly microseconds, sometimes seconds.
    [[nodiscard]] std::chrono::microseconds pause() {
        return std::chrono::microseconds{below(20) == 0 ? below(20'000'000) : below(5'000)};
    }

  private:
    std::mt19937 random_;
};

/// Tells the reference what the store has really charged.
[[nodiscard]] call_request as_granted(call_request request, const decision& answer) {
    if (request.verb == verb::allow)
        request.cost = request.at_least = answer.granted;
    return request;
}

} // namespace

BOOST_AUTO_TEST_CASE(with_room_every_answer_is_that_of_the_reference) {
    const auto policies = some_policies();
    for (unsigned seed = 1; seed <= 8; ++seed) {
        auto calls = history{seed};
        auto store = clocked_store{3'000};
        auto model = reference{};
        auto different = 0;
        for (int i = 0; i < 40'000; ++i) {
            store.advance(calls.pause());
            // Sometimes the clock is back by a little, as after an adjustment.
            const auto now = store.now() - (calls.below(50) == 0 ? calls.below(1'000'000) : 0);
            const auto request = calls.next(now);
            const auto& p = policies[static_cast<std::size_t>(calls.below(5))];
            const auto key = std::to_string(calls.below(200));
            different += !(store.ask(request, key, p) == model.ask(request, key, p));
        }
        BOOST_TEST(different == 0, "seed " << seed);
        BOOST_TEST(store.statistics().evicted > 0U);
        BOOST_TEST(store.statistics().overflowed == 0U);
    }
}

BOOST_AUTO_TEST_CASE(without_room_nothing_is_granted_that_the_reference_has_not) {
    const auto policies = some_policies();
    for (unsigned seed = 1; seed <= 8; ++seed) {
        auto calls = history{seed};
        auto store = clocked_store{static_cast<std::size_t>(1 + calls.below(100))};
        auto model = reference{};
        auto too_much = 0;
        auto granted = std::int64_t{0};
        for (int i = 0; i < 40'000; ++i) {
            store.advance(calls.pause() / 20);
            const auto request = calls.next(store.now());
            const auto& p = policies[static_cast<std::size_t>(calls.below(5))];
            const auto key = std::to_string(calls.below(2'000));
            auto peeked = request;
            peeked.verb = verb::peek;
            const auto room = model.ask(peeked, key, p);
            const auto answer = store.ask(request, key, p);
            if (request.verb == verb::allow || request.verb == verb::peek)
                too_much += answer.granted > room.granted || (answer.allowed() && !room.allowed());
            granted += answer.granted;
            if (request.verb != verb::peek)
                (void)model.ask(as_granted(request, answer), key, p);
        }
        BOOST_TEST(too_much == 0, "seed " << seed);
        BOOST_TEST(granted > 1'000);
        BOOST_TEST(store.statistics().overflowed > 1'000U);
        BOOST_TEST(store.statistics().evicted > 100U);
    }
}

BOOST_AUTO_TEST_SUITE_END()
