// SPDX-License-Identifier: BSL-1.0
//
// The parts of the in-process store on their own: index, slab, shared states.

#include <colimit/policy.hpp>
#include <memory/index.hpp>
#include <memory/shared_states.hpp>
#include <memory/slab.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(memory_parts)

using namespace std::chrono_literals;
using colimit::gcra;
using colimit::policy;
using colimit::core::rule_state;
using colimit::hash::digest;
using colimit::memory::no_cell;

namespace {

/// Returns the shared state of a key of plain numbers.
[[nodiscard]] bool read(const colimit::memory::shared_states& shared,
                        const colimit::detail::policy_data& p, std::int64_t now,
                        std::vector<rule_state>& states) {
    auto c = colimit::memory::contents{.states = states};
    auto log = colimit::core::event_log{};
    return shared.read({}, p, now, c, log);
}

} // namespace

BOOST_AUTO_TEST_CASE(the_index_finds_what_is_there_and_nothing_else) {
    for (const std::size_t capacity : {1U, 2U, 11U, 22U, 23U, 100U, 5'000U}) {
        auto index = colimit::memory::index{capacity};
        auto random = std::mt19937_64{capacity};
        auto there = std::map<std::uint32_t, digest>{};
        auto wrong = 0;
        for (int i = 0; i < 100'000; ++i) {
            const auto cell = static_cast<std::uint32_t>(random() % capacity);
            const auto [at, is_new] = there.try_emplace(cell);
            if (is_new) {
                // Half of them crowd in one bucket, so that buckets overflow.
                at->second = {i % 2 == 0 ? random() : random() % 0xffff'ffff, random()};
                index.insert(at->second, cell);
            }
            const auto is_it = [&, id = at->second](std::uint32_t c) {
                const auto found = there.find(c);
                return found != there.end() && found->second == id;
            };
            wrong += index.find(at->second, is_it) != cell;
            if (!is_new) {
                index.erase(at->second, cell);
                wrong += index.find(at->second, is_it) != no_cell;
                there.erase(at);
            }
        }
        BOOST_TEST(wrong == 0, "capacity " << capacity);
    }
}

[[nodiscard]] digest digest_under(const digest& secret, std::string_view key) {
    return colimit::hash::key_digest(colimit::hash::begin_key_hash(secret, {}), key);
}

BOOST_AUTO_TEST_CASE(alike_keys_spread_as_evenly_as_random_ones) {
    // 100,000 keys over 1,024 places are 98 each with a deviation of 10.
    const auto secret = digest{0x123456789abcdef0, 0x0fedcba987654321};
    const auto spread = [&](const auto& key_of) {
        auto home = std::vector<int>(1'024);
        for (int i = 0; i < 100'000; ++i)
            ++home[digest_under(secret, key_of(i)).low >> 54];
        return std::ranges::max(home);
    };
    BOOST_TEST(spread([](int i) { return std::to_string(i); }) < 98 + 80);
    BOOST_TEST(spread([](int i) {
                   return std::string(static_cast<std::size_t>(i % 997), 'x') +
                          std::string(static_cast<std::size_t>(i / 997), 'y');
               }) < 98 + 80);
}

BOOST_AUTO_TEST_CASE(another_secret_puts_the_same_keys_elsewhere) {
    auto same = 0;
    for (int i = 0; i < 10'000; ++i) {
        const auto key = std::to_string(i);
        same += digest_under({1, 2}, key).low >> 54 == digest_under({1, 3}, key).low >> 54;
    }
    BOOST_TEST(same < 100); // 10 by chance
}

BOOST_AUTO_TEST_CASE(the_slab_gives_each_cell_once_and_no_more_than_there_are) {
    for (const std::size_t capacity : {1U, 3U, 32'768U, 32'769U, 70'000U}) {
        auto cells = colimit::memory::slab{capacity};
        auto taken = std::vector<std::uint32_t>{};
        while (cells.ensure_room(1))
            taken.push_back(cells.take());
        BOOST_TEST(taken.size() == capacity);
        BOOST_TEST(std::set<std::uint32_t>(taken.begin(), taken.end()).size() == capacity);
        for (const auto cell : taken)
            cells.release(cell);
        BOOST_TEST(cells.used() == 0U);
        BOOST_TEST(cells.ensure_room(capacity));
        BOOST_TEST(!cells.ensure_room(capacity + 1));
    }
}

BOOST_AUTO_TEST_CASE(more_policies_than_slots_lose_no_debt) {
    // All on one set: 30 policies of one or two rules, each with a state that a model remembers.
    auto policies = std::vector<policy>{};
    for (int i = 0; i < 30; ++i) {
        const auto name = "p" + std::to_string(i);
        const auto rule = gcra(1 + i % 7, std::chrono::milliseconds{100 * (1 + i)}).burst(5);
        policies.push_back(i % 2 == 0 ? policy{name, rule}
                                      : policy{name, rule, gcra(3, 4s).named("other")});
    }
    auto shared = colimit::memory::shared_states{};
    auto model = std::vector<std::vector<rule_state>>(30);
    auto random = std::mt19937{7};
    auto now = std::int64_t{1'700'000'000'000'000};
    auto forgotten = 0;
    auto alone = 0;
    for (int i = 0; i < 50'000; ++i) {
        now += static_cast<std::int64_t>(random() % 50'000);
        const auto which = random() % 30;
        const auto& p = *colimit::detail::access::data(policies[which]);
        auto states = std::vector<rule_state>(p.compiled.size);
        (void)read(shared, p, now, states);
        auto& known = model[which];
        known.resize(p.compiled.size);
        auto shown = colimit::decision{};
        auto truth = colimit::decision{};
        const auto asked = colimit::core::call_request{.cost = 1, .at_least = 1, .now = now};
        auto held = colimit::core::key_header{.exists = true};
        const auto effect = evaluate(p.compiled, states, held, asked, shown);
        auto peeked = asked;
        peeked.verb = colimit::core::verb::peek;
        auto before = known;
        held = {.exists = true};
        (void)evaluate(p.compiled, before, held, peeked, truth);
        forgotten += shown.allowed() && !truth.allowed();
        alone += shown.allowed();
        if (shown.allowed())
            (void)evaluate(p.compiled, known, held, asked, truth);
        if (effect == colimit::core::effect::store)
            shared.write({}, p, now, {.states = states}, {});
    }
    BOOST_TEST(forgotten == 0);
    BOOST_TEST(alone > 1'000);
}

BOOST_AUTO_TEST_CASE(what_is_owed_from_the_future_is_owed_for_its_own_time) {
    auto shared = colimit::memory::shared_states{};
    const auto later = std::int64_t{1'700'000'000'000'000};
    const auto now = later - 86'400'000'000; // the clock was set back by a day
    for (int i = 0; i < 11; ++i) {           // the eleventh takes a slot that still counts
        const auto p = policy{"p" + std::to_string(i), gcra(5, 5s)};
        const auto t = i < 10 ? later : now;
        auto states =
            std::vector<rule_state>{{.t = t, .debt = 3'000'000, .num = 1'000'000, .capacity = 5}};
        shared.write({}, *colimit::detail::access::data(p), t, {.states = states}, {});
    }
    const auto newcomer = policy{"newcomer", gcra(5, 5s)};
    auto states = std::vector<rule_state>(1);
    BOOST_TEST(read(shared, *colimit::detail::access::data(newcomer), now, states));
    BOOST_TEST(states[0].debt == 3'000'000);
    BOOST_TEST(!read(shared, *colimit::detail::access::data(newcomer), now + 3'000'000, states));
}

BOOST_AUTO_TEST_CASE(ten_slots_serve_ten_rules_exactly) {
    auto shared = colimit::memory::shared_states{};
    const auto p = policy{"p", gcra(5, 1h), gcra(5, 2h).named("b"), gcra(5, 3h).named("c")};
    const auto q = policy{"q",
                          gcra(5, 1h),
                          gcra(5, 2h).named("b"),
                          gcra(5, 3h).named("c"),
                          gcra(5, 4h).named("d"),
                          gcra(5, 5h).named("e"),
                          gcra(5, 6h).named("f"),
                          gcra(5, 7h).named("g")};
    const auto now = std::int64_t{1'700'000'000'000'000};
    for (const auto* one : {&p, &q}) {
        const auto& data = *colimit::detail::access::data(*one);
        auto states = std::vector<rule_state>(data.compiled.size);
        for (std::size_t i = 0; i < states.size(); ++i)
            states[i] = {
                .t = now, .debt = 10 + static_cast<std::int64_t>(i), .num = 1, .capacity = 5};
        shared.write({}, data, now, {.states = states}, {});
    }
    for (const auto* one : {&p, &q}) {
        const auto& data = *colimit::detail::access::data(*one);
        auto states = std::vector<rule_state>(data.compiled.size);
        BOOST_TEST(read(shared, data, now, states));
        for (std::size_t i = 0; i < states.size(); ++i)
            BOOST_TEST(states[i].debt == 10 + static_cast<std::int64_t>(i));
        BOOST_TEST(!read(shared, data, now + 17, states));
    }
}

BOOST_AUTO_TEST_SUITE_END()
