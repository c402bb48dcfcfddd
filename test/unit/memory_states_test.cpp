// SPDX-License-Identifier: BSL-1.0
//
// States of the in-process store: when a key has one, and changes of the policy.

#include "memory_clocked_store.hpp"

#include <support/unit_test.hpp>

#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(memory_states)

using namespace std::chrono_literals;
using namespace std::string_literals;
using colimit::gcra;
using colimit::policy;
using colimit::core::verb;
using colimit::test::clocked_store;

namespace {

const policy plain{"p", gcra(10, 1h)};

} // namespace

BOOST_AUTO_TEST_CASE(a_call_that_charges_nothing_makes_no_state) {
    auto store = clocked_store{100};
    (void)store.ask(verb::peek, "k", plain);
    (void)store.allow("k", plain, 0);
    (void)store.allow("k", plain, 11);
    (void)store.ask(verb::refund, "k", plain);
    (void)store.ask(verb::reset, "k", plain, 0);
    (void)store.ask(verb::charge, "k", plain, 0);
    BOOST_TEST(store.states() == 0U);
    BOOST_TEST(store.statistics().overflowed == 0U);
}

BOOST_AUTO_TEST_CASE(reset_and_a_full_refund_free_all_cells) {
    const auto rules = policy{"r", gcra(10, 1h), gcra(5, 1s).named("s"), gcra(9, 1min).named("m")};
    auto store = clocked_store{100};
    (void)store.allow("k", rules, 2);
    BOOST_TEST(store.states() == 3U);
    (void)store.ask(verb::refund, "k", rules, 2);
    BOOST_TEST(store.states() == 0U);
    (void)store.allow("k", rules, 5);
    BOOST_TEST(store.ask(verb::reset, "k", rules, 0).remaining == 5);
    BOOST_TEST(store.states() == 0U);
    BOOST_TEST(store.remaining("k", rules) == 5);
}

BOOST_AUTO_TEST_CASE(cells_are_used_again) {
    auto store = clocked_store{4};
    for (int i = 0; i < 1000; ++i) {
        const auto key = std::to_string(i);
        (void)store.allow(key, plain);
        (void)store.ask(verb::reset, key, plain, 0);
    }
    BOOST_TEST(store.statistics().overflowed == 0U);
}

BOOST_AUTO_TEST_CASE(changed_numbers_keep_what_was_used) {
    auto store = clocked_store{100};
    (void)store.allow("k", plain, 4);
    BOOST_TEST(store.remaining("k", policy{"p", gcra(20, 1h)}) == 16);
    BOOST_TEST(store.remaining("k", policy{"p", gcra(3, 1h)}) == 0);
    BOOST_TEST(store.remaining("k", plain) == 6);
}

BOOST_AUTO_TEST_CASE(rules_are_found_by_name_when_they_are_added_removed_or_moved) {
    const auto a = gcra(10, 1h).named("a");
    const auto b = gcra(20, 1h).named("b");
    const auto c = gcra(30, 1h).named("c");
    auto store = clocked_store{100};
    const auto balances = [&](const policy& p) {
        auto all = std::vector<std::int64_t>{};
        for (const auto& rule : store.ask(verb::peek, "k", p, 0).rules)
            all.push_back(rule.balance);
        return all;
    };
    using numbers = std::vector<std::int64_t>;
    (void)store.allow("k", policy{"p", a, b}, 3);
    BOOST_TEST(balances(policy{"p", b, a}) == (numbers{17, 7}), boost::test_tools::per_element());
    BOOST_TEST(balances(policy{"p", c, b}) == (numbers{30, 17}), boost::test_tools::per_element());

    (void)store.allow("k", policy{"p", b, c, a}, 1); // relaid: moved and added
    BOOST_TEST(store.states() == 3U);
    BOOST_TEST(balances(policy{"p", a, b, c}) == (numbers{6, 16, 29}),
               boost::test_tools::per_element());

    (void)store.allow("k", policy{"p", c}, 1); // removed
    BOOST_TEST(store.states() == 1U);
    BOOST_TEST(balances(policy{"p", a, b, c}) == (numbers{10, 20, 28}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(policies_of_one_name_share_and_others_do_not) {
    auto store = clocked_store{100};
    (void)store.allow("k", plain, 4);
    BOOST_TEST(store.remaining("k", policy{"p", gcra(10, 1h)}) == 6);
    BOOST_TEST(store.remaining("k", policy{"q", gcra(10, 1h)}) == 10);
}

BOOST_AUTO_TEST_CASE(keys_are_any_bytes_and_never_meet) {
    const auto keys = std::vector<std::string>{"",
                                               "\0"s,
                                               "\0\0"s,
                                               "\r\n",
                                               "\r\n\0"s,
                                               "a",
                                               "a\0"s,
                                               "a\0\0"s,
                                               "{a}",
                                               "p",
                                               std::string(8, 'x'),
                                               std::string(9, 'x'),
                                               "\xff",
                                               "\xff\xff",
                                               " ",
                                               "*3\r\n$3\r\n",
                                               std::string(65'536, 'x'),
                                               std::string(65'535, 'x')};
    auto store = clocked_store{100};
    for (std::size_t i = 0; i < keys.size(); ++i)
        (void)store.ask(verb::charge, keys[i], plain, static_cast<std::int64_t>(i + 1));
    BOOST_TEST(store.states() == keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i)
        BOOST_TEST(store.ask(verb::peek, keys[i], plain, 0).rules[0].balance ==
                   10 - static_cast<std::int64_t>(i + 1));
}

BOOST_AUTO_TEST_CASE(a_refused_call_changes_nothing) {
    auto store = clocked_store{100};
    store.exhaust("k", plain);
    const auto before = store.ask(verb::peek, "k", plain);
    for (int i = 0; i < 100; ++i)
        (void)store.allow("k", plain);
    BOOST_TEST((store.ask(verb::peek, "k", plain) == before));
    store.advance(before.retry_after - 1us);
    BOOST_TEST(!store.allow("k", plain).allowed());
    store.advance(1us);
    BOOST_TEST(store.allow("k", plain).allowed());
}

BOOST_AUTO_TEST_CASE(charges_add_up_to_a_year_of_debt_and_no_more) {
    const auto daily = policy{"daily", gcra(1, 24h)};
    auto store = clocked_store{100};
    for (int i = 0; i < 366; ++i)
        (void)store.ask(verb::charge, "k", daily);
    store.advance(12h); // so that a whole charge more would be too much
    for (int i = 0; i < 3; ++i)
        BOOST_TEST(store.ask(verb::charge, "k", daily).rules[0].balance == 1 - 366);
}

BOOST_AUTO_TEST_SUITE_END()
