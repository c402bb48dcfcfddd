// SPDX-License-Identifier: BSL-1.0
//
// Sets of policies: lookups, and which policies make a valid set.

#include <colimit/limits.hpp>
#include <colimit/policy_set.hpp>
#include <support/refusal.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(policy_sets)

namespace {

using namespace colimit;
using namespace std::chrono_literals;

[[nodiscard]] std::string reason(const std::vector<policy>& policies) {
    return test::refusal(errc::invalid_policy, [&] { return policy_set{policies}; });
}

} // namespace

BOOST_AUTO_TEST_CASE(policies_are_found_by_name_and_are_in_its_order) {
    const policy_set set{{policy{"b", gcra(2, 1s)}, policy{"a", gcra(1, 1s)}}};
    BOOST_TEST_REQUIRE(set.find("a") != nullptr);
    BOOST_TEST((set.find("a")->rules()[0] == gcra(1, 1s)));
    BOOST_TEST((set.at("b")[0] == gcra(2, 1s)));
    BOOST_TEST(set.find("A") == nullptr);
    BOOST_TEST(set.find("") == nullptr);
    BOOST_TEST(set.size() == 2U);
    BOOST_TEST(set.begin()->name() == "a");
}

BOOST_AUTO_TEST_CASE(a_set_may_be_empty) {
    const policy_set none;
    BOOST_TEST(none.empty());
    BOOST_TEST(none.find("a") == nullptr);
    BOOST_TEST((none == policy_set{std::vector<policy>{}}));
}

BOOST_AUTO_TEST_CASE(a_name_that_is_not_there_is_refused_escaped) {
    BOOST_TEST(test::refusal(errc::invalid_policy, [] {
                   (void)policy_set{}.at("a\n");
                   return 0;
               }) == "no policy is named 'a\\x0a'");
}

BOOST_AUTO_TEST_CASE(two_policies_of_one_name_are_refused) {
    BOOST_TEST(reason({policy{"a", gcra(1, 1s)}, policy{"b", gcra(1, 1s)},
                       policy{"a", gcra(2, 1s)}}) == "two policies are named 'a'");
}

BOOST_AUTO_TEST_CASE(a_set_has_at_most_1000_policies) {
    std::vector<policy> policies;
    while (policies.size() < limits::max_policies)
        policies.emplace_back("p" + std::to_string(policies.size()), gcra(1, 1s));
    BOOST_TEST(policy_set{policies}.size() == 1'000U);
    policies.emplace_back("one_more", gcra(1, 1s));
    BOOST_TEST(reason(policies) == "too many policies (got 1001, expected at most 1000)");
}

BOOST_AUTO_TEST_CASE(policies_are_equal_if_everything_about_them_is) {
    const policy p{"a", gcra(1, 1s), gcra(2, 1s).named("x")};
    BOOST_TEST((p == policy{"a", gcra(1, 1s), gcra(2, 1s).named("x")}));
    BOOST_TEST((p != policy{"b", gcra(1, 1s), gcra(2, 1s).named("x")}));
    BOOST_TEST((p != policy{"a", gcra(1, 1s)}));
    BOOST_TEST((p != p.shadow()));
    BOOST_TEST((p != p.prevent_duplicate(1s)));
    BOOST_TEST((p != p.with_prefix("x")));
    BOOST_TEST((p.with_prefix("y") != p.with_prefix("x")));
}

BOOST_AUTO_TEST_SUITE_END()
