// SPDX-License-Identifier: BSL-1.0
//
// The table of leases, with a clock that the test controls and a store that grants what is asked.

#include <limiter/lease_table.hpp>
#include <support/decision_text.hpp>
#include <support/fake_operation.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

BOOST_AUTO_TEST_SUITE(lease_tables)

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

const auto leased = policy{"p", gcra(1'000, 1s)}.with_leases(100ms);

[[nodiscard]] detail::policy_pointer data_of(const policy& p) {
    return detail::access::data(p);
}

[[nodiscard]] detail::call_request cost(std::int64_t n) {
    return {.cost = n, .at_least = n};
}

struct fixture {
    explicit fixture(std::size_t most = 64) : table(most, read_clock) { clock_now = 1'000'000; }

    /// Starts a call. Returns whether a lease decides it.
    bool start(fake_operation& op, const policy& p = leased, std::string_view key = "k") {
        op.kind = detail::call_kind::one;
        const auto data = data_of(p);
        op.key_digest = data->digest(key);
        if (table.try_decide(op, *data))
            return true;
        if (op.lease.is_known) {
            op.fallback.policy = data;
            table.ask(op, *data);
        }
        return false;
    }
    /// Ends a call that was sent now and is heard 1 ms later, of whose further calls so many were
    /// granted.
    void end(fake_operation& op, std::int64_t remaining = 800, std::int64_t granted = -1) {
        auto& d = op.result;
        d = {};
        d.outcome = outcome::allowed;
        d.granted = op.request.cost;
        d.limit = 900;
        d.remaining = remaining;
        d.reset_after = 50ms;
        d.server_time = time_point{5'000s};
        for (std::size_t i = 0; i < op.fallback.policy->compiled.size; ++i)
            detail::access::append(d.rules) = {
                .limit = 900, .balance = remaining, .reset_after = 50ms};
        op.lease.granted = granted < 0 ? op.lease.further_calls : granted;
        op.sent_at = clock_now;
        clock_now += 1'000;
        table.note(op, clock_now);
    }
    /// Makes calls, which the store allows, until a lease of many tokens is held.
    void take_lease(const policy& p = leased, std::string_view key = "k") {
        auto ops = std::deque<fake_operation>(20);
        for (auto& op : ops)
            BOOST_TEST_REQUIRE((!start(op, p, key) || held() > 0U));
        for (auto& op : ops)
            if (op.result.source == decision_source::store)
                end(op);
        auto op = fake_operation{};
        if (!start(op, p, key))
            end(op);
        BOOST_TEST_REQUIRE(held() > 5U);
    }
    /// Returns whether a lease decides a call.
    bool spends(detail::call_request q = {}, const policy& p = leased, std::string_view key = "k") {
        auto op = fake_operation{q};
        return start(op, p, key);
    }
    /// Lets `n` calls come at once, and the store allow them.
    void demand(int n) {
        auto ops = std::deque<fake_operation>(static_cast<std::size_t>(n));
        for (auto& op : ops)
            (void)start(op);
        for (auto& op : ops)
            if (op.result.source == decision_source::store)
                end(op);
    }
    [[nodiscard]] statistics counted() const {
        auto s = statistics{};
        table.add_statistics(s);
        return s;
    }
    [[nodiscard]] std::uint64_t held() const {
        const auto s = counted();
        return s.lease_tokens_taken - s.lease_tokens_spent - s.lease_tokens_lapsed;
    }

    detail::lease_table table;
};

} // namespace

BOOST_FIXTURE_TEST_CASE(a_single_call_asks_for_itself, fixture) {
    for (auto i = 0; i < 10; ++i) {
        auto op = fake_operation{};
        BOOST_TEST(!start(op));
        BOOST_TEST(op.lease.further_calls == 0U);
        end(op);
        clock_now += 200'000;
    }
    BOOST_TEST(counted().leases == 0U);
}

BOOST_FIXTURE_TEST_CASE(the_demand_of_the_last_time_is_leased_and_spent, fixture) {
    demand(8); // the first replies say how much is left
    auto op = fake_operation{};
    BOOST_TEST(!start(op));
    BOOST_TEST(op.lease.further_calls == 5U); // nine calls within 100 ms, less what may lapse
    end(op, 700);
    BOOST_TEST(held() == 5U);

    clock_now += 10'000;
    auto one = fake_operation{};
    BOOST_TEST(start(one));
    BOOST_TEST(one.result.allowed());
    BOOST_TEST((one.result.source == decision_source::lease));
    BOOST_TEST(one.result.granted == 1);
    BOOST_TEST(one.result.limit == 900);
    BOOST_TEST(one.result.remaining == 699); // what the store has left, and the tokens held
    BOOST_TEST((one.result.retry_after == 0us));
    BOOST_TEST((one.result.reset_after == 50ms + 5ms - 10ms));
    BOOST_TEST((one.result.server_time == time_point{5'000s + 10ms}));
    BOOST_TEST_REQUIRE(one.result.rules.size() == 1U);
    BOOST_TEST(one.result.rules[0].balance == 699);
    BOOST_TEST(one.result.rules[0].limit == 900);
    const auto s = counted();
    BOOST_TEST(s.leases == 1U);
    BOOST_TEST(s.lease_tokens_taken == 5U);
    BOOST_TEST(s.lease_tokens_spent == 1U);
    BOOST_TEST(s.lease_tokens_lapsed == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_lease_takes_at_most_a_quarter_of_what_is_left, fixture) {
    auto first = fake_operation{cost(20)};
    BOOST_TEST(!start(first));
    end(first, 17);
    auto others = std::deque<fake_operation>(20);
    for (auto& op : others)
        BOOST_TEST(!start(op));
    BOOST_TEST(others[0].lease.further_calls == 4U);
    for (std::size_t i = 1; i < others.size(); ++i)
        BOOST_TEST(others[i].lease.further_calls == 0U); // one at a time
    end(others[0], 17);
    for (std::size_t i = 1; i < others.size(); ++i)
        end(others[i], 17);
    BOOST_TEST(spends(cost(4)));
    auto next = fake_operation{};
    BOOST_TEST(!start(next));
    BOOST_TEST(next.lease.further_calls == 4U);
    end(next, 3);
    BOOST_TEST(spends(cost(4)));
    auto last = fake_operation{};
    (void)start(last);
    BOOST_TEST(last.lease.further_calls == 0U);
}

BOOST_FIXTURE_TEST_CASE(it_ends_a_thousandth_before_its_length_has_passed_since_it_was_sent,
                        fixture) {
    demand(8);
    auto first = fake_operation{};
    BOOST_TEST(!start(first));
    const auto sent_at = clock_now;
    end(first);
    BOOST_TEST(held() == 5U);
    clock_now = sent_at + 100'000 - 100 - 2;
    auto op = fake_operation{};
    (void)start(op);
    BOOST_TEST(held() > 0U);
    clock_now += 1;
    BOOST_TEST(!spends());
    BOOST_TEST(held() == 0U);
    BOOST_TEST(counted().lease_tokens_lapsed > 0U);
}

BOOST_FIXTURE_TEST_CASE(a_reply_that_comes_too_late_grants_nothing, fixture) {
    demand(8);
    auto op = fake_operation{};
    BOOST_TEST(!start(op));
    BOOST_TEST(op.lease.further_calls == 5U);
    op.sent_at = clock_now;
    const auto sent_at = clock_now;
    end(op);
    BOOST_TEST(held() == 5U);
    table.begin_other(verb::reset, data_of(leased)->digest("k"), *data_of(leased));

    auto late = fake_operation{};
    BOOST_TEST(!start(late));
    BOOST_TEST(late.lease.further_calls > 0U);
    end(late, 800, 0);
    late.lease.is_asking = true;
    late.lease.granted = 3;
    late.sent_at = sent_at;
    clock_now = sent_at + 100'000;
    table.note(late, clock_now);
    BOOST_TEST(held() == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_window_ends_its_leases, fixture) {
    const auto window = policy{"w", fixed_window(1'000, 1s)}.with_leases(100ms);
    take_lease(window);
    // 5,000 s of the store's clock is the beginning of a window; before its end there is less.
    BOOST_TEST(held() > 0U);
    table.begin_other(verb::reset, data_of(window)->digest("k"), *data_of(window));
    auto last = fake_operation{};
    BOOST_TEST(!start(last, window));
    BOOST_TEST_REQUIRE(last.lease.further_calls > 0U);
    last.result.outcome = outcome::allowed;
    last.result.remaining = 800;
    last.result.server_time = time_point{5'000s - 20ms};
    detail::access::append(last.result.rules) = {
        .limit = 1'000, .balance = 800, .reset_after = 20ms};
    last.lease.granted = 3;
    last.sent_at = clock_now;
    table.note(last, clock_now + 1'000);
    BOOST_TEST(held() == 3U);
    clock_now += 20'000 - 20 - 1;
    (void)spends({}, window);
    BOOST_TEST(held() == 0U);
}

BOOST_FIXTURE_TEST_CASE(most_of_a_lease_is_spent_before_the_next_one_is_asked_for, fixture) {
    demand(23);
    auto op = fake_operation{};
    BOOST_TEST(!start(op));
    BOOST_TEST(op.lease.further_calls >= 16U);
    end(op, 800, 16);
    for (auto i = 0; i < 14; ++i)
        BOOST_TEST(spends());
    auto next = fake_operation{}; // would leave less than an eighth of them
    BOOST_TEST(!start(next));
    BOOST_TEST(next.lease.further_calls > 0U);
    // Others spend on while it is under way.
    BOOST_TEST(spends());
    BOOST_TEST(spends());
    BOOST_TEST(!spends());
    end(next);
    BOOST_TEST(spends());
}

BOOST_FIXTURE_TEST_CASE(a_call_that_the_store_does_not_allow_spends_what_is_held, fixture) {
    demand(23);
    auto op = fake_operation{};
    (void)start(op);
    end(op, 800, 16);
    BOOST_TEST(spends(cost(14)));
    auto denied = fake_operation{};
    BOOST_TEST(!start(denied));
    denied.result.outcome = outcome::denied;
    denied.result.remaining = 800;
    denied.sent_at = clock_now;
    table.note(denied, clock_now);
    BOOST_TEST(table.try_settle(denied, false));
    BOOST_TEST((denied.result.source == decision_source::lease));
    auto cancelled = fake_operation{};
    BOOST_TEST(!start(cancelled));
    cancelled.ec = errc::closed;
    table.note(cancelled, clock_now);
    BOOST_TEST(!table.try_settle(cancelled, false));
    BOOST_TEST((cancelled.ec == errc::closed));
    auto failed = fake_operation{};
    BOOST_TEST(!start(failed));
    failed.ec = errc::unavailable;
    table.note(failed, clock_now);
    BOOST_TEST(table.try_settle(failed, true));
    BOOST_TEST(!failed.ec);
}

BOOST_FIXTURE_TEST_CASE(calls_that_are_not_allowed_are_no_demand, fixture) {
    auto first = fake_operation{};
    BOOST_TEST(!start(first));
    end(first, 200);
    clock_now += 1'000'000;
    for (const auto& [q, how] :
         {std::pair{cost(300), outcome::denied}, std::pair{cost(5'000), outcome::never}}) {
        for (auto i = 0; i < 10; ++i) {
            auto op = fake_operation{q};
            BOOST_TEST(!start(op));
            op.result.outcome = how;
            op.result.remaining = 200;
            table.note(op, clock_now);
            BOOST_TEST(!table.try_settle(op, false));
        }
        auto op = fake_operation{};
        BOOST_TEST(!start(op));
        BOOST_TEST(op.lease.further_calls == 0U); // the only one within its length
        end(op, 200);
        clock_now += 1'000'000;
    }
}

BOOST_FIXTURE_TEST_CASE(a_lease_of_another_call_lowers_what_is_left, fixture) {
    demand(8);
    auto asks = fake_operation{};
    BOOST_TEST(!start(asks));
    auto other = fake_operation{};
    BOOST_TEST(!start(other));
    BOOST_TEST(other.lease.further_calls == 0U);
    end(asks, 700);
    end(other, 699, asks.lease.granted); // the same batch: the store has made them after both
    BOOST_TEST(counted().leases == 1U);
    BOOST_TEST(held() == 5U);
    auto op = fake_operation{};
    BOOST_TEST(start(op));
    BOOST_TEST(op.result.remaining == 698);
}

BOOST_FIXTURE_TEST_CASE(a_block_that_the_store_reports_ends_the_lease, fixture) {
    take_lease();
    BOOST_TEST(held() > 0U);
    auto op = fake_operation{cost(500)};
    BOOST_TEST(!start(op));
    op.result.outcome = outcome::denied;
    op.result.reason = denial_reason::block;
    table.note(op, clock_now);
    BOOST_TEST(!table.try_settle(op, false));
    BOOST_TEST(held() == 0U);
}

/// What is held was charged, so other calls do not concern it.
BOOST_FIXTURE_TEST_CASE(calls_that_are_not_leased_keep_what_is_held, fixture) {
    take_lease();
    const auto before = held();
    for (const auto v :
         {verb::charge, verb::refund, verb::reserve, verb::unreserve, verb::peek, verb::inspect})
        BOOST_TEST(!spends({.verb = v}));
    for (const auto& q :
         {detail::call_request{.cost = 2, .at_least = 1}, detail::call_request{.cost = 0},
          detail::call_request{.now = 5'000'000'000},
          detail::call_request{.has_id = true, .id = "request"}})
        BOOST_TEST(!spends(q));
    table.begin_other(verb::allow, data_of(leased)->digest("k"), *data_of(leased));
    BOOST_TEST(held() == before);
    BOOST_TEST(counted().lease_tokens_lapsed == 0U);
}

BOOST_FIXTURE_TEST_CASE(resets_and_blocks_and_other_versions_drop_a_lease_also_one_under_way,
                        fixture) {
    const auto other = policy{"p", gcra(1'000, 1s)};
    const auto shorter = policy{"p", gcra(1'000, 1s)}.with_leases(50ms);
    for (const auto v : {verb::reset, verb::block}) {
        take_lease();
        BOOST_TEST(!spends({.verb = v}));
        BOOST_TEST(held() == 0U);
    }
    for (const auto& p : {other, shorter})
        for (const auto v : {verb::allow, verb::charge, verb::reserve}) {
            take_lease();
            BOOST_TEST(!spends({.verb = v}, p));
            BOOST_TEST(held() == 0U);
        }
    take_lease();
    table.begin_other(verb::allow, data_of(leased)->digest("k"), *data_of(other)); // `allow_all`
    BOOST_TEST(held() == 0U);

    auto op = fake_operation{};
    BOOST_TEST(!start(op));
    BOOST_TEST(op.lease.further_calls > 0U);
    BOOST_TEST(!spends({.verb = verb::block, .cost = 1'000'000}));
    end(op);
    BOOST_TEST(held() == 0U);
    BOOST_TEST(!spends());
}

BOOST_FIXTURE_TEST_CASE(a_peek_asks_the_server_and_keeps_the_lease, fixture) {
    take_lease();
    const auto before = held();
    BOOST_TEST(!spends({.verb = verb::peek}));
    BOOST_TEST(held() == before);
}

BOOST_FIXTURE_TEST_CASE(a_cost_takes_as_many_tokens, fixture) {
    demand(20);
    auto op = fake_operation{cost(2)};
    BOOST_TEST(!start(op));
    BOOST_TEST(op.lease.further_calls == 7U); // 22 tokens, less what may lapse
    end(op, 800, 10);
    BOOST_TEST(held() == 20U);
    BOOST_TEST(spends(cost(5)));
    BOOST_TEST(held() == 15U);
    BOOST_TEST(!spends(cost(16)));
    BOOST_TEST(held() == 15U);
}

BOOST_FIXTURE_TEST_CASE(policies_with_shadow_rules_ask_the_store, fixture) {
    for (const auto& p :
         {leased.shadow(),
          policy{"q", gcra(1'000, 1s), fixed_window(9, 1s).shadow()}.with_leases(100ms)}) {
        BOOST_TEST(!data_of(p)->may_lease);
        for (auto i = 0; i < 9; ++i) {
            auto op = fake_operation{};
            BOOST_TEST(!start(op, p));
            BOOST_TEST(!op.lease.is_known);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_full_table_keeps_the_keys_that_hold_tokens) {
    auto small = fixture{2};
    small.take_lease(leased, "a");
    auto both = fixture{1};
    both.take_lease(leased, "a");
    for (auto i = 0; i < 20; ++i) {
        const auto key = "other" + std::to_string(i);
        auto op = fake_operation{};
        BOOST_TEST(!both.start(op, leased, key));
        BOOST_TEST(!op.lease.is_known);
        auto one = fake_operation{};
        BOOST_TEST(!small.start(one, leased, key)); // takes the place of the one before
        BOOST_TEST(one.lease.is_known);
    }
    BOOST_TEST(both.spends({}, leased, "a"));
    BOOST_TEST(small.spends({}, leased, "a"));
    clock_now += 200'000; // the lease has ended
    auto op = fake_operation{};
    BOOST_TEST(!both.start(op, leased, "other"));
    BOOST_TEST(op.lease.is_known);
    BOOST_TEST(both.held() == 0U);
}

BOOST_FIXTURE_TEST_CASE(clearing_lets_all_lapse, fixture) {
    take_lease();
    BOOST_TEST(held() > 0U);
    table.clear();
    BOOST_TEST(held() == 0U);
    BOOST_TEST(table.is_empty());
    BOOST_TEST(!spends());
}

BOOST_AUTO_TEST_SUITE_END()
