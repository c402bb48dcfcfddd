// SPDX-License-Identifier: BSL-1.0
//
// The holders of slots in the in-process store: with other rules, in a full store, after the clock
// was set, and under other versions of their policy.

#include "memory_clocked_store.hpp"

#include <support/rng.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <map>
#include <string>

BOOST_AUTO_TEST_SUITE(memory_slots)

using namespace std::chrono_literals;
using colimit::concurrent;
using colimit::decision;
using colimit::fixed_window;
using colimit::gcra;
using colimit::policy;
using colimit::sliding_log;
using colimit::core::verb;
using colimit::test::clocked_store;

namespace {

const policy two{"p", concurrent(2).lease(10s)};
const policy filler{"filler", gcra(5, 1h)};

[[nodiscard]] std::string id_of(int holder) {
    auto id = std::to_string(holder);
    id.resize(colimit::detail::holder_bytes, '.');
    return id;
}

struct holders : clocked_store {
    explicit holders(std::size_t states = 1'000) : clocked_store(states) {}

    decision hold(verb v, int holder, const policy& p, std::int64_t cost = 1) {
        const auto id = id_of(holder);
        const auto amount = v == verb::acquire ? cost : 0;
        return ask({.verb = v,
                    .cost = amount,
                    .at_least = amount,
                    .now = now(),
                    .member = id,
                    .has_member = true},
                   "k", p);
    }
    bool acquire(int holder, const policy& p, std::int64_t cost = 1) {
        return hold(verb::acquire, holder, p, cost).allowed();
    }
    bool renew(int holder, const policy& p) { return hold(verb::renew, holder, p).allowed(); }
    void release(int holder, const policy& p) { (void)hold(verb::release, holder, p); }
    [[nodiscard]] std::int64_t used(const policy& p) {
        const auto d = ask(verb::peek, "k", p, 0);
        return d.rules[0].limit - d.rules[0].balance;
    }
    /// Takes all states of the store.
    void fill() { flood("f", 3'000, filler); }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_slot_is_free_when_it_is_released_or_its_lease_has_ended) {
    auto s = holders{};
    BOOST_TEST(s.acquire(1, two));
    s.advance(4s);
    BOOST_TEST(s.acquire(2, two));
    const auto denied = s.hold(verb::acquire, 3, two);
    BOOST_TEST((denied.outcome == colimit::outcome::denied));
    BOOST_TEST((denied.retry_after == 6s));
    BOOST_TEST((denied.reset_after == 10s));
    BOOST_TEST(s.used(two) == 2);
    s.release(2, two);
    BOOST_TEST(s.acquire(3, two));
    s.advance(6s);
    BOOST_TEST(!s.renew(1, two));
    BOOST_TEST(s.acquire(4, two));
    BOOST_TEST(s.renew(3, two));
    BOOST_TEST(!s.acquire(5, two));
    s.release(5, two); // it has none
    BOOST_TEST(s.used(two) == 2);
    s.advance(10s);
    BOOST_TEST(s.used(two) == 0);
    (void)s.ask(verb::reset, "k", two);
    BOOST_TEST(s.states() == 0U);
}

BOOST_AUTO_TEST_CASE(nothing_is_kept_of_a_key_whose_slots_are_free) {
    auto s = holders{};
    BOOST_TEST(s.acquire(1, two));
    BOOST_TEST(s.states() > 0U);
    s.release(1, two);
    BOOST_TEST(s.states() == 0U);
    BOOST_TEST(!s.renew(1, two));
    BOOST_TEST(s.states() == 0U);
}

BOOST_AUTO_TEST_CASE(other_rules_deny_without_a_trace_and_keep_their_charges) {
    const policy p{"p", concurrent(5).lease(10s), fixed_window(3, 1h).from_first(),
                   sliding_log(3, 1h)};
    auto s = holders{};
    BOOST_TEST(!s.acquire(1, p, 4));
    BOOST_TEST(s.states() == 0U);
    BOOST_TEST(s.acquire(1, p, 2));
    BOOST_TEST(!s.acquire(2, p, 2));
    BOOST_TEST(s.used(p) == 1);
    s.release(1, p);
    BOOST_TEST(!s.acquire(2, p, 2));
    BOOST_TEST(s.acquire(2, p, 1));
    s.advance(10s);
    BOOST_TEST(s.used(p) == 0);
    BOOST_TEST(!s.acquire(2, p, 1));
    BOOST_TEST(s.acquire(2, p, 0));
}

BOOST_AUTO_TEST_CASE(a_full_store_refuses_slots_and_keeps_those_that_are_held) {
    const policy with_log{"q", concurrent(40).lease(1h), sliding_log(100, 1h)};
    for (const auto& p : {policy{"p", concurrent(40).lease(1h)}, with_log}) {
        auto s = holders{200};
        BOOST_TEST(s.acquire(0, p));
        s.fill();
        auto granted = 1;
        for (int i = 1; i < 40; ++i) {
            const auto is_granted = s.acquire(i, p);
            granted += is_granted ? 1 : 0;
            BOOST_TEST(s.lacks_memory() == !is_granted);
            BOOST_TEST((s.fencing_token() != 0) == is_granted);
        }
        BOOST_TEST(granted < 40);
        BOOST_TEST(s.used(p) == granted);
        BOOST_TEST(s.renew(0, p));
        BOOST_TEST(s.states() <= 200U);
        // A key without a slot in the store gets none.
        auto other = holders{200};
        other.fill();
        BOOST_TEST(!other.acquire(1, p));
        BOOST_TEST(other.lacks_memory());
        BOOST_TEST(other.used(p) == 0);
        BOOST_TEST(!other.renew(1, p));
    }
}

/// A denial says when a slot is free, which is known only of a limit that is reached.
BOOST_AUTO_TEST_CASE(a_full_store_denies_what_the_limit_denies) {
    auto s = holders{200};
    BOOST_TEST(s.acquire(0, policy{"p", concurrent(40).lease(1h)}));
    s.fill();
    for (int i = 1; i < 40 && s.acquire(i, policy{"p", concurrent(40).lease(1h)}); ++i) {
    }
    BOOST_TEST(s.lacks_memory());
    const policy one{"p", concurrent(1).lease(1h)};
    const auto denied = s.hold(verb::acquire, 41, one);
    BOOST_TEST(!s.lacks_memory());
    BOOST_TEST((denied.outcome == colimit::outcome::denied));
    BOOST_TEST((denied.retry_after == 1h));
}

/// It would have to remember the holder that it lets pass.
BOOST_AUTO_TEST_CASE(a_shadow_rule_gives_no_slot_that_is_not_remembered) {
    const policy p{"p", concurrent(1).lease(1h).shadow(), gcra(50, 1h)};
    auto s = holders{200};
    BOOST_TEST(s.acquire(0, p));
    BOOST_TEST(s.acquire(1, p));
    s.fill();
    auto held = 2;
    while (held < 100 && s.acquire(held, p))
        ++held;
    BOOST_TEST(held < 100);
    BOOST_TEST(s.lacks_memory());
    const auto d = s.ask(verb::peek, "k", p, 0);
    BOOST_TEST(d.rules[0].balance == 1 - held);
    BOOST_TEST(d.rules[1].balance == 50 - held); // nothing was charged
}

/// The state of such a key, here from a version without slots, stays a shared one also if there is
/// room again, and has no holders.
BOOST_AUTO_TEST_CASE(a_key_whose_state_must_stay_shared_gets_no_slot) {
    for (const auto& beside :
         {fixed_window(50, 10h).from_first(), colimit::token_bucket(50, 5, 10h).stepwise(),
          gcra(50, 10h).initially(40)}) {
        const policy p{"p", concurrent(1).lease(1h), beside};
        auto s = holders{200};
        s.fill();
        (void)s.ask({.verb = verb::charge, .cost = 5, .now = s.now()}, "k", policy{"p", beside});
        s.advance(30min); // the others have recovered
        for (const auto holder : {1, 2}) {
            BOOST_TEST(!s.acquire(holder, p), to_string(beside));
            BOOST_TEST(s.lacks_memory());
            BOOST_TEST(s.fencing_token() == 0);
        }
        // Nothing was charged without a slot.
        BOOST_TEST(s.ask(verb::peek, "k", p, 0).rules[1].balance >= 35);
        s.advance(30h);
        BOOST_TEST(s.acquire(1, p));
        BOOST_TEST(s.used(p) == 1);
    }
}

BOOST_AUTO_TEST_CASE(holders_that_must_be_forgotten_block_their_slots_until_their_leases_end) {
    const policy p{"p", concurrent(5).lease(1h)};
    auto s = holders{200};
    BOOST_TEST(s.acquire(0, p));
    s.fill();
    (void)s.ask(verb::block, "k", p, 1'000'000); // there is no cell for the block
    s.advance(2s);
    if (!s.renew(0, p)) {
        BOOST_TEST(!s.acquire(1, p));
        BOOST_TEST(s.used(p) == 5);
    }
    s.advance(1h);
    s.advance(1h);
    BOOST_TEST(s.acquire(1, p));
}

BOOST_AUTO_TEST_CASE(a_clock_that_is_set_back_holds_no_slot_for_longer_than_a_lease) {
    auto s = holders{};
    BOOST_TEST(s.acquire(1, two));
    BOOST_TEST(s.acquire(2, two));
    s.advance(-1h);
    BOOST_TEST(!s.acquire(3, two));
    s.advance(10s);
    BOOST_TEST(s.acquire(3, two));
    s.advance(2h);
    BOOST_TEST(s.used(two) == 0);
}

BOOST_AUTO_TEST_CASE(tokens_grow_when_time_stands_still_and_nothing_is_kept_of_the_key) {
    auto s = holders{};
    auto last = std::uint64_t{0};
    for (const auto by : {0us, 0us, 1us, std::chrono::microseconds{-1h}, 0us}) {
        s.advance(by);
        BOOST_TEST(s.acquire(1, two));
        BOOST_TEST(s.fencing_token() > last);
        last = s.fencing_token();
        s.release(1, two);
        BOOST_TEST(s.states() == 0U);
    }
    BOOST_TEST(s.acquire(1, two));
    (void)s.ask(verb::reset, "k", two, 0);
    BOOST_TEST(s.acquire(2, two));
    BOOST_TEST(s.fencing_token() == last + 2);
}

BOOST_AUTO_TEST_CASE(versions_of_a_policy_read_the_same_holders) {
    const policy three{"p", concurrent(3).lease(1s)};
    const policy none{"p", gcra(5, 1h)};
    auto s = holders{};
    BOOST_TEST(s.acquire(1, two));
    BOOST_TEST(s.acquire(2, two));
    BOOST_TEST(s.acquire(3, three));
    BOOST_TEST(!s.acquire(4, three));
    BOOST_TEST(!s.acquire(4, two));
    (void)s.allow("k", none); // which drops them
    BOOST_TEST(s.used(two) == 0);
}

BOOST_AUTO_TEST_CASE(random_calls_never_exceed_the_limit_and_leave_nothing) {
    auto random = colimit::test::rng{7};
    const policy p{"p", concurrent(7).lease(10s), gcra(50, 1s)};
    auto s = holders{};
    auto ends = std::map<int, std::int64_t>{};
    for (int i = 0; i < 20'000; ++i) {
        s.advance(std::chrono::milliseconds{random.below(400)});
        std::erase_if(ends, [&](const auto& h) { return h.second <= s.now(); });
        const auto who = static_cast<int>(random.below(20));
        const auto end = s.now() + 10'000'000;
        switch (random.below(3)) {
        case 0:
            if (s.acquire(who, p))
                ends[who] = end;
            else
                BOOST_TEST((ends.size() == 7U && !ends.contains(who)));
            break;
        case 1:
            BOOST_TEST(s.renew(who, p) == ends.contains(who));
            if (ends.contains(who))
                ends[who] = end;
            break;
        default:
            s.release(who, p);
            ends.erase(who);
        }
        BOOST_TEST(s.used(p) == static_cast<std::int64_t>(ends.size()));
        BOOST_TEST(ends.size() <= 7U);
    }
    (void)s.ask(verb::reset, "k", p);
    BOOST_TEST(s.states() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
