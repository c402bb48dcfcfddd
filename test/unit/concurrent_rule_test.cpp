// SPDX-License-Identifier: BSL-1.0
//
// A `concurrent` rule: its numbers, its text and JSON, what excludes it, its verbs, and its
// decisions in order.

#include <colimit/json.hpp>
#include <colimit/policy.hpp>
#include <colimit/rule_text.hpp>
#include <core/slot_counts.hpp>
#include <policy/policy_data.hpp>
#include <policy/request_check.hpp>
#include <support/refusal.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(concurrent_rules)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using core::verb;

constexpr auto start = std::int64_t{1'700'000'000'000'000};

[[nodiscard]] std::string reason_of(const std::vector<rule>& rules) {
    return test::refusal(errc::invalid_policy, [&] { return policy{"p", rules}; });
}

/// The calls for one key, as a store makes them.
class one_key {
  public:
    explicit one_key(const policy& p) : rules_(detail::access::data(p)->compiled) {}

    decision make(verb v, std::string_view holder, std::int64_t now, std::int64_t cost = 1) {
        const auto request = detail::call_request{.verb = v,
                                                  .cost = cost,
                                                  .at_least = cost,
                                                  .now = now,
                                                  .member = holder,
                                                  .has_member = true};
        auto result = decision{};
        BOOST_REQUIRE(set_.make_room(now));
        (void)core::apply_before(set_, rules_, request);
        core::report_counts(set_, rules_, request, state_.states);
        (void)core::evaluate(rules_, state_, request, result);
        token = core::fencing_token(rules_, state_.states, request, result);
        (void)core::apply_after(set_, rules_, request, result);
        return result;
    }

    std::uint64_t token = 0; ///< of the last call

  private:
    core::compiled_policy rules_;
    core::key_state state_;
    core::slot_set set_;
};

constexpr std::string_view a = "holder is  a";
constexpr std::string_view b = "holder is  b";
constexpr std::string_view c = "holder is  c";

} // namespace

BOOST_AUTO_TEST_CASE(the_limit_and_the_lease_have_bounds) {
    BOOST_TEST(reason_of({concurrent(1).lease(100ms)}) == "not refused");
    BOOST_TEST(reason_of({concurrent(100'000).lease(24h)}) == "not refused");
    BOOST_TEST(reason_of({concurrent(0)}) ==
               "policy 'p', rule 1 'concurrent': the limit must be 1 to 9007199254740991 (got 0)");
    BOOST_TEST(reason_of({concurrent(100'001)}) ==
               "policy 'p', rule 1 'concurrent': the limit of concurrent, which remembers every "
               "holder, must be at most 100000 (got 100001)");
    const auto lease = std::string{"policy 'p', rule 1 'concurrent': the lease must be a whole "
                                   "number of microseconds, 100 ms to 1 day"};
    BOOST_TEST(reason_of({concurrent(1).lease(99'999us)}) == lease + " (got 99999 us)");
    BOOST_TEST(reason_of({concurrent(1).lease(24h + 1us)}) == lease + " (got 86400000001 us)");
    BOOST_TEST(reason_of({concurrent(1).lease(500ns)}) == lease);
    BOOST_TEST(reason_of({gcra(1, 1s).lease(30s)}) ==
               "policy 'p', rule 1 'gcra': lease is for concurrent, not for gcra");
}

BOOST_AUTO_TEST_CASE(what_excludes_the_rule_is_named) {
    BOOST_TEST(reason_of({concurrent(1).named("x"), concurrent(2).named("y")}) ==
               "policy 'p', rule 2 'y': a policy has at most one concurrent rule");
    const auto with_distinct = std::string{"a policy has no concurrent rule with a distinct rule"};
    BOOST_TEST(reason_of({concurrent(1), distinct(1, 1s)}) ==
               "policy 'p', rule 2 'distinct': " + with_distinct);
    BOOST_TEST(reason_of({distinct(1, 1s), concurrent(1)}) ==
               "policy 'p', rule 2 'concurrent': " + with_distinct);
    const auto p = policy{"p", concurrent(1)};
    BOOST_TEST(test::refusal(errc::invalid_policy, [&] {
                   return p.with_storage(storage::shared_hash);
               }) == "policy 'p', rule 1 'concurrent': a concurrent cannot be packed");
    BOOST_TEST(test::refusal(errc::invalid_policy, [&] { return p.with_leases(1s); }) ==
               "policy 'p', rule 1 'concurrent': a concurrent cannot have leases");
    for (const auto mode : {failure_mode::allow, failure_mode::local})
        BOOST_TEST(test::refusal(errc::invalid_policy, [&] { return p.with_failure_mode(mode); }) ==
                   "policy 'p', rule 1 'concurrent': concurrent: not with failure_mode::" +
                       std::string{to_string(mode)} +
                       ", as a slot needs the store (expected deny or error)");
    (void)p.with_failure_mode(failure_mode::deny);
    (void)p.with_failure_mode(failure_mode::error);
}

BOOST_AUTO_TEST_CASE(its_text_and_json_are_those_of_other_rules) {
    BOOST_TEST(to_string(concurrent(10)) == "10/30s concurrent");
    BOOST_TEST((parse_rules("10/30s concurrent; 100/m named minute") ==
                std::vector<rule>{concurrent(10).lease(30s), gcra(100, 1min).named("minute")}));
    const auto set = parse_policies(
        R"({"policies": {"jobs": {"rules": [{"algorithm": "concurrent", "limit": 3,
                                              "period": "2s"}]}}})");
    BOOST_TEST((set.at("jobs")[0] == concurrent(3).lease(2s)));
}

BOOST_AUTO_TEST_CASE(only_verbs_of_slots_are_accepted) {
    const auto places = policy{"p", concurrent(1), gcra(1, 1s)};
    const auto tokens = policy{"p", gcra(1, 1s)};
    const auto error_of = [](verb v, const policy& p) {
        return detail::error_of_request({.verb = v, .member = a, .has_member = true},
                                        detail::access::data(p)->compiled);
    };
    for (const auto v :
         {verb::peek, verb::reset, verb::block, verb::acquire, verb::renew, verb::release})
        BOOST_TEST(!error_of(v, places));
    for (const auto v : {verb::allow, verb::charge, verb::refund, verb::reserve}) {
        BOOST_TEST((error_of(v, places) == errc::invalid_policy));
        BOOST_TEST(error_of(v, places).message() ==
                   "policy: a policy with concurrent is used with acquire (expected acquire, peek, "
                   "reset or block)");
        BOOST_TEST(!error_of(v, tokens));
    }
    for (const auto v : {verb::acquire, verb::renew, verb::release}) {
        BOOST_TEST((error_of(v, tokens) == errc::invalid_policy));
        BOOST_TEST(error_of(v, tokens).message() ==
                   "policy: acquire needs slots to take (expected a policy with a concurrent "
                   "rule)");
    }
}

BOOST_AUTO_TEST_CASE(slots_are_taken_renewed_given_back_and_lost) {
    auto k = one_key{policy{"p", concurrent(2).lease(10s)}};
    const auto first = k.make(verb::acquire, a, start);
    BOOST_TEST(first.allowed());
    BOOST_TEST(first.rules[0].balance == 1);
    BOOST_TEST(first.reset_after.count() == 10'000'000);
    BOOST_TEST(k.token == static_cast<std::uint64_t>(start));
    BOOST_TEST(k.make(verb::acquire, b, start + 1'000'000).allowed());
    BOOST_TEST(k.token == static_cast<std::uint64_t>(start + 1'000'000));

    const auto denied = k.make(verb::acquire, c, start + 2'000'000);
    BOOST_TEST(!denied.allowed());
    BOOST_TEST(k.token == 0U);
    BOOST_TEST(denied.rules[0].balance == 0);
    BOOST_TEST(denied.retry_after.count() == 8'000'000);
    BOOST_TEST(denied.reset_after.count() == 9'000'000);

    BOOST_TEST(k.make(verb::renew, a, start + 3'000'000, 0).allowed());
    BOOST_TEST(!k.make(verb::renew, b, start + 11'000'000, 0).allowed()); // lost
    BOOST_TEST(k.make(verb::acquire, c, start + 11'000'000).allowed());
    BOOST_TEST(!k.make(verb::acquire, b, start + 11'000'000).allowed());
    BOOST_TEST(k.make(verb::release, a, start + 11'000'000, 0).allowed());
    BOOST_TEST(k.make(verb::release, a, start + 11'000'000, 0).allowed()); // once more
    BOOST_TEST(k.make(verb::acquire, b, start + 11'000'000).allowed());
}

BOOST_AUTO_TEST_CASE(a_holder_that_asks_again_keeps_one_slot) {
    auto k = one_key{policy{"p", concurrent(1).lease(10s)}};
    BOOST_TEST(k.make(verb::acquire, a, start).allowed());
    const auto again = k.make(verb::acquire, a, start + 1);
    BOOST_TEST(again.allowed());
    BOOST_TEST(again.rules[0].balance == 0);
    BOOST_TEST(k.token == static_cast<std::uint64_t>(start + 1));
    BOOST_TEST(!k.make(verb::acquire, b, start + 1).allowed());
}

BOOST_AUTO_TEST_CASE(the_cost_is_charged_to_the_other_rules) {
    auto k = one_key{policy{"p", concurrent(2), gcra(100, 1min).named("minute")}};
    const auto d = k.make(verb::acquire, a, start, 60);
    BOOST_TEST(d.allowed());
    BOOST_TEST(d.granted == 60);
    BOOST_TEST(d.rules[0].balance == 1);
    BOOST_TEST(d.rules[1].balance == 40);
    const auto denied = k.make(verb::acquire, b, start, 41);
    BOOST_TEST(!denied.allowed());
    BOOST_TEST(denied.limiting_rule == 1);
    BOOST_TEST((k.make(verb::acquire, b, start, 101).outcome == outcome::never));
    BOOST_TEST(k.make(verb::acquire, b, start, 0).allowed());
    BOOST_TEST(!k.make(verb::acquire, c, start, 0).allowed()); // a slot is needed anyway
}

BOOST_AUTO_TEST_CASE(a_block_denies_new_holders_only) {
    auto k = one_key{policy{"p", concurrent(2).lease(10s)}};
    BOOST_TEST(k.make(verb::acquire, a, start).allowed());
    (void)k.make(verb::block, "", start, 5'000'000);
    BOOST_TEST(!k.make(verb::acquire, b, start).allowed());
    BOOST_TEST(k.make(verb::renew, a, start, 0).allowed());
    BOOST_TEST(k.make(verb::release, a, start, 0).allowed());
    BOOST_TEST(k.make(verb::acquire, b, start + 5'000'000).allowed());
}

BOOST_AUTO_TEST_CASE(a_shadow_rule_gives_more_slots_than_it_has) {
    auto k = one_key{policy{"p", concurrent(1).shadow()}};
    BOOST_TEST(k.make(verb::acquire, a, start).allowed());
    const auto d = k.make(verb::acquire, b, start);
    BOOST_TEST(d.allowed());
    BOOST_TEST(d.rules[0].balance == -1);
}

BOOST_AUTO_TEST_SUITE_END()
