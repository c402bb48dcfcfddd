// SPDX-License-Identifier: BSL-1.0
//
// Calls on sliding logs through the arithmetic: the facts of the log, and the effect of the call.

#include <colimit/policy.hpp>
#include <core/log_counts.hpp>
#include <policy/policy_data.hpp>
#include <support/unit_test.hpp>

#include <optional>

BOOST_AUTO_TEST_SUITE(log_counts)

using namespace std::chrono_literals;
using namespace colimit;
using core::event_log;
using core::verb;

namespace {

/// A key under a policy of logs and whatever else, with a clock that the test moves.
class logged_key {
  public:
    explicit logged_key(const policy& p) : policy_(p) {}

    decision ask(verb v, std::int64_t cost, std::optional<std::int64_t> at_least = {}) {
        const auto asked = core::call_request{
            .verb = v, .cost = cost, .at_least = at_least.value_or(cost), .now = now};
        const auto& plan = detail::access::data(policy_)->compiled;
        auto answer = decision{};
        changed = core::apply_before(log, plan, asked);
        core::report_counts(log, plan, asked, state_.states);
        state_.exists = core::evaluate(plan, state_, asked, answer) == core::effect::store;
        changed = core::apply_after(log, plan, asked, answer) || changed;
        return answer;
    }
    decision allow(std::int64_t cost = 1) { return ask(verb::allow, cost); }
    /// For how long the key's value is kept; the log has an end of its own.
    [[nodiscard]] std::int64_t value_lifetime() const {
        return core::lifetime(detail::access::data(policy_)->compiled, state_.states, state_, now);
    }

    std::int64_t now = 1'700'000'000'000'000;
    event_log log;
    bool changed = false; ///< what the last call said of the log

  private:
    policy policy_;
    core::key_state state_;
};

constexpr std::int64_t second = 1'000'000;

} // namespace

BOOST_AUTO_TEST_CASE(a_log_lets_its_limit_through_in_any_window) {
    auto key = logged_key{policy{"p", sliding_log(3, 1s)}};
    for (int i = 0; i < 3; ++i, key.now += 100'000) {
        const auto granted = key.allow();
        BOOST_TEST(granted.remaining == 2 - i);
        BOOST_TEST(granted.rules[0].retry_after.count() == 0);
    }
    const auto refused = key.allow();
    BOOST_TEST(!refused.allowed());
    BOOST_TEST((refused.retry_after == 700ms));
    BOOST_TEST((refused.reset_after == 900ms));
    key.now += 700'000 - 1;
    BOOST_TEST(!key.allow().allowed());
    ++key.now;
    BOOST_TEST(key.allow().allowed());
    BOOST_TEST(!key.allow().allowed());
    BOOST_TEST(key.value_lifetime() == 0);
}

BOOST_AUTO_TEST_CASE(several_windows_share_one_log) {
    auto key =
        logged_key{policy{"p", sliding_log(2, 1s).named("s"), sliding_log(3, 1min).named("m")}};
    BOOST_TEST(key.allow(2).remaining == 0);
    BOOST_TEST((key.allow().retry_after == 1s));
    key.now += second;
    const auto third = key.allow();
    BOOST_TEST(third.rules[0].balance == 1);
    BOOST_TEST(third.rules[1].balance == 0);
    BOOST_TEST(third.limiting_rule == 1);
    BOOST_TEST((key.allow().retry_after == 59s));
    BOOST_TEST(key.log.size() == 2U);
}

BOOST_AUTO_TEST_CASE(a_refusal_and_a_peek_change_nothing) {
    auto key = logged_key{policy{"p", sliding_log(3, 1s)}};
    (void)key.allow(2);
    (void)key.ask(verb::peek, 1);
    (void)key.allow(2);
    (void)key.allow(4);
    (void)key.allow(0);
    BOOST_TEST(key.log.size() == 1U);
    BOOST_TEST(key.log.used(key.now, second) == 2);
}

BOOST_AUTO_TEST_CASE(a_partial_grant_records_what_it_grants) {
    auto key = logged_key{policy{"p", sliding_log(5, 1s)}};
    (void)key.allow(3);
    const auto d = key.ask(verb::allow, 4, 1);
    BOOST_TEST(d.granted == 2);
    BOOST_TEST(key.log.used(key.now, second) == 5);
    BOOST_TEST((key.ask(verb::allow, 4, 1).retry_after == 1s));
}

BOOST_AUTO_TEST_CASE(counted_refusals_count_for_all_logs_of_the_policy) {
    auto key = logged_key{policy{"p", sliding_log(2, 1s).named("s").count_denied(),
                                 sliding_log(10, 1min).named("m")}};
    (void)key.allow(2);
    key.now += second / 2;
    const auto refused = key.allow();
    BOOST_TEST(!refused.allowed());
    BOOST_TEST(refused.rules[0].balance == -1);
    BOOST_TEST(refused.rules[1].balance == 7);
    BOOST_TEST(refused.rules[1].retry_after.count() == 0);
    BOOST_TEST((refused.retry_after == 500ms)); // the first two have gone then, the third has not
    BOOST_TEST((refused.reset_after == 1s));
    key.now += second / 2;
    BOOST_TEST(key.allow().allowed());
    BOOST_TEST(key.ask(verb::peek, 0).rules[1].balance == 6);
}

BOOST_AUTO_TEST_CASE(a_counted_refusal_of_more_than_is_used_waits_a_whole_period) {
    auto key = logged_key{policy{"p", sliding_log(3, 1s).count_denied()}};
    (void)key.allow(1);
    key.now += second / 2;
    BOOST_TEST((key.allow(3).retry_after == 1s)); // 1 and 3 are used, and 3 more must fit
    key.now += second - 1;
    BOOST_TEST(!key.ask(verb::peek, 3).allowed());
    ++key.now;
    BOOST_TEST(key.ask(verb::peek, 3).allowed());
}

BOOST_AUTO_TEST_CASE(what_is_never_allowed_is_not_counted) {
    auto key = logged_key{policy{"p", sliding_log(2, 1s).count_denied()}};
    BOOST_TEST((key.allow(3).outcome == outcome::never));
    BOOST_TEST(key.log.is_empty());
}

BOOST_AUTO_TEST_CASE(a_shadow_log_that_could_never_allow_says_so_among_counted_refusals) {
    auto key = logged_key{policy{"p", sliding_log(5, 1s).named("real").count_denied(),
                                 sliding_log(2, 1s).named("small").shadow()}};
    (void)key.allow(5);
    const auto refused = key.allow(3);
    BOOST_TEST((refused.outcome == outcome::denied));
    BOOST_TEST((refused.rules[1].retry_after == never_again));
}

BOOST_AUTO_TEST_CASE(charge_refund_and_reset_answer_as_the_log_is_afterwards) {
    auto key = logged_key{policy{"p", sliding_log(3, 1s)}};
    BOOST_TEST(key.ask(verb::charge, 5).rules[0].balance == -2);
    BOOST_TEST((key.ask(verb::charge, 0).retry_after == 1s));
    BOOST_TEST(key.ask(verb::refund, 4).remaining == 2);
    const auto whole = key.ask(verb::refund, 4);
    BOOST_TEST(whole.remaining == 3);
    BOOST_TEST(whole.reset_after.count() == 0);
    BOOST_TEST(key.log.is_empty());
    (void)key.allow(2);
    BOOST_TEST(key.ask(verb::reset, 0).remaining == 3);
    BOOST_TEST(key.log.is_empty());
}

BOOST_AUTO_TEST_CASE(a_call_says_whether_it_changed_the_log) {
    auto key = logged_key{policy{"p", sliding_log(3, 1s)}};
    const auto changes = [&](verb v, std::int64_t cost) {
        (void)key.ask(v, cost);
        return key.changed;
    };
    BOOST_TEST(!changes(verb::peek, 1));
    BOOST_TEST(changes(verb::allow, 2));
    BOOST_TEST(!changes(verb::allow, 2)); // refused
    BOOST_TEST(!changes(verb::allow, 4));
    BOOST_TEST(!changes(verb::charge, 0));
    BOOST_TEST(changes(verb::charge, 1));
    BOOST_TEST(!changes(verb::refund, 0));
    BOOST_TEST(changes(verb::refund, 1));
    BOOST_TEST(!changes(verb::block, 1));
    for (const auto v : {verb::allow, verb::charge, verb::refund, verb::block}) {
        key.now -= 10;
        BOOST_TEST(!changes(verb::peek, 0));
        BOOST_TEST(changes(v, 0)); // what lies ahead is moved
        BOOST_TEST(!changes(v, 0));
    }
    BOOST_TEST(changes(verb::reset, 0));
}

BOOST_AUTO_TEST_CASE(a_log_matters_until_its_newest_event_has_left_the_longest_window) {
    const auto rules = policy{"p", sliding_log(3, 1s).named("s"), sliding_log(9, 5s).named("m")};
    auto key = logged_key{rules};
    const auto matters = [&] {
        return core::lifetime(key.log, detail::access::data(rules)->compiled, key.now);
    };
    BOOST_TEST(matters() == 0);
    (void)key.allow();
    BOOST_TEST(matters() == 5 * second);
    key.now += 2 * second;
    BOOST_TEST(matters() == 3 * second);
    key.now += 3 * second - 1;
    BOOST_TEST(matters() == 1);
    ++key.now;
    BOOST_TEST(matters() == 0);
}

BOOST_AUTO_TEST_CASE(charges_without_end_keep_what_can_change_a_verdict) {
    auto key = logged_key{policy{"p", sliding_log(4, 1s)}};
    for (int i = 0; i < 1'000; ++i, ++key.now)
        (void)key.ask(verb::charge, 1);
    BOOST_TEST(key.log.size() == 24U);
    const auto refused = key.ask(verb::peek, 1);
    BOOST_TEST((refused.retry_after == 1s - 4us)); // when the last but three has gone
}

BOOST_AUTO_TEST_CASE(a_clock_set_back_costs_at_most_one_period) {
    auto key = logged_key{policy{"p", sliding_log(2, 1s)}};
    (void)key.allow(2);
    key.now -= 3'600 * second;
    const auto before = key.log.newest(key.now + 3'600 * second, second);
    BOOST_TEST((key.ask(verb::peek, 1).retry_after == 1s));
    BOOST_TEST(key.log.newest(key.now + 3'600 * second, second) == before); // a peek writes nothing
    BOOST_TEST((key.allow(3).outcome == outcome::never));
    BOOST_TEST(key.log.newest(key.now + 3'600 * second, second) == before); // nor does never
    BOOST_TEST((key.allow().retry_after == 1s)); // but a denial moves what lies ahead
    key.now += second - 1;
    BOOST_TEST(!key.allow().allowed());
    ++key.now;
    BOOST_TEST(key.allow().allowed());
}

// No store reports this; a foreign server may.
BOOST_AUTO_TEST_CASE(facts_that_cannot_be_make_no_time_before_now) {
    const auto now = std::int64_t{1'700'000'000'000'000};
    const auto past = now - 5 * second;
    for (const auto& r : {sliding_log(3, 1s), sliding_log(3, 1s).count_denied(), distinct(3, 1s)})
        for (const auto verb : {verb::allow, verb::peek, verb::refund})
            for (const auto debt : {0, 3}) {
                const auto p = policy{"p", r};
                auto state = core::key_state{};
                state.exists = true;
                state.states[0] = {.t = past, .debt = debt, .num = past, .capacity = past};
                auto answer = decision{};
                (void)core::evaluate(detail::access::data(p)->compiled, state,
                                     {.verb = verb, .now = now}, answer);
                BOOST_TEST(answer.reset_after.count() >= 0);
                BOOST_TEST(answer.retry_after.count() == 0);
            }
}

BOOST_AUTO_TEST_SUITE_END()
