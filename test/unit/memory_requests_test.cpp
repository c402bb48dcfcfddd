// SPDX-License-Identifier: BSL-1.0
//
// Request ids in the in-process store: one decision per id, until it is forgotten.

#include <colimit/policy.hpp>
#include <differential/random_policy.hpp>
#include <memory/store.hpp>
#include <support/decision_text.hpp>
#include <support/rng.hpp>
#include <support/rules_of_every_kind.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

BOOST_AUTO_TEST_SUITE(memory_requests)

using namespace std::chrono_literals;
using namespace std::string_literals;
using namespace colimit;
using core::call_request;
using core::verb;
using detail::fault;

namespace {

constexpr auto ttl = 300'000'000;

const auto five = policy{"five", gcra(5, 1h)};

/// A store whose clock the test moves.
class clocked {
  public:
    explicit clocked(std::size_t states) : store_(states, std::chrono::microseconds{ttl}) {}

    std::int64_t now = 1'700'000'000'000'000;

    fault once(std::string_view id, call_request request, std::string_view key, const policy& p,
               decision& result) {
        const auto& data = *detail::access::data(p);
        request.has_id = true;
        request.id = id;
        request.now = now;
        return store_.decide_once(data.digest(key), data, request, result);
    }
    fault once(std::string_view id, verb v, std::string_view key, const policy& p,
               std::int64_t cost = 1) {
        auto ignored = decision{};
        return once(id, {.verb = v, .cost = cost, .at_least = cost}, key, p, ignored);
    }
    decision made(std::string_view id, verb v, std::string_view key, const policy& p,
                  std::int64_t cost = 1) {
        auto result = decision{};
        BOOST_TEST(
            (once(id, {.verb = v, .cost = cost, .at_least = cost}, key, p, result) == fault::none));
        return result;
    }
    decision ask(call_request request, std::string_view key, const policy& p) {
        auto result = decision{};
        request.now = now;
        store_.decide(key, *detail::access::data(p), request, result);
        return result;
    }
    decision allow(std::string_view key, const policy& p) {
        return ask({.verb = verb::allow}, key, p);
    }
    std::int64_t remaining(std::string_view key, const policy& p) {
        return ask({.verb = verb::peek}, key, p).remaining;
    }
    [[nodiscard]] local_statistics statistics() const { return store_.statistics(); }

  private:
    memory::store store_;
};

[[nodiscard]] call_request any_request(test::rng& d) {
    static constexpr verb verbs[] = {verb::allow, verb::allow, verb::allow, verb::charge,
                                     verb::refund};
    static constexpr std::string_view members[] = {"ann", "bob", "eve"};
    const auto v = d.pick(verbs);
    const auto cost = d.percent(90) ? d.between(0, 3) : d.magnitude(limits::max_exact_integer);
    const auto is_partial = v == verb::allow && d.percent(30);
    return {.verb = v,
            .cost = cost,
            .at_least = is_partial ? d.between(0, cost) : cost,
            .member = d.pick(members),
            .has_member = true};
}

/// Policies that a call with an id may have, so none with slots.
[[nodiscard]] policy any_policy(test::rng& d, bool quick, bool packed) {
    while (true) {
        const auto made = differential::random_versions(d, quick, packed).front();
        if (!detail::access::data(made)->compiled.has_slots)
            return made;
    }
}

/// The arguments of a call that its id may not change.
[[nodiscard]] std::string text_of(const call_request& r, const policy& p) {
    const auto counts = detail::access::data(p)->compiled.has_distinct;
    return std::to_string(static_cast<int>(r.verb)) + ' ' + std::to_string(r.cost) + ' ' +
           std::to_string(r.at_least) + ' ' + (counts ? std::string{r.member} : ""s);
}

} // namespace

/// Two stores get the same calls, and one of them gets each id once only.
BOOST_AUTO_TEST_CASE(an_id_gets_one_decision_under_every_policy) {
    struct known {
        std::string arguments;
        decision result;
        std::int64_t since;
    };
    auto d = test::rng{1};
    auto repeated = 0;
    auto changed = 0;
    auto forgotten = 0;
    for (auto round = 0; round < 300; ++round) {
        const auto quick = d.percent(70);
        const auto p = any_policy(d, quick, d.percent(20));
        auto store = clocked{100'000};
        auto reference = clocked{100'000};
        auto ids = std::map<std::string, known>{};
        for (auto call = 0; call < 200; ++call) {
            static constexpr std::int64_t steps[] = {0, 1, 999, 1'000'000, 60'000'000, ttl};
            reference.now = store.now += d.percent(80) ? d.pick(steps) / 10 : 0;
            const auto key = std::to_string(d.below(3));
            auto request = any_request(d);
            if (d.percent(30)) {
                BOOST_REQUIRE_EQUAL(test::text_of(store.ask(request, key, p)),
                                    test::text_of(reference.ask(request, key, p)));
                continue;
            }
            const auto id = std::to_string(d.below(20));
            const auto arguments = text_of(request, p);
            auto& entry = ids[key + '/' + id];
            const auto is_known = !entry.arguments.empty() && store.now < entry.since + ttl;
            auto got = decision{};
            const auto how = store.once(id, request, key, p, got);
            if (!is_known) {
                forgotten += entry.arguments.empty() ? 0 : 1;
                entry = {arguments, reference.ask(request, key, p), reference.now};
            }
            if (entry.arguments != arguments) {
                ++changed;
                BOOST_REQUIRE((how >= fault::other_verb && how <= fault::other_policy));
                continue;
            }
            repeated += is_known ? 1 : 0;
            BOOST_REQUIRE((how == fault::none));
            BOOST_REQUIRE_EQUAL(test::text_of(got), test::text_of(entry.result));
            BOOST_REQUIRE((got == entry.result));
        }
    }
    BOOST_TEST(repeated > 1'000);
    BOOST_TEST(changed > 1'000);
    BOOST_TEST(forgotten > 100);
}

BOOST_AUTO_TEST_CASE(a_repeated_id_charges_nothing_whatever_the_key_has_become) {
    for (const auto& r : test::rules_of_every_kind(5, 24h)) {
        auto s = clocked{1'000};
        const auto p = policy{"p", r};
        const auto first = s.made("id", verb::allow, "k", p, 5);
        BOOST_TEST(first.allowed());
        const auto denied = s.made("other", verb::allow, "k", p);
        BOOST_TEST(!denied.allowed());
        s.now += 1'000'000;
        BOOST_TEST((s.made("id", verb::allow, "k", p, 5) == first));
        (void)s.ask({.verb = verb::reset, .cost = 0, .at_least = 0}, "k", p);
        BOOST_TEST((s.made("id", verb::allow, "k", p, 5) == first));
        BOOST_TEST((s.made("other", verb::allow, "k", p) == denied));
        BOOST_TEST(s.remaining("k", p) == 5);
    }
}

BOOST_AUTO_TEST_CASE(a_charge_and_a_refund_happen_once) {
    auto s = clocked{1'000};
    const auto charged = s.made("charge", verb::charge, "k", five, 4);
    const auto refunded = s.made("refund", verb::refund, "k", five, 2);
    for (auto i = 0; i < 3; ++i) {
        BOOST_TEST((s.made("charge", verb::charge, "k", five, 4) == charged));
        BOOST_TEST((s.made("refund", verb::refund, "k", five, 2) == refunded));
    }
    BOOST_TEST(s.remaining("k", five) == 3);
}

BOOST_AUTO_TEST_CASE(an_id_belongs_to_its_key_and_policy) {
    const auto other = policy{"other", gcra(5, 1h)};
    auto s = clocked{1'000};
    (void)s.made("id", verb::allow, "k", five);
    (void)s.made("id", verb::allow, "k", other);
    (void)s.made("id", verb::allow, "l", five);
    (void)s.made("id2", verb::allow, "k", five);
    BOOST_TEST(s.remaining("k", five) == 3);
    BOOST_TEST(s.remaining("l", five) == 4);
    BOOST_TEST(s.remaining("k", other) == 4);
}

BOOST_AUTO_TEST_CASE(an_id_is_refused_for_another_call) {
    auto s = clocked{1'000};
    (void)s.made("id", verb::allow, "k", five, 2);
    auto result = decision{};
    const std::pair<call_request, fault> others[] = {
        {{.verb = verb::allow, .cost = 1, .at_least = 1}, fault::other_cost},
        {{.verb = verb::allow, .cost = 2, .at_least = 1}, fault::other_at_least},
        {{.verb = verb::charge, .cost = 2, .at_least = 2}, fault::other_verb},
        {{.verb = verb::refund, .cost = 2, .at_least = 2}, fault::other_verb}};
    for (const auto& [other, expected] : others)
        BOOST_TEST((s.once("id", other, "k", five, result) == expected));
    BOOST_TEST(
        (s.once("id", verb::allow, "k", policy{"five", gcra(6, 1h)}, 2) == fault::other_policy));
    BOOST_TEST(s.remaining("k", five) == 3);

    const auto members = policy{"members", distinct(5, 1h)};
    const auto by = [](std::string_view member) {
        return call_request{.verb = verb::allow, .member = member, .has_member = true};
    };
    BOOST_TEST((s.once("id", by("ann"), "k", members, result) == fault::none));
    BOOST_TEST((s.once("id", by("ann"), "k", members, result) == fault::none));
    BOOST_TEST((s.once("id", by("bob"), "k", members, result) == fault::other_member));
}

BOOST_AUTO_TEST_CASE(a_block_is_a_part_of_the_decision) {
    auto s = clocked{1'000};
    (void)s.ask({.verb = verb::block, .cost = 60'000'000, .at_least = 0}, "k", five);
    const auto blocked = s.made("id", verb::allow, "k", five);
    BOOST_TEST((blocked.reason == denial_reason::block));
    (void)s.ask({.verb = verb::reset, .cost = 0, .at_least = 0}, "k", five);
    BOOST_TEST(s.allow("k", five).allowed());
    BOOST_TEST((s.made("id", verb::allow, "k", five) == blocked));
}

BOOST_AUTO_TEST_CASE(an_id_is_forgotten_after_its_time_and_its_cells_are_used_again) {
    auto s = clocked{16};
    (void)s.made("id", verb::allow, "k", five);
    BOOST_TEST(s.statistics().states == 3U); // the key, the call, the state before it
    s.now += ttl - 1;
    (void)s.made("id", verb::allow, "k", five);
    BOOST_TEST(s.remaining("k", five) == 4);
    s.now += 1;
    (void)s.made("id", verb::allow, "k", five);
    BOOST_TEST(s.remaining("k", five) == 3);
    for (auto i = 0; i < 1'000; ++i) {
        s.now += ttl / 2;
        (void)s.made(std::to_string(i), verb::allow, std::to_string(i % 2), five);
    }
    BOOST_TEST(s.statistics().states <= 12U);
    BOOST_TEST(s.statistics().overflowed == 0U);
}

BOOST_AUTO_TEST_CASE(without_room_for_an_id_a_call_charges_nothing) {
    for (const std::size_t capacity : {1U, 2U, 7U, 100U, 1'000U}) {
        auto s = clocked{capacity};
        auto remembered = 0;
        auto refused = 0;
        for (auto i = 0; i < 2'000; ++i) {
            const auto before = s.remaining("k", five);
            const auto how = s.once(std::to_string(i), verb::charge, "k", five, 0);
            BOOST_TEST_REQUIRE((how == fault::none || how == fault::request_room));
            (how == fault::none ? remembered : refused) += 1;
            BOOST_TEST_REQUIRE(s.statistics().states <= capacity);
            BOOST_TEST_REQUIRE(s.remaining("k", five) == before);
        }
        BOOST_TEST(refused > 0);
        // Two cells each, and a third one while it is decided, of half of all.
        BOOST_TEST(remembered == static_cast<int>(std::max<std::size_t>(capacity / 2, 1) - 1) / 2);
        BOOST_TEST(s.allow("k", five).allowed()); // keys have the other half
        if (remembered != 0)
            (void)s.made("0", verb::charge, "k", five, 0); // those that are remembered stay
        s.now += ttl;
        BOOST_TEST((s.once("again", verb::charge, "k", five, 0) ==
                    (capacity < 6 ? fault::request_room : fault::none)));
    }
}

/// Ids of keys with all sorts of states, in stores that are too small for them.
BOOST_AUTO_TEST_CASE(a_full_store_forgets_no_id) {
    auto d = test::rng{5};
    for (auto round = 0; round < 100; ++round) {
        const auto p = any_policy(d, false, false);
        auto s = clocked{static_cast<std::size_t>(d.between(8, 200))};
        const auto begin = s.now;
        auto ids = std::map<std::string, std::pair<call_request, decision>>{};
        for (auto call = 0; call < 400; ++call) {
            s.now = std::min(s.now + d.between(0, 500'000), begin + ttl - 1);
            const auto key = std::to_string(d.below(50));
            if (d.percent(50)) {
                (void)s.ask(any_request(d), key, p);
                continue;
            }
            const auto id = std::to_string(d.below(100));
            const auto known = ids.find(key + '/' + id);
            auto request = known == ids.end() ? any_request(d) : known->second.first;
            auto result = decision{};
            const auto how = s.once(id, request, key, p, result);
            if (known != ids.end()) {
                BOOST_REQUIRE((how == fault::none));
                BOOST_REQUIRE((result == known->second.second));
            } else if (how == fault::none) {
                ids.emplace(key + '/' + id, std::pair{request, result});
            }
        }
    }
}

/// A refund of a shared state is a peek, and stays one.
BOOST_AUTO_TEST_CASE(a_refund_of_a_shared_state_is_remembered_as_it_was_made) {
    auto s = clocked{16};
    for (auto i = 0; i < 16; ++i)
        (void)s.allow(std::to_string(i), five);
    (void)s.ask({.verb = verb::charge, .cost = 4, .at_least = 4}, "k", five);
    BOOST_TEST(s.statistics().overflowed == 1U);
    for (auto i = 0; i < 3; ++i) // cells for a record
        (void)s.ask({.verb = verb::reset, .cost = 0, .at_least = 0}, std::to_string(i), five);
    const auto first = s.made("id", verb::refund, "k", five, 2);
    BOOST_TEST(first.remaining == 1);
    BOOST_TEST((s.made("id", verb::refund, "k", five, 2) == first));
}

BOOST_AUTO_TEST_CASE(an_id_does_not_outlive_its_time_by_a_clock_that_is_set_back) {
    auto s = clocked{64};
    const auto first = s.made("id", verb::allow, "k", five);
    s.now -= 3'600'000'000;
    BOOST_TEST((s.made("id", verb::allow, "k", five) == first));
    // Searches for room take all cells again, although the clock stays back.
    auto made = 0;
    for (auto i = 0; i < 100; ++i) {
        made += s.once(std::to_string(i), verb::charge, "k", five, 0) == fault::none ? 1 : 0;
        (void)s.allow(std::to_string(i), five);
    }
    BOOST_TEST(made == 14);
    s.now += ttl + 1'000'000;
    for (auto i = 0; i < 10; ++i)
        (void)s.made("again" + std::to_string(i), verb::charge, "k", five, 0);
}

BOOST_AUTO_TEST_SUITE_END()
