// SPDX-License-Identifier: BSL-1.0
//
// What a set of holders reports to the arithmetic, and how calls change it.

#include <colimit/policy.hpp>
#include <core/slot_counts.hpp>
#include <policy/policy_data.hpp>
#include <support/unit_test.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

BOOST_AUTO_TEST_SUITE(slot_counts)

namespace {

using namespace colimit;
using namespace std::chrono_literals;
using core::verb;

constexpr auto now = std::int64_t{1'700'000'000'000'000};
constexpr auto lease = std::int64_t{30'000'000};
constexpr std::string_view a = "holder is  a";
constexpr std::string_view b = "holder is  b";
constexpr std::string_view c = "holder is  c";

const policy two{"p", gcra(5, 1s), concurrent(2).lease(30s)};
const core::compiled_policy& rules = detail::access::data(two)->compiled;

[[nodiscard]] core::call_request request(verb v, std::string_view holder, std::int64_t at = now) {
    return {.verb = v, .now = at, .member = holder, .has_member = true};
}

[[nodiscard]] core::rule_state reported(const core::slot_set& set, verb v, std::string_view holder,
                                        std::int64_t at = now) {
    auto states = std::array<core::rule_state, limits::max_rules_per_policy>{};
    core::report_counts(set, rules, request(v, holder, at), states);
    return states[1];
}

[[nodiscard]] decision decided(outcome how) {
    auto d = decision{};
    d.outcome = how;
    return d;
}

/// A set in which `a` got a slot ten seconds before `b`.
[[nodiscard]] core::slot_set a_and_b() {
    auto set = core::slot_set{};
    for (const auto& [id, at] : {std::pair{a, now - 10'000'000}, std::pair{b, now}}) {
        BOOST_TEST_REQUIRE(set.make_room(at));
        set.add(id, at, lease);
    }
    return set;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_rule_is_found_among_others) {
    BOOST_TEST(core::slot_rule_of(rules) == 1U);
}

BOOST_AUTO_TEST_CASE(an_acquire_counts_the_others_and_learns_its_token) {
    const auto set = a_and_b();
    const auto other = reported(set, verb::acquire, c);
    BOOST_TEST(other.t == now + lease);
    BOOST_TEST(other.debt == 2);
    BOOST_TEST(other.num == now + 1);
    BOOST_TEST(other.capacity == now - 10'000'000 + lease);
    const auto own = reported(set, verb::acquire, a);
    BOOST_TEST(own.debt == 1);
    BOOST_TEST(own.capacity == 0);
}

BOOST_AUTO_TEST_CASE(a_renewal_learns_whether_the_holder_still_has_its_slot) {
    const auto set = a_and_b();
    BOOST_TEST(reported(set, verb::renew, b).num == now); // the last token
    BOOST_TEST(reported(set, verb::renew, c).num == 0);
    BOOST_TEST(reported(set, verb::renew, a, now + lease - 10'000'000).num == 0);
    for (const auto v : {verb::peek, verb::release, verb::allow, verb::charge}) {
        BOOST_TEST(reported(set, v, a).num == 0);
        BOOST_TEST(reported(set, v, a).debt == 2);
    }
}

BOOST_AUTO_TEST_CASE(leases_that_have_ended_are_reported_as_none) {
    const auto later = reported(a_and_b(), verb::peek, "", now + lease);
    BOOST_TEST(later.t == 0);
    BOOST_TEST(later.debt == 0);
    BOOST_TEST(later.capacity == 0);
    BOOST_TEST(core::lifetime(a_and_b(), now + lease) == 0);
    BOOST_TEST(core::lifetime(a_and_b(), now + lease - 1) == 1);
}

BOOST_AUTO_TEST_CASE(calls_say_whether_they_changed_the_set) {
    const auto changes = [](verb v, std::string_view holder, std::int64_t at = now) {
        auto set = a_and_b();
        return core::apply_before(set, rules, request(v, holder, at));
    };
    BOOST_TEST(changes(verb::renew, a));
    BOOST_TEST(!changes(verb::renew, c));
    BOOST_TEST(!changes(verb::renew, a, now + lease - 10'000'000));
    BOOST_TEST(changes(verb::release, a));
    BOOST_TEST(!changes(verb::release, c));
    BOOST_TEST(changes(verb::reset, ""));
    BOOST_TEST(!changes(verb::block, ""));
    BOOST_TEST(!changes(verb::acquire, a)); // which does after the decision
    const auto before = now - 60'000'000;   // the clock was set back
    BOOST_TEST(changes(verb::renew, c, before));
    BOOST_TEST(changes(verb::release, c, before));
    BOOST_TEST(changes(verb::block, "", before));
    BOOST_TEST(!changes(verb::acquire, a, before));

    const auto ends = [](verb v, outcome how, std::int64_t at = now) {
        auto set = a_and_b();
        BOOST_TEST_REQUIRE(set.make_room(at));
        const auto changed = core::apply_after(set, rules, request(v, c, at), decided(how));
        BOOST_TEST(set.holds(c, at) == (changed && how == outcome::allowed));
        return changed;
    };
    BOOST_TEST(ends(verb::acquire, outcome::allowed));
    BOOST_TEST(!ends(verb::acquire, outcome::denied));
    BOOST_TEST(ends(verb::acquire, outcome::denied, before));
    BOOST_TEST(!ends(verb::acquire, outcome::never, before));
    BOOST_TEST(!ends(verb::renew, outcome::allowed, before));
}

BOOST_AUTO_TEST_CASE(only_an_acquire_without_a_token_lacks_memory) {
    auto states = std::array<core::rule_state, limits::max_rules_per_policy>{};
    const auto lacks = [&](verb v, std::int64_t token) {
        states[1].num = token;
        return core::lacks_memory(rules, states, request(v, a));
    };
    BOOST_TEST(lacks(verb::acquire, 0));
    BOOST_TEST(!lacks(verb::acquire, 1));
    BOOST_TEST(!lacks(verb::renew, 0));
    BOOST_TEST(!lacks(verb::renew, 1));
}

BOOST_AUTO_TEST_CASE(only_a_granted_acquire_has_a_token) {
    auto states = std::array<core::rule_state, limits::max_rules_per_policy>{};
    states[1].num = 7;
    const auto token = [&](verb v, outcome how) {
        return core::fencing_token(rules, states, request(v, a), decided(how));
    };
    BOOST_TEST(token(verb::acquire, outcome::allowed) == 7U);
    BOOST_TEST(token(verb::acquire, outcome::denied) == 0U);
    BOOST_TEST(token(verb::renew, outcome::allowed) == 0U);
    BOOST_TEST(token(verb::renew, outcome::denied) == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
