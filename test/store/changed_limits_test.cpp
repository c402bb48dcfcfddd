// SPDX-License-Identifier: BSL-1.0
//
// Limits that change while keys live: a policy of the same name continues with the existing state,
// for every kind of rule, with larger and smaller limits and another period.

#include "stores.hpp"

#include <support/decision_text.hpp>
#include <support/unit_test.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(changed_limits)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;
using us = std::chrono::microseconds;

/// A whole number of hours since 1970 begins then.
constexpr auto hour = std::int64_t{2800} * second;

struct change {
    std::string name;
    rule (*make)(std::int64_t limit, us period);
};

/// Every kind whose state is used of a limit, and not how long a token takes.
[[nodiscard]] std::vector<change> countable() {
    return {
        {"stepwise",
         [](std::int64_t n, us p) { return token_bucket(n, n, p).stepwise().named("r"); }},
        {"aligned",
         [](std::int64_t n, us p) { return token_bucket(n, n, p).aligned().named("r"); }},
        {"continuous", [](std::int64_t n, us p) { return token_bucket(n, n, p).named("r"); }},
        {"window", [](std::int64_t n, us p) { return fixed_window(n, p).named("r"); }},
        {"from first",
         [](std::int64_t n, us p) { return fixed_window(n, p).from_first().named("r"); }},
        {"calendar", [](std::int64_t n, us) { return calendar(n, calendar_unit::day).named("r"); }},
        {"counter", [](std::int64_t n, us p) { return sliding_window(n, p).named("r"); }},
        {"log", [](std::int64_t n, us p) { return sliding_log(n, p).named("r"); }},
    };
}

BOOST_DATA_TEST_CASE(a_higher_limit_leaves_what_was_used_and_gives_the_difference, every_store()) {
    for (const auto& kind : countable()) {
        auto s = open_store(sample);
        s->allow("k", policy{"p", kind.make(10, 1h)}, {.cost = 7, .now = at(hour)});
        const policy raised{"p", kind.make(20, 1h)};
        BOOST_TEST(s->peek("k", raised, {.now = at(hour)}).remaining == 13, kind.name);
        BOOST_TEST(s->allow("k", raised, {.cost = 13, .now = at(hour)}).allowed(), kind.name);
        BOOST_TEST(!s->allow("k", raised, {.now = at(hour)}).allowed(), kind.name);
    }
}

BOOST_DATA_TEST_CASE(a_lower_limit_counts_what_was_used_and_locks_out_no_longer_than_itself,
                     every_store()) {
    for (const auto& kind : countable()) {
        auto s = open_store(sample);
        s->allow("k", policy{"p", kind.make(10, 1h)}, {.cost = 7, .now = at(hour)});
        const policy cut{"p", kind.make(5, 1h)};
        const auto d = s->allow("k", cut, {.now = at(hour)});
        BOOST_TEST(d.outcome == outcome::denied, kind.name);
        BOOST_TEST(d.remaining == 0, kind.name);
        const auto full = kind.name == "calendar" ? 24h : kind.name == "counter" ? 2h : 1h;
        BOOST_TEST((d.reset_after <= full), kind.name);
        const auto then = at(hour) + d.retry_after;
        BOOST_TEST(!s->allow("k", cut, {.now = then - 1us}).allowed(), kind.name);
        BOOST_TEST(s->allow("k", cut, {.now = then}).allowed(), kind.name);
    }
}

BOOST_DATA_TEST_CASE(with_a_shorter_period_nobody_waits_longer_than_the_new_one, every_store()) {
    for (const auto& kind : countable()) {
        if (kind.name == "calendar")
            continue; // its windows have their own lengths
        auto s = open_store(sample);
        s->allow("k", policy{"p", kind.make(10, 24h)}, {.cost = 10, .now = at(hour)});
        const policy quicker{"p", kind.make(10, 1min)};
        const auto d = s->allow("k", quicker, {.now = at(hour)});
        BOOST_TEST(!d.allowed(), kind.name);
        BOOST_TEST((d.reset_after <= (kind.name == "counter" ? 2min : 1min)), kind.name);
        BOOST_TEST(s->allow("k", quicker, {.cost = 10, .now = at(hour) + d.reset_after}).allowed(),
                   kind.name);
    }
}

BOOST_DATA_TEST_CASE(with_a_longer_period_what_was_used_stays_used, every_store()) {
    for (const auto& kind : countable()) {
        if (kind.name == "calendar")
            continue;
        auto s = open_store(sample);
        s->allow("k", policy{"p", kind.make(10, 1min)}, {.cost = 10, .now = at(hour)});
        const policy slower{"p", kind.make(10, 1h)};
        const auto d = s->allow("k", slower, {.now = at(hour + second)});
        BOOST_TEST((d.outcome == outcome::denied), kind.name);
        BOOST_TEST(d.remaining == 0, kind.name);
        BOOST_TEST((d.reset_after <= (kind.name == "counter" ? 2h : 1h)), kind.name);
    }
}

/// Those whose count comes back at once.
[[nodiscard]] std::vector<change> stepped() {
    auto all = countable();
    all.resize(2);
    return all;
}

BOOST_DATA_TEST_CASE(what_was_charged_late_in_an_old_period_is_not_forgiven_by_a_shorter_one,
                     every_store()) {
    for (const auto& kind : stepped()) {
        auto s = open_store(sample);
        const policy day{"p", kind.make(10, 24h)};
        const auto midnight = at(hour) + 1h;
        s->allow("k", day, {.cost = 1, .now = midnight});
        s->allow("k", day, {.cost = 9, .now = midnight + 5h});
        const policy quicker{"p", kind.make(10, 1min)};
        // Many minutes have passed since the boundary before, none since the charge.
        const auto then = midnight + 5h + 10s;
        const auto d = s->allow("k", quicker, {.now = then});
        BOOST_TEST(d.outcome == outcome::denied, kind.name);
        BOOST_TEST((d.retry_after > 0s && d.retry_after <= 1min), kind.name);
        // A call meanwhile does not delay it.
        const auto again = s->allow("k", quicker, {.now = then + 20s});
        BOOST_TEST((again.retry_after == d.retry_after - 20s), kind.name);
        BOOST_TEST(!s->allow("k", quicker, {.now = then + d.retry_after - 1us}).allowed(),
                   kind.name);
        BOOST_TEST(s->allow("k", quicker, {.cost = 10, .now = then + d.retry_after}).allowed(),
                   kind.name);
    }
}

BOOST_DATA_TEST_CASE(who_was_away_for_both_periods_owes_nothing_after_a_change, every_store()) {
    for (const auto& kind : stepped())
        for (const auto& [before, after] : {std::pair<us, us>{24h, 1h}, {1h, 24h}}) {
            auto s = open_store(sample);
            s->allow("k", policy{"p", kind.make(10, before)}, {.cost = 10, .now = at(hour)});
            const auto d = s->peek("k", policy{"p", kind.make(10, after)}, {.now = at(hour) + 48h});
            BOOST_TEST(d.remaining == 10, kind.name);
        }
}

BOOST_DATA_TEST_CASE(half_a_debt_comes_back_by_the_new_steps, every_store()) {
    const auto rule_of = [](bool aligned, std::int64_t capacity, std::int64_t count, us period) {
        const auto r = token_bucket(capacity, count, period).named("r");
        return policy{"p", aligned ? r.aligned() : r.stepwise()};
    };
    for (const auto aligned : {false, true})
        for (const auto& [before, after] : {std::pair<us, us>{1h, 10min}, {10min, 1h}}) {
            auto s = open_store(sample);
            s->allow("k", rule_of(aligned, 10, 5, before), {.cost = 10, .now = at(hour)});
            const auto changed = rule_of(aligned, 8, 2, after);
            const auto d = s->allow("k", changed, {.now = at(hour)});
            BOOST_TEST(d.outcome == outcome::denied);
            BOOST_TEST((d.retry_after <= after));
            // Eight are owed then, two come back at a time.
            const auto first = at(hour) + d.retry_after;
            BOOST_TEST(s->peek("k", changed, {.now = first}).remaining == 2);
            BOOST_TEST(s->peek("k", changed, {.now = first + after}).remaining == 4);
            BOOST_TEST((d.reset_after == d.retry_after + 3 * after));
        }
}

BOOST_DATA_TEST_CASE(a_calendar_keeps_its_count_when_its_unit_changes, every_store()) {
    auto s = open_store(sample);
    const policy day{"p", calendar(10, calendar_unit::day).named("r")};
    const policy month{"p", calendar(30, calendar_unit::month).named("r")};
    s->allow("k", day, {.cost = 7, .now = at(hour)});
    BOOST_TEST(s->allow("k", month, {.now = at(hour)}).remaining == 22);
    // In the window of the month they count for the month.
    BOOST_TEST(s->peek("k", month, {.now = at(hour) + 24h}).remaining == 22);
    // Back to the day: what is counted, counts in today's window.
    const auto today = s->allow("k", day, {.now = at(hour) + 24h});
    BOOST_TEST(today.remaining == 1);
    BOOST_TEST(s->peek("k", day, {.now = at(hour) + 48h}).remaining == 10);
}

BOOST_DATA_TEST_CASE(kinds_of_one_family_read_each_others_state, every_store()) {
    auto s = open_store(sample);
    const auto p = [](const rule& r) { return policy{"p", r.named("r")}; };
    const rule buckets[] = {token_bucket(10, 10, 1h), token_bucket(10, 10, 1h).stepwise(),
                            token_bucket(10, 10, 1h).aligned(), gcra(10, 1h),
                            leaky_bucket(10, 10, 1h)};
    for (const auto& before : buckets) {
        s->reset("bucket", p(before), {.now = at(hour)});
        s->allow("bucket", p(before), {.cost = 7, .now = at(hour)});
        for (const auto& after : buckets)
            BOOST_TEST(s->peek("bucket", p(after), {.now = at(hour)}).remaining == 3);
    }
    s->allow("window", p(fixed_window(10, 1h)), {.cost = 7, .now = at(hour)});
    for (const auto& r : {fixed_window(10, 1h).from_first(), calendar(10, calendar_unit::day)})
        BOOST_TEST(s->peek("window", p(r), {.now = at(hour)}).remaining == 3);
    // Others have nothing to say to each other: the count starts anew.
    BOOST_TEST(s->peek("window", p(gcra(10, 1h)), {.now = at(hour)}).remaining == 10);
}

BOOST_DATA_TEST_CASE(members_stay_counted_when_the_limit_of_distinct_changes, every_store()) {
    auto s = open_store(sample);
    const auto p = [](std::int64_t n, us period) { return policy{"p", distinct(n, period)}; };
    for (const auto* member : {"a", "b", "c"})
        s->allow("k", p(3, 1h), {.member = member, .now = at(hour)});
    const auto ask = [&](const policy& with, std::string_view member) {
        return s->allow("k", with, {.member = member, .now = at(hour + second)});
    };
    BOOST_TEST(ask(p(2, 1h), "d").outcome == outcome::denied);
    BOOST_TEST(ask(p(5, 1h), "d").remaining == 1);
    const auto shorter = ask(p(4, 1min), "e");
    BOOST_TEST(shorter.outcome == outcome::denied);
    BOOST_TEST((shorter.retry_after <= 1min));
    BOOST_TEST(ask(p(4, 1min), "a").outcome == outcome::allowed);
}

BOOST_DATA_TEST_CASE(a_log_that_gets_a_longer_window_knows_what_it_kept, every_store()) {
    auto s = open_store(sample);
    const policy minute{"p", sliding_log(10, 1min).named("a")};
    const policy both{"p", sliding_log(10, 1min).named("a"), sliding_log(20, 1h).named("b")};
    s->allow("k", minute, {.cost = 4, .now = at(hour)});
    const auto d = s->allow("k", both, {.cost = 1, .now = at(hour + 59 * second)});
    BOOST_TEST(d.rules[0].balance == 5);
    BOOST_TEST(d.rules[1].balance == 15);
    BOOST_TEST(s->peek("k", both, {.now = at(hour) + 30min}).rules[1].balance == 15);
    BOOST_TEST(s->peek("k", minute, {.now = at(hour) + 30min}).rules[0].balance == 10);
}

BOOST_DATA_TEST_CASE(a_beginning_of_ones_own_counts_for_new_keys_only, every_store()) {
    auto s = open_store(sample);
    const policy full{"p", token_bucket(10, 10, 1h)};
    const policy from_none{"p", token_bucket(10, 10, 1h).initially(0)};
    s->allow("k", full, {.cost = 3, .now = at(hour)});
    BOOST_TEST(s->peek("k", from_none, {.now = at(hour)}).remaining == 7);
    BOOST_TEST(s->peek("new", from_none, {.now = at(hour)}).remaining == 0);
}

} // namespace

BOOST_AUTO_TEST_SUITE_END()
