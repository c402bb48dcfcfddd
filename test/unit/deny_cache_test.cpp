// SPDX-License-Identifier: BSL-1.0
//
// Cached denials, with a clock that the test controls.

#include <limiter/deny_cache.hpp>
#include <support/decision_text.hpp>
#include <support/fake_operation.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <string>

BOOST_AUTO_TEST_SUITE(deny_caches)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using detail::verb;
using std::chrono::microseconds;
using test::fake_operation;

std::int64_t clock_now = 0;
[[nodiscard]] std::int64_t read_clock() noexcept {
    return clock_now;
}

const policy rules{"p", gcra(1, 1s).burst(10).named("quick"), fixed_window(100, 1h).named("hour")};

/// Returns a store's decision at 5,000 s of its own clock.
[[nodiscard]] decision denial(microseconds retry_after) {
    auto d = decision{};
    d.limit = 10;
    d.retry_after = retry_after;
    d.reset_after = retry_after + 9s;
    d.server_time = time_point{5'000s};
    colimit::detail::access::append(d.rules) = {
        .limit = 10, .retry_after = retry_after, .reset_after = retry_after + 9s};
    colimit::detail::access::append(d.rules) = {.limit = 100, .balance = 70, .reset_after = 1min};
    return d;
}

[[nodiscard]] hash::digest digest_of(std::string_view key, const policy& p) {
    return detail::access::data(p)->digest(key);
}

[[nodiscard]] bool decides(detail::deny_cache& cache, fake_operation& op,
                           std::string_view key = "k", const policy& p = rules) {
    op.key_digest = digest_of(key, p);
    return cache.try_decide(op, *detail::access::data(p));
}

/// Longer than any denial of these tests, unless they say so.
constexpr std::int64_t long_age = 3'600'000'000;

struct fixture {
    explicit fixture(std::size_t most = 64, std::int64_t max_age = long_age)
        : cache(most, max_age, read_clock) {
        clock_now = 1'000'000;
    }

    /// Returns whether the cache answers; if not, the store says `d`, having been asked at once and
    /// heard 2 ms later.
    bool ask(std::string_view key, detail::call_request q = {}, decision d = denial(1s),
             const policy& p = rules) {
        auto op = fake_operation{q};
        return ask(op, key, d, p);
    }
    bool ask(fake_operation& op, std::string_view key, const decision& d = denial(1s),
             const policy& p = rules) {
        if (decides(cache, op, key, p))
            return true;
        op.sent_at = clock_now;
        op.result = d;
        cache.note(op, clock_now + 2'000);
        return false;
    }
    /// A reply to a call that was made somewhere in the past: it is heard now.
    void hear(fake_operation& op, const decision& d, error_code ec = {}) {
        op.sent_at = clock_now;
        op.result = d;
        op.ec = ec;
        cache.note(op, clock_now);
    }
    /// Starts a call, which the cache must not answer.
    void start(fake_operation& op, std::string_view key = "k", const policy& p = rules) {
        BOOST_TEST(!decides(cache, op, key, p));
    }
    [[nodiscard]] bool answers(std::string_view key, detail::call_request q = {},
                               const policy& p = rules) {
        auto op = fake_operation{q};
        return decides(cache, op, key, p);
    }

    detail::deny_cache cache;
};

[[nodiscard]] detail::call_request cost(std::int64_t n) {
    return {.cost = n, .at_least = n};
}

} // namespace

BOOST_FIXTURE_TEST_CASE(a_denial_answers_the_same_question_until_it_is_almost_over, fixture) {
    BOOST_TEST(!ask("k"));
    BOOST_TEST(answers("k"));
    clock_now += 998'998;
    BOOST_TEST(answers("k"));
    clock_now += 1; // a thousandth before its end, from when it was sent
    BOOST_TEST(!answers("k"));
    BOOST_TEST(cache.size() == 0U);
}

BOOST_FIXTURE_TEST_CASE(it_has_aged_since_it_was_heard, fixture) {
    BOOST_TEST(!ask("k"));
    clock_now += 302'000;
    auto op = fake_operation{};
    BOOST_TEST(ask(op, "k"));
    auto expected = denial(700ms);
    expected.source = decision_source::deny_cache;
    expected.server_time += 300ms;
    expected.rules[1].reset_after = 1min - 300ms;
    BOOST_TEST(op.result == expected);
}

BOOST_FIXTURE_TEST_CASE(it_is_not_older_than_it_is_where_the_reply_has_just_come, fixture) {
    BOOST_TEST(!ask("k"));
    auto op = fake_operation{};
    BOOST_TEST(ask(op, "k")); // by a clock that was read before the reply came
    BOOST_TEST(op.result.retry_after.count() == 1'000'000);
}

BOOST_FIXTURE_TEST_CASE(it_covers_larger_costs_and_no_smaller_ones, fixture) {
    BOOST_TEST(!ask("k", cost(3)));
    BOOST_TEST(answers("k", cost(4)));
    BOOST_TEST(answers("k", {.cost = 9, .at_least = 3}));
    BOOST_TEST(!answers("k", cost(2)));
    BOOST_TEST(!answers("k", {.cost = 9, .at_least = 1}));
    BOOST_TEST(!answers("k", cost(11))); // never, which the store will say
    BOOST_TEST(answers("k", cost(10)));
}

BOOST_FIXTURE_TEST_CASE(of_two_denials_the_one_of_the_smaller_cost_stays, fixture) {
    auto large = fake_operation{cost(5)};
    auto small = fake_operation{cost(2)};
    for (auto* op : {&large, &small})
        BOOST_TEST(!decides(cache, *op));
    for (auto* op : {&small, &large}) {
        op->sent_at = clock_now;
        op->result = denial(op == &small ? 1s : 4s);
        cache.note(*op, clock_now);
    }
    BOOST_TEST(answers("k", cost(2)));
    clock_now += 1'000'000;
    BOOST_TEST(!answers("k", cost(5)));
}

BOOST_FIXTURE_TEST_CASE(keys_policies_and_prefixes_are_told_apart, fixture) {
    BOOST_TEST(!ask("k"));
    BOOST_TEST(!answers("K"));
    BOOST_TEST(!answers("k", {}, policy("q", gcra(1, 1s).burst(10))));
    BOOST_TEST(!answers("k", {}, rules.with_prefix("other")));
    BOOST_TEST(answers("k"));
}

BOOST_FIXTURE_TEST_CASE(what_changes_the_key_ends_it_and_what_only_asks_does_not, fixture) {
    for (const auto v :
         {verb::refund, verb::reset, verb::unreserve, verb::charge, verb::block, verb::reserve}) {
        BOOST_TEST(!ask("k"));
        BOOST_TEST(answers("k"));
        BOOST_TEST(!answers("k", {.verb = v}));
        BOOST_TEST(!answers("k"));
    }
    BOOST_TEST(!ask("k", cost(3)));
    BOOST_TEST(!ask("k", {.verb = verb::peek}));
}

BOOST_FIXTURE_TEST_CASE(any_later_reply_but_a_denial_ends_it, fixture) {
    const auto granted = decision{.outcome = outcome::allowed, .server_time = {}, .rules = {}};
    auto whole = granted;
    whole.granted = 1;
    auto never = denial(1s);
    never.outcome = outcome::never;
    never.server_time += 1s;
    never.retry_after = never_again;
    for (const auto& [q, d] :
         {std::pair{cost(0), granted}, std::pair{cost(1), whole}, std::pair{cost(11), never}}) {
        for (const auto v : {verb::allow, verb::peek}) {
            auto asked = q;
            asked.verb = v;
            BOOST_TEST(!ask("k", cost(3)));
            BOOST_TEST(!ask("k", asked, d));
            BOOST_TEST(!answers("k", cost(3)));
        }
    }
    const auto other_clock = detail::call_request{.now = 1'700'000'000'000'000};
    BOOST_TEST(!ask("k"));
    BOOST_TEST(!ask("k", other_clock));
    BOOST_TEST(!answers("k"));
}

BOOST_FIXTURE_TEST_CASE(what_the_same_batch_says_of_other_costs_leaves_it, fixture) {
    auto quota = denial(0s);
    quota.outcome = outcome::allowed;
    quota.granted = 2;
    BOOST_TEST(!ask("k", cost(3)));
    BOOST_TEST(!ask("k", {.verb = verb::peek, .cost = 2, .at_least = 2}, quota));
    BOOST_TEST(answers("k", cost(3)));
    BOOST_TEST(!ask("k", {.verb = verb::peek, .cost = 4, .at_least = 4}, denial(7s)));
    BOOST_TEST(answers("k", cost(3)));
    BOOST_TEST(!ask("k", {.verb = verb::peek, .cost = 3, .at_least = 3}, quota));
    BOOST_TEST(!answers("k", cost(3)));
    BOOST_TEST(!ask("k", cost(3)));
    BOOST_TEST(!ask("k", cost(2), quota)); // a grant
    BOOST_TEST(!answers("k", cost(3)));
}

BOOST_FIXTURE_TEST_CASE(a_later_denial_replaces_it, fixture) {
    const auto peek = [](std::int64_t n) {
        return detail::call_request{.verb = verb::peek, .cost = n, .at_least = n};
    };
    auto fresh = denial(5s);
    fresh.server_time += 1s;
    for (const auto& q : {peek(1), peek(4), cost(2)}) {
        BOOST_TEST(!ask("k", {.verb = verb::reset}));
        BOOST_TEST(!ask("k", cost(3), denial(9s)));
        BOOST_TEST(!ask("k", q, fresh));
        BOOST_TEST(cache.size() == 1U);
        auto op = fake_operation{cost(q.cost)};
        BOOST_TEST(ask(op, "k"));
        BOOST_TEST((op.result.retry_after == 5s));
        BOOST_TEST(!answers("k", cost(q.cost - 1)));
    }
}

BOOST_FIXTURE_TEST_CASE(a_peek_remembers_nothing_where_nothing_was, fixture) {
    BOOST_TEST(!ask("k", {.verb = verb::peek}));
    BOOST_TEST(cache.size() == 0U);
    BOOST_TEST(!ask("k"));
    const policy raised{"p", gcra(10, 1s).burst(100)};
    auto peek = fake_operation{{.verb = verb::peek}};
    start(peek, "k", raised);
    BOOST_TEST(!ask("k"));
    hear(peek, denial(1s)); // under other rules
    BOOST_TEST(cache.size() == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_denial_ends_when_it_has_the_greatest_age, fixture) {
    cache = detail::deny_cache{64, 5'000, read_clock};
    BOOST_TEST(!ask("k", {}, denial(1h)));
    clock_now += 4'999;
    BOOST_TEST(answers("k"));
    clock_now += 1;
    BOOST_TEST(!answers("k"));
    BOOST_TEST(!ask("k", {}, denial(3ms))); // one that ends sooner does so
    clock_now += 3'000;
    BOOST_TEST(!answers("k"));
    cache = detail::deny_cache{64, 2'000, read_clock};
    BOOST_TEST(!ask("k", {}, denial(1h))); // heard when it is as old
    BOOST_TEST(cache.size() == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_call_whose_outcome_is_unknown_ends_it, fixture) {
    for (const auto v : {verb::allow, verb::refund, verb::reset, verb::unreserve, verb::charge,
                         verb::block, verb::reserve, verb::once}) {
        auto lost = fake_operation{{.verb = v}};
        auto flying = fake_operation{};
        start(lost);
        start(flying);
        BOOST_TEST(!ask("k")); // which may have overtaken it
        hear(lost, {}, errc::outcome_unknown);
        BOOST_TEST(!answers("k"));
        hear(flying, denial(1s));
        BOOST_TEST(!answers("k"));
        BOOST_TEST(!ask("k"));
        BOOST_TEST(answers("k"));
        BOOST_TEST(!answers("k", {.verb = verb::reset}));
    }
    auto peek = fake_operation{{.verb = verb::peek}};
    start(peek);
    BOOST_TEST(!ask("k"));
    hear(peek, {}, errc::unavailable);
    BOOST_TEST(answers("k"));
}

/// A check of `allow_all` on "k".
struct one_check {
    explicit one_check(fixture& f, std::int64_t n = 1, const policy& p = rules)
        : c{.key = "k", .policy = p, .options = {.cost = n}}, key(digest_of("k", p)),
          begun(f.cache.begin_check(key, *detail::access::data(p), c.options)), cache(f.cache) {}

    void hear(const decision& d, error_code ec = {}) {
        c.result = d;
        op.ec = ec;
        op.sent_at = clock_now;
        cache.note_check(op, c, key, begun, clock_now);
    }

    fake_operation op;
    check_item c;
    hash::digest key;
    detail::deny_cache_note begun;
    detail::deny_cache& cache;
};

BOOST_FIXTURE_TEST_CASE(a_check_of_allow_all_ends_or_replaces_it_as_a_call_does, fixture) {
    auto granted = decision{.outcome = outcome::allowed, .server_time = {}, .rules = {}};
    for (const auto n : {0, 1}) { // 0: another check was denied
        granted.granted = n;
        auto before = one_check{*this}; // answered before the denial, and after it
        BOOST_TEST(!ask("k", cost(3)));
        BOOST_TEST(answers("k", cost(3)));
        before.hear(granted);
        BOOST_TEST(!answers("k", cost(3)));
        auto after = one_check{*this};
        after.hear(granted);
        BOOST_TEST(!ask("k", cost(3)));
        BOOST_TEST(answers("k", cost(3)));
        BOOST_TEST(!answers("k", {.verb = verb::reset}));
    }
    auto denied = one_check{*this};
    denied.hear(denial(1s));
    BOOST_TEST(cache.size() == 0U);
    BOOST_TEST(!ask("k", cost(3)));
    auto later = denial(7s);
    later.server_time += 1s;
    one_check{*this, 2}.hear(later);
    auto op = fake_operation{cost(2)};
    BOOST_TEST(ask(op, "k"));
    BOOST_TEST((op.result.retry_after == 7s));
    one_check{*this}.hear({}, errc::outcome_unknown);
    BOOST_TEST(!answers("k", cost(2)));
}

BOOST_FIXTURE_TEST_CASE(a_check_that_was_under_way_when_something_was_given_back_replaces_nothing,
                        fixture) {
    auto denied = one_check{*this};
    auto back = fake_operation{{.verb = verb::refund}};
    start(back);
    BOOST_TEST(!ask("k"));
    denied.hear(denial(1s));
    BOOST_TEST(!answers("k"));
}

BOOST_FIXTURE_TEST_CASE(a_denial_that_was_under_way_when_something_was_given_back_is_not_kept,
                        fixture) {
    auto asked = fake_operation{};
    auto back = fake_operation{{.verb = verb::refund}};
    BOOST_TEST(!decides(cache, asked));
    BOOST_TEST(!decides(cache, back));
    asked.sent_at = clock_now;
    asked.result = denial(1s);
    cache.note(asked, clock_now);
    BOOST_TEST(!answers("k"));
    auto later = fake_operation{};
    BOOST_TEST(!ask(later, "k"));
    BOOST_TEST(answers("k"));
    cache.note(back, clock_now); // whichever of the two the server did first
    BOOST_TEST(!answers("k"));
}

BOOST_FIXTURE_TEST_CASE(other_rules_end_it_when_they_are_asked_and_when_they_are_answered,
                        fixture) {
    const policy raised{"p", gcra(10, 1s).burst(100)};
    BOOST_TEST(!ask("k"));
    BOOST_TEST(!answers("k", {.verb = verb::peek}, raised));
    BOOST_TEST(!answers("k"));

    auto changed = fake_operation{};
    BOOST_TEST(!decides(cache, changed, "k", raised));
    BOOST_TEST(!ask("k"));
    BOOST_TEST(answers("k"));
    changed.result.outcome = outcome::allowed;
    cache.note(changed, clock_now);
    BOOST_TEST(!answers("k"));

    BOOST_TEST(!ask("k"));
    const auto same = one_check{*this};
    BOOST_TEST(answers("k"));
    const auto others = one_check{*this, 1, raised};
    BOOST_TEST(!answers("k"));
}

BOOST_FIXTURE_TEST_CASE(what_is_no_plain_denial_is_not_kept, fixture) {
    auto allowed = denial(0s);
    allowed.outcome = outcome::allowed;
    auto never = denial(1s);
    never.retry_after = never_again;
    never.outcome = outcome::never;
    auto local = denial(1s);
    local.source = decision_source::fallback;
    for (const auto& d : {allowed, never, local, denial(1us), denial(1ms)})
        BOOST_TEST(!ask("k", {}, d));
    BOOST_TEST(!ask("k", {.now = 1'700'000'000'000'000}));
    auto failed = fake_operation{};
    BOOST_TEST(!decides(cache, failed));
    failed.ec = errc::outcome_unknown;
    failed.sent_at = clock_now;
    failed.result = denial(1s);
    cache.note(failed, clock_now);
    BOOST_TEST(cache.size() == 0U);

    const policy members{"members", distinct(5, 1h)};
    const policy counted{"counted", sliding_log(5, 1h).count_denied()};
    for (const auto* p : {&members, &counted}) {
        BOOST_TEST(!ask("k", {}, denial(1s), *p));
        BOOST_TEST(!answers("k", {}, *p));
    }
}

BOOST_FIXTURE_TEST_CASE(a_supplied_clock_is_not_answered, fixture) {
    BOOST_TEST(!ask("k"));
    BOOST_TEST(!answers("k", {.now = 1'700'000'000'000'000}));
    BOOST_TEST(answers("k"));
}

BOOST_FIXTURE_TEST_CASE(the_longest_wait_there_is_does_not_overflow, fixture) {
    BOOST_TEST(!ask("k", {}, denial(limits::max_recovery)));
    BOOST_TEST(answers("k"));
}

BOOST_FIXTURE_TEST_CASE(a_rule_that_never_allows_does_not_age, fixture) {
    auto d = denial(1s);
    d.rules[1].retry_after = never_again;
    BOOST_TEST(!ask("k", {}, d));
    clock_now += 500'000;
    auto op = fake_operation{};
    BOOST_TEST(ask(op, "k"));
    BOOST_TEST((op.result.rules[1].retry_after == never_again));
}

BOOST_AUTO_TEST_CASE(it_holds_no_more_than_it_may_and_a_newcomer_always_finds_a_place) {
    for (const auto most : {1U, 2U, 7U, 8U, 9U, 63U, 64U}) {
        auto f = fixture{most};
        for (int i = 0; i < 1'000; ++i) {
            const auto key = std::to_string(i);
            BOOST_TEST(!f.ask(key, {}, denial(1s + microseconds{i})));
            BOOST_TEST(f.answers(key));
            BOOST_TEST(f.cache.size() <= most);
        }
    }
}

BOOST_AUTO_TEST_CASE(in_a_full_row_the_one_that_ends_first_gives_way) {
    auto row = fixture{8};
    for (int i = 0; i < 8; ++i)
        BOOST_TEST(!row.ask(std::to_string(i), {}, denial(10s - i * 1s)));
    BOOST_TEST(!row.ask("new", {}, denial(20s)));
    BOOST_TEST(!row.answers("7"));
    for (int i = 0; i < 7; ++i)
        BOOST_TEST(row.answers(std::to_string(i)));
}

BOOST_AUTO_TEST_SUITE_END()
