// SPDX-License-Identifier: BSL-1.0
//
// Policies of rules without a name: their names, and the cache that makes a call with rules cheap.

#include <colimit/check_item.hpp>
#include <colimit/local_limiter.hpp>
#include <colimit/policy.hpp>
#include <colimit/rule_text.hpp>
#include <colimit/rules.hpp>
#include <policy/policy_data.hpp>
#include <support/random_rule.hpp>
#include <support/refusal.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

BOOST_AUTO_TEST_SUITE(unnamed_policies)

namespace {

using namespace std::chrono_literals;
using namespace colimit;

[[nodiscard]] std::string name_of(const policy& p) {
    return std::string{p.name()};
}

[[nodiscard]] const detail::policy_data* made_of(const policy& p) {
    return detail::access::data(p).get();
}

} // namespace

BOOST_AUTO_TEST_CASE(a_bare_rule_is_a_policy_named_after_its_text) {
    BOOST_TEST(policy(gcra(5, 1s).burst(10)).name() == "5-s_burst_10");
    BOOST_TEST(policy(cell(15, 30, 60s).named("x").shadow()).name() ==
               "30-m_cell_burst_16_shadow_named_x");
    const auto refused = [](const rule& r) {
        return test::refusal(errc::invalid_policy, [&] { return policy{r}; });
    };
    BOOST_TEST(refused(gcra(0, 1s)) == "rule 'gcra': the count must be 1 to 9007199254740991 "
                                       "(got 0)");
    BOOST_TEST(refused(gcra(1, 1s).named("")) ==
               "rule: the name is empty: 1 to 64 characters of [A-Za-z0-9_.-] are allowed");
}

BOOST_AUTO_TEST_CASE(bare_rules_that_differ_have_policies_that_differ) {
    const auto r = gcra(5, 1s);
    const auto name = [](const rule& one) { return std::string{policy{one}.name()}; };
    BOOST_TEST(name(r.named("x").shadow()) != name(r.named("x_shadow")));
    const std::string start(63, 'x'); // the texts differ behind the 64th character only
    const auto a = name(r.named(start + "a"));
    const auto b = name(r.named(start + "b"));
    BOOST_TEST(a != b);
    BOOST_TEST(a.size() == 64U);
    BOOST_TEST(b.size() == 64U);
    BOOST_TEST(name(calendar(3, calendar_unit::day, 5h + 30min)) == "3_per_day_utc.5.30");
    BOOST_TEST(name(calendar(3, calendar_unit::day, -5h)) == "3_per_day_utc-5");
    std::set<std::string> names;
    for (auto offset = -limits::max_utc_offset; offset <= limits::max_utc_offset; offset += 1min)
        names.insert(name(calendar(3, calendar_unit::month, offset)));
    BOOST_TEST(names.size() == 2U * 1'080U + 1U);
    auto random = test::random_rules{5};
    std::map<std::string, std::string> texts;
    for (int i = 0; i < 20'000; ++i) {
        const auto one = random.sensible();
        const auto [known, is_new] = texts.try_emplace(name(one), to_string(one));
        BOOST_REQUIRE_MESSAGE(known->second == to_string(one), known->first);
    }
    BOOST_TEST(a == name(r.named(start + "a")));
}

BOOST_AUTO_TEST_CASE(several_rules_are_a_policy_named_after_their_texts) {
    static_assert(std::is_trivially_destructible_v<rules>);
    BOOST_TEST(name_of(rules{gcra(2, 1s), sliding_log(5, 1min)}) == "2-s..5-m_sliding_log");
    BOOST_TEST(name_of(parse_rules("2/s; 5/m sliding_log")) == "2-s..5-m_sliding_log");
    BOOST_TEST(name_of(rules{gcra(2, 1s)}) == name_of(gcra(2, 1s)));
    const std::vector<rule> many(2, gcra(2, 1s));
    const policy of_span = std::span<const rule>{many};
    BOOST_TEST(name_of(of_span) == "2-s..2-s");
    BOOST_TEST(of_span[0].name() == "gcra");
    BOOST_TEST(of_span[1].name() == "gcra_2");
    const policy three = rules{gcra(1, 1min), fixed_window(9, 1h), gcra(10, 1h)};
    BOOST_TEST(three[1].name() == "fixed_window");
    BOOST_TEST(three[2].name() == "gcra_2");
    const policy some_named = rules{gcra(1, 1s).named("x"), gcra(2, 1s), gcra(3, 1s).named("y")};
    BOOST_TEST(some_named[1].name() == "gcra");
    BOOST_TEST(some_named[2].name() == "y");
}

BOOST_AUTO_TEST_CASE(rules_that_differ_have_policies_that_differ) {
    const auto x = gcra(5, 1s).named("x");
    // Without a digest both names would be 5-s_named_x..5-m.
    BOOST_TEST(name_of(rules{x, gcra(5, 1min)}) != name_of(gcra(5, 1s).named("x..5-m")));
    // Without the characters that a name replaces both texts would be 5-s_named_x..5-m..5-h.
    BOOST_TEST(name_of(rules{x, gcra(5, 1min), gcra(5, 1h)}) !=
               name_of(rules{gcra(5, 1s).named("x..5-m"), gcra(5, 1h)}));
    // Equal rules, of which one has its algorithm's name: the texts differ.
    BOOST_TEST(name_of(gcra(5, 1s)) != name_of(gcra(5, 1s).named("gcra")));
    for (std::int64_t i = 1; i <= 500; ++i) { // some of them share a place in the cache
        const auto plain = gcra(i, 1s);
        BOOST_TEST(name_of(plain.named("gcra")) == std::to_string(i) + "-s_named_gcra");
        BOOST_TEST(name_of(plain) == std::to_string(i) + "-s");
    }
    BOOST_TEST(name_of(rules{x, gcra(5, 1min)}) != name_of(rules{gcra(5, 1min), x}));
    auto random = test::random_rules{6};
    std::map<std::string, std::string> texts;
    for (int i = 0; i < 5'000; ++i) {
        const auto a = random.sensible().named("a");
        const auto b = random.sensible().named("b");
        const auto text = to_string(a) + "; " + to_string(b);
        const auto [known, is_new] = texts.try_emplace(name_of(rules{a, b}), text);
        BOOST_REQUIRE_MESSAGE(known->second == text, known->first);
    }
}

BOOST_AUTO_TEST_CASE(invalid_rules_are_refused_by_their_number) {
    const auto refused = [](const auto& several) {
        return test::refusal(errc::invalid_policy, [&] { return policy{several}; });
    };
    BOOST_TEST(refused(rules{gcra(1, 1s), gcra(0, 1s)}) ==
               "rule 2 'gcra_2': the count must be 1 to 9007199254740991 (got 0)");
    BOOST_TEST(refused(rules{gcra(1, 1s).named("a"), gcra(1, 1s).named("a")}) ==
               "rule 2 'a': another rule of this policy has this name; name them apart with "
               ".named(...)");
    BOOST_TEST(refused(std::vector<rule>{}) == "rules: must have 1 to 8 rules, has 0");
    BOOST_TEST(refused(std::vector<rule>(9, gcra(1, 1s))) ==
               "rules: must have 1 to 8 rules, has 9");
    const auto unknown = rule{static_cast<algorithm>(99), 1, 1, 1};
    BOOST_TEST(refused(rules{gcra(1, 1s), unknown})
                   .starts_with("rule 2: algorithm: not an enumerator (got 99, expected gcra, "));
}

BOOST_AUTO_TEST_CASE(every_verb_of_a_local_limiter_takes_rules) {
    local_limiter l;
    const auto both = rules{fixed_window(3, 1h), sliding_log(2, 24h)};
    BOOST_TEST(l.allow("k", both).remaining == 1);
    BOOST_TEST(l.peek("k", both).limiting_rule == 1U);
    BOOST_TEST(l.charge("k", both).remaining == 0);
    BOOST_TEST(!l.allow("k", parse_rules("3/h fixed_window; 2/24h sliding_log")).allowed());
    BOOST_TEST(l.refund("k", both, {.cost = 2}).remaining == 2);
    BOOST_TEST(!l.block("k", both, 1h).allowed());
    BOOST_TEST(l.reset("k", both).remaining == 2);
    auto checks = std::vector<check_item>{{.key = "a", .policy = both}};
    BOOST_TEST(name_of(checks[0].policy) == name_of(both));
}

BOOST_AUTO_TEST_CASE(a_repeated_conversion_finds_the_policy_that_was_made) {
    const auto both = rules{gcra(2, 1s), sliding_log(5, 1min)};
    const auto* const first = made_of(both);
    BOOST_TEST(made_of(both) == first);
    BOOST_TEST(made_of(rules{gcra(2, 1s), sliding_log(5, 1min)}) == first);
    BOOST_TEST(made_of(parse_rules("2/s; 5/m sliding_log")) == first);
    BOOST_TEST(made_of(rules{gcra(2, 1s), sliding_log(5, 1min).shadow()}) != first);
    BOOST_TEST(made_of(rules{sliding_log(5, 1min), gcra(2, 1s)}) != first);
    BOOST_TEST(made_of(both) == first);
}

/// So that no program is slow by chance, which its rules decide.
BOOST_AUTO_TEST_CASE(a_few_policies_do_not_displace_each_other) {
    for (auto program = 0; program < 200; ++program) {
        auto made = std::vector<const detail::policy_data*>{};
        const auto make = [&](int i) {
            return made_of(policy{gcra(program * 10 + i + 1, std::chrono::seconds{i + 1})});
        };
        for (auto i = 0; i < 10; ++i)
            made.push_back(make(i));
        for (auto i = 0; i < 10; ++i)
            BOOST_TEST(make(i) == made[static_cast<std::size_t>(i)]);
    }
}

BOOST_AUTO_TEST_CASE(a_thread_keeps_64_policies_at_most) {
    std::vector<std::weak_ptr<const detail::policy_data>> all;
    const auto alive = [&all] {
        return std::ranges::count_if(all, [](const auto& one) { return !one.expired(); });
    };
    std::thread{[&] {
        for (std::int64_t i = 1; i <= 10'000; ++i)
            all.push_back(detail::access::data(policy{gcra(i, 1s)}));
        BOOST_TEST(alive() <= 64);
        BOOST_TEST(alive() > 32);
    }}.join();
    BOOST_TEST(alive() == 0);
}

BOOST_AUTO_TEST_SUITE_END()
