// SPDX-License-Identifier: BSL-1.0
//
// A corrupt value with the same rule twice: C++ and Lua must read it in the same way, or every call
// on its key fails.

#include <core/state_encoding.hpp>
#include <policy/policy_data.hpp>
#include <support/stored_value.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <string>

BOOST_AUTO_TEST_SUITE(wire_twice)

namespace {

using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(of_a_rule_that_stands_twice_in_a_value_the_first_counts) {
    const auto both =
        colimit::policy{"p", colimit::gcra(1, 1s).named("a"), colimit::gcra(1, 1s).named("b")};
    const auto& plan = colimit::detail::access::data(both)->compiled;
    auto state = colimit::core::key_state{};
    state.states[0] = {.t = 1, .debt = 10, .num = 1'000'000, .capacity = 1};
    state.states[1] = {.t = 1, .debt = 20, .num = 1'000'000, .capacity = 1};
    auto twice = plan;
    twice.limits[0].tag = twice.limits[1].tag;
    const auto value = colimit::test::encode_value(twice, state, 0);

    const auto read = colimit::core::decode_value(plan, value);

    BOOST_TEST(read.states[0].num == 0); // not there
    BOOST_TEST(read.states[1].debt == 10);
}

} // namespace

BOOST_AUTO_TEST_SUITE_END()
