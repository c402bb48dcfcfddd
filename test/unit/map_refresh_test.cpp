// SPDX-License-Identifier: BSL-1.0
//
// When a cluster's map is asked for, and whom: single cases, and random schedules in which nodes
// answer, fail, stay silent, or have an old map.

#include <redis/cluster/map_refresh.hpp>
#include <support/rng.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(map_refreshes)

namespace {

using namespace colimit::redis;
using colimit::test::rng;
using outcome = map_refresh::outcome;

constexpr std::int64_t ms = 1'000;
constexpr std::int64_t s = 1'000 * ms;

[[nodiscard]] map_refresh_settings settings(std::uint32_t seed = 1) {
    return {.pause_least = 50 * ms,
            .pause_most = 1 * s,
            .period = 30 * s,
            .reply_timeout = 500 * ms,
            .seed = seed};
}

[[nodiscard]] host_port master(std::size_t i) {
    return {"m" + std::to_string(i), 1};
}

[[nodiscard]] host_port replica(std::size_t i) {
    return {"r" + std::to_string(i), 1};
}

const std::vector<host_port> seeds{{"s0", 1}, {"s1", 1}};

/// Three masters with a replica each. Version 0; in other versions slot 0 has an owner of its own.
[[nodiscard]] slot_map map_of(std::size_t version = 0) {
    auto map = slot_map{{master(0), master(1), master(2)},
                        {replica(0), replica(1), replica(2)},
                        {{0, 4'999, 0}, {5'000, 9'999, 1}, {10'000, 16'383, 2}}};
    if (version > 0)
        map.apply_moved(0, {"v" + std::to_string(version), 1});
    return map;
}

[[nodiscard]] cluster_info epoch(std::uint64_t n) {
    return {.is_ok = true, .epoch = n};
}

/// Wakes it when it wants to be; returns the query that begins.
[[nodiscard]] map_refresh::query next_query(map_refresh& refresh, std::int64_t& now) {
    for (int i = 0; i < 3; ++i) {
        now = std::max(now, refresh.wake_at());
        if (auto query = refresh.wake(now))
            return *query;
    }
    BOOST_FAIL("no query begins");
    return {};
}

/// Has a map since time 0, and nothing to do for a period.
[[nodiscard]] map_refresh settled(std::uint32_t seed = 1) {
    auto refresh = map_refresh{settings(seed), seeds};
    const auto query = refresh.wake(0).value();
    BOOST_TEST((refresh.on_reply(query.number, map_of(), epoch(5), 0) == outcome::changed));
    return refresh;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_first_refresh_is_due_at_once_and_is_the_only_one) {
    auto refresh = map_refresh{settings(), seeds};
    BOOST_TEST(!refresh.has_map());
    BOOST_TEST(refresh.wake_at() <= 0);
    const auto query = refresh.wake(0).value();
    BOOST_TEST((query.node == seeds[0] || query.node == seeds[1]));
    BOOST_TEST(!refresh.wake(0).has_value());
    refresh.request(1);
    BOOST_TEST(!refresh.wake(500 * ms - 1).has_value());
    BOOST_TEST((refresh.on_reply(query.number, map_of(), {}, 2) == outcome::changed));
    BOOST_TEST(refresh.has_map());
    BOOST_TEST((refresh.map() == map_of()));
}

/// The slot may be unassigned on purpose. A call that needs it requests a refresh.
BOOST_AUTO_TEST_CASE(a_slot_that_has_no_owner_for_long_is_a_reason_to_ask_no_more) {
    const auto without_slot_0 = slot_map{{master(0), master(1), master(2)},
                                         {replica(0), replica(1), replica(2)},
                                         {{1, 4'999, 0}, {5'000, 9'999, 1}, {10'000, 16'383, 2}}};
    auto refresh = settled();
    auto now = std::int64_t{0};
    auto soon = 0;
    auto later = 0;
    while (now < 3'600 * s) {
        const auto query = next_query(refresh, now);
        ++(now < 90 * s ? soon : later);
        BOOST_TEST(
            (refresh.on_reply(query.number, without_slot_0, epoch(5), now) == outcome::unchanged));
    }
    BOOST_TEST(soon >= 20); // the owner may have failed
    BOOST_TEST(later <= 3'600 / 30 * 4 / 3);
    refresh.request(now);
    BOOST_TEST(refresh.wake_at() <= now + 2 * s);
}

BOOST_AUTO_TEST_CASE(without_requests_a_refresh_comes_once_in_a_period_more_or_less) {
    auto refresh = settled();
    auto now = std::int64_t{0};
    auto lengths = std::set<std::int64_t>{};
    for (int i = 0; i < 100; ++i) {
        const auto before = now;
        const auto query = next_query(refresh, now);
        BOOST_TEST(now - before >= 30 * s * 3 / 4);
        BOOST_TEST(now - before <= 30 * s * 5 / 4);
        lengths.insert(now - before);
        BOOST_TEST((refresh.on_reply(query.number, map_of(), epoch(5), now) == outcome::unchanged));
    }
    BOOST_TEST(lengths.size() > 90U);
}

BOOST_AUTO_TEST_CASE(a_request_after_a_quiet_time_is_served_at_once) {
    auto refresh = settled();
    for (const auto now : {5 * s, 20 * s}) {
        BOOST_TEST(!refresh.wake(now).has_value());
        refresh.request(now);
        BOOST_TEST(refresh.wake_at() <= now);
        const auto query = refresh.wake(now).value();
        refresh.on_reply(query.number, map_of(), epoch(5), now + ms);
    }
    // Also soon after a refresh that nothing has requested.
    auto now = 20 * s;
    const auto query = next_query(refresh, now);
    refresh.on_reply(query.number, map_of(), epoch(5), now);
    refresh.request(now);
    BOOST_TEST(refresh.wake_at() >= now + 50 * ms);
    BOOST_TEST(refresh.wake_at() <= now + 75 * ms);
}

BOOST_AUTO_TEST_CASE(a_request_during_a_refresh_leads_to_another_one_after_a_pause) {
    auto refresh = settled();
    refresh.request(10 * s);
    const auto query = refresh.wake(10 * s).value();
    refresh.request(10 * s + 1);
    refresh.on_reply(query.number, map_of(), epoch(5), 10 * s + 2);
    BOOST_TEST(refresh.wake_at() >= 10 * s + 2 + 50 * ms);
    BOOST_TEST(refresh.wake_at() <= 10 * s + 2 + 75 * ms);
}

/// So the map is never asked for much later than a new one can be there.
BOOST_AUTO_TEST_CASE(pauses_grow_with_the_time_for_which_the_map_stays_as_it_is) {
    for (const auto fails : {false, true}) {
        auto refresh = settled();
        constexpr auto begin = 100 * s;
        auto now = begin;
        auto count = 0;
        refresh.request(now);
        auto query = refresh.wake(now).value();
        auto parts = std::set<std::int64_t>{}; // of the longest pause: the jitter
        while (now < begin + 100 * s) {
            if (fails)
                refresh.on_failure(query.number, now);
            else
                refresh.on_reply(query.number, map_of(), epoch(5), now);
            refresh.request(now);
            const auto length = std::clamp((now - begin) / 24, 50 * ms, 1 * s);
            BOOST_TEST_REQUIRE(refresh.wake_at() >= now + length);
            BOOST_TEST_REQUIRE(refresh.wake_at() <= now + length + length / 2);
            if (length == 1 * s)
                parts.insert((refresh.wake_at() - now - length) / (50 * ms));
            query = next_query(refresh, now);
            ++count;
        }
        BOOST_TEST(count > 80);
        BOOST_TEST(count < 200);
        BOOST_TEST(parts.size() > 5U);
        // A new map begins again with short pauses, as there may be more news.
        refresh.on_reply(query.number, map_of(1), epoch(6), now);
        refresh.request(now);
        BOOST_TEST(refresh.wake_at() <= now + 75 * ms);
    }
}

BOOST_AUTO_TEST_CASE(requests_continue_unless_one_is_missing_for_two_pauses_and_a_timeout) {
    for (const auto is_missing : {false, true}) {
        auto refresh = settled();
        auto now = std::int64_t{100 * s};
        for (int i = 0; i < 20; ++i) {
            refresh.request(now);
            const auto query = refresh.wake(now).value();
            refresh.on_reply(query.number, map_of(), epoch(5), now);
            now += 2'500 * ms + (is_missing ? 1 : 0);
        }
        refresh.request(now);
        const auto query = refresh.wake(now).value();
        refresh.on_reply(query.number, map_of(), epoch(5), now);
        refresh.request(now);
        BOOST_TEST((refresh.wake_at() >= now + 1 * s) == !is_missing);
    }
}

BOOST_AUTO_TEST_CASE(after_a_failure_a_node_of_another_kind_is_asked_until_all_have_failed) {
    auto refresh = settled();
    auto now = std::int64_t{10 * s};
    refresh.request(now);
    for (int round = 0; round < 3; ++round) {
        auto asked = std::vector<host_port>{};
        for (int i = 0; i < 8; ++i) {
            const auto query = next_query(refresh, now);
            asked.push_back(query.node);
            refresh.on_failure(query.number, now);
        }
        const auto kinds = [&] {
            auto first_letters = std::string{};
            for (const auto& node : asked)
                first_letters += node.host.front();
            return first_letters;
        };
        BOOST_TEST(kinds() == "mrsmrsmr");
        BOOST_TEST((std::set<host_port>{asked.begin(), asked.end()}.size() == 8U));
    }
}

namespace {

/// Lets 64 replies of MOVED name as many servers, and asks for the map at `now`.
void redirect_to_others(map_refresh& refresh, std::int64_t now) {
    for (std::size_t i = 0; i < 64; ++i)
        BOOST_TEST(refresh.apply_moved(static_cast<std::uint16_t>(i * 256),
                                       {"x" + std::to_string(i), 1}, now));
    BOOST_TEST(refresh.map().masters().size() == 67U);
}

} // namespace

BOOST_AUTO_TEST_CASE(servers_that_only_redirections_name_are_asked_after_all_others) {
    auto refresh = settled();
    auto now = std::int64_t{10 * s};
    redirect_to_others(refresh, now);
    for (int round = 0; round < 2; ++round) {
        auto asked = std::vector<host_port>{};
        for (int i = 0; i < 8 + 64; ++i) {
            const auto query = next_query(refresh, now);
            asked.push_back(query.node);
            refresh.on_failure(query.number, now);
        }
        BOOST_TEST((std::set<host_port>{asked.begin(), asked.end()}.size() == 72U));
        for (auto i = asked.begin() + 8; i != asked.end(); ++i)
            BOOST_TEST(i->host.front() == 'x');
    }
}

/// However many servers redirections name, and whichever of the known nodes are silent.
BOOST_AUTO_TEST_CASE(a_map_is_known_after_a_pause_and_a_timeout_for_each_silent_node_asked) {
    for (std::uint32_t seed = 1; seed <= 100; ++seed) {
        for (std::size_t dead = 0; dead < 8; ++dead) {
            auto refresh = settled(seed);
            constexpr auto begin = 10 * s;
            auto now = std::int64_t{begin};
            redirect_to_others(refresh, now);
            const auto is_dead = [&](const host_port& node) {
                const auto number = static_cast<std::size_t>(node.host.back() - '0');
                const auto kind = std::string_view{"mrs"}.find(node.host.front());
                return node.host.front() == 'x' || kind * 3 + number < dead;
            };
            auto silent = std::int64_t{0};
            auto query = next_query(refresh, now);
            for (; is_dead(query.node); ++silent)
                query = next_query(refresh, now);
            BOOST_TEST(
                (refresh.on_reply(query.number, map_of(), epoch(5), now) == outcome::changed));
            BOOST_TEST((refresh.map() == map_of()));
            BOOST_TEST(now - begin <=
                       silent * (500 * ms + 75 * ms) + (now - begin) / 16 * silent); // pauses grow
            BOOST_TEST(silent <= static_cast<std::int64_t>(dead));
            if (dead <= 3) // the masters only
                BOOST_TEST(silent <= 1);
        }
    }
}

BOOST_AUTO_TEST_CASE(healthy_masters_are_asked_in_turn_and_clients_begin_with_different_ones) {
    auto first = std::map<host_port, int>{};
    for (std::uint32_t seed = 1; seed <= 300; ++seed) {
        auto refresh = settled(seed);
        auto now = std::int64_t{0};
        auto asked = std::vector<host_port>{};
        for (int i = 0; i < 6; ++i) {
            const auto query = next_query(refresh, now);
            asked.push_back(query.node);
            refresh.on_reply(query.number, map_of(), epoch(5), now);
        }
        BOOST_TEST((std::set<host_port>{asked.begin(), asked.begin() + 3} ==
                    std::set{master(0), master(1), master(2)}));
        BOOST_TEST(std::equal(asked.begin(), asked.begin() + 3, asked.begin() + 3));
        ++first[asked.front()];
    }
    BOOST_TEST(first.size() == 3U);
    for (const auto& [node, n] : first)
        BOOST_TEST(n > 60);
}

BOOST_AUTO_TEST_CASE(a_node_that_failed_is_left_out_until_a_quiet_time) {
    auto refresh = settled();
    auto now = std::int64_t{10 * s};
    refresh.request(now);
    const auto failed = next_query(refresh, now);
    refresh.on_failure(failed.number, now);
    for (int i = 0; i < 20; ++i) {
        const auto query = next_query(refresh, now);
        BOOST_TEST((query.node != failed.node));
        refresh.on_reply(query.number, map_of(), epoch(5), now);
        refresh.request(now);
    }
    auto query = next_query(refresh, now);
    refresh.on_reply(query.number, map_of(), epoch(5), now);
    auto asked = std::set<host_port>{};
    for (int i = 0; i < 3; ++i) {
        query = next_query(refresh, now);
        asked.insert(query.node);
        refresh.on_reply(query.number, map_of(), epoch(5), now);
    }
    BOOST_TEST(asked.contains(failed.node));
}

BOOST_AUTO_TEST_CASE(a_silent_node_fails_and_its_late_reply_is_ignored) {
    auto refresh = settled();
    refresh.request(10 * s);
    const auto query = refresh.wake(10 * s).value();
    BOOST_TEST(refresh.wake_at() == 10 * s + 500 * ms);
    BOOST_TEST(!refresh.wake(10 * s + 500 * ms).has_value());
    BOOST_TEST(refresh.wake_at() >= 10 * s + 550 * ms);
    auto now = 10 * s + 500 * ms;
    BOOST_TEST((refresh.on_reply(query.number, map_of(1), epoch(9), now) == outcome::late));
    refresh.on_failure(query.number, now);
    BOOST_TEST((refresh.map() == map_of()));
    const auto other = next_query(refresh, now);
    BOOST_TEST((other.node != query.node));
    refresh.on_failure(query.number, now);
    BOOST_TEST((refresh.on_reply(query.number, map_of(1), epoch(9), now) == outcome::late));
    BOOST_TEST((refresh.on_reply(other.number, map_of(2), epoch(9), now) == outcome::changed));
    BOOST_TEST((refresh.map() == map_of(2)));
}

BOOST_AUTO_TEST_CASE(moved_patches_the_map_at_once_and_requests_a_refresh) {
    auto refresh = settled();
    BOOST_TEST(refresh.apply_moved(7, master(2), 10 * s));
    BOOST_TEST((*refresh.map().owner(7) == master(2)));
    BOOST_TEST(refresh.wake_at() <= 10 * s);
    BOOST_TEST(!refresh.apply_moved(7, master(2), 10 * s));
}

BOOST_AUTO_TEST_CASE(the_map_of_a_node_that_is_behind_or_cut_off_is_not_taken) {
    const auto behind = epoch(4);
    const auto cut_off = cluster_info{.is_ok = false, .epoch = 7};
    for (const auto& info : {behind, cut_off}) {
        auto refresh = settled();
        auto now = std::int64_t{10 * s};
        refresh.request(now);
        auto query = next_query(refresh, now);
        const auto first = query.node;
        BOOST_TEST((refresh.on_reply(query.number, map_of(1), info, now) == outcome::doubtful));
        BOOST_TEST((refresh.map() == map_of()));
        // Another one is asked without a further request.
        BOOST_TEST(refresh.wake_at() <= now + 75 * ms);
        query = next_query(refresh, now);
        BOOST_TEST((query.node != first));
        BOOST_TEST((refresh.on_reply(query.number, map_of(2), epoch(5), now) == outcome::changed));
        BOOST_TEST((refresh.map() == map_of(2)));
        BOOST_TEST(refresh.wake_at() > now + 20 * s);
    }
}

BOOST_AUTO_TEST_CASE(a_doubtful_map_is_taken_when_no_node_has_a_better_one) {
    auto refresh = settled();
    auto now = std::int64_t{10 * s};
    refresh.request(now);
    for (int i = 0; i < 8; ++i) { // a cluster that was reset has low epochs everywhere
        const auto query = next_query(refresh, now);
        BOOST_TEST((refresh.on_reply(query.number, map_of(1), epoch(1), now) == outcome::doubtful));
    }
    auto query = next_query(refresh, now);
    BOOST_TEST((refresh.on_reply(query.number, map_of(1), epoch(1), now) == outcome::changed));
    // Then its epoch is the one to compare with.
    query = next_query(refresh, now);
    BOOST_TEST((refresh.on_reply(query.number, map_of(2), epoch(1), now) == outcome::changed));
    query = next_query(refresh, now);
    BOOST_TEST((refresh.on_reply(query.number, map_of(1), epoch(0), now) == outcome::doubtful));
}

BOOST_AUTO_TEST_CASE(a_doubtful_map_is_not_taken_because_the_other_nodes_could_not_be_asked) {
    auto refresh = settled();
    auto now = std::int64_t{10 * s};
    refresh.request(now);
    for (int i = 0; i < 8; ++i)
        refresh.on_failure(next_query(refresh, now).number, now);
    auto query = next_query(refresh, now); // the first node that is back
    BOOST_TEST((refresh.on_reply(query.number, map_of(1), epoch(4), now) == outcome::doubtful));
    query = next_query(refresh, now);
    BOOST_TEST((refresh.on_reply(query.number, map_of(2), epoch(5), now) == outcome::changed));
    // The doubt does not count any more.
    refresh.request(now);
    for (int i = 0; i < 9; ++i)
        refresh.on_failure(next_query(refresh, now).number, now);
    query = next_query(refresh, now);
    BOOST_TEST((refresh.on_reply(query.number, map_of(1), epoch(4), now) == outcome::doubtful));
    // Nor does it for longer than a round in which all fail.
    for (int i = 0; i < 16; ++i)
        refresh.on_failure(next_query(refresh, now).number, now);
    query = next_query(refresh, now);
    BOOST_TEST((refresh.on_reply(query.number, map_of(1), epoch(4), now) == outcome::doubtful));
}

BOOST_AUTO_TEST_CASE(without_a_map_any_is_better_and_a_better_one_is_sought) {
    auto refresh = map_refresh{settings(), seeds};
    auto now = std::int64_t{0};
    auto query = next_query(refresh, now);
    const auto down = cluster_info{.is_ok = false, .epoch = 3};
    BOOST_TEST((refresh.on_reply(query.number, map_of(), down, now) == outcome::changed));
    BOOST_TEST((refresh.map() == map_of()));
    BOOST_TEST(refresh.wake_at() <= now + 75 * ms);
    query = next_query(refresh, now);
    BOOST_TEST((refresh.on_reply(query.number, map_of(1), epoch(3), now) == outcome::changed));
    BOOST_TEST(refresh.wake_at() > now + 20 * s);
}

BOOST_AUTO_TEST_CASE(nodes_that_do_not_tell_their_epoch_are_believed) {
    auto refresh = settled();
    auto now = std::int64_t{0};
    auto query = next_query(refresh, now);
    BOOST_TEST((refresh.on_reply(query.number, map_of(1), {}, now) == outcome::changed));
    query = next_query(refresh, now);
    BOOST_TEST((refresh.on_reply(query.number, map_of(2), epoch(1), now) == outcome::changed));
}

/// One that lost its disk, and says so of all slots.
BOOST_AUTO_TEST_CASE(an_empty_map_takes_no_slot_from_the_map_that_is_known) {
    for (const auto& info : {std::optional{epoch(9)}, std::optional<cluster_info>{}}) {
        auto refresh = settled();
        auto now = std::int64_t{10 * s};
        refresh.request(now);
        for (int i = 0; i < 20; ++i) { // also if no node has another one
            const auto query = next_query(refresh, now);
            const auto outcome = refresh.on_reply(query.number, {}, info, now);
            BOOST_TEST((outcome == outcome::doubtful || outcome == outcome::unchanged));
            BOOST_TEST((refresh.map() == map_of()));
        }
        auto asked = std::set<host_port>{}; // and all nodes are still known
        for (int i = 0; i < 16; ++i) {
            const auto query = next_query(refresh, now);
            asked.insert(query.node);
            refresh.on_failure(query.number, now);
        }
        BOOST_TEST(asked.size() == 8U);
    }
}

BOOST_AUTO_TEST_CASE(a_cluster_without_slots_is_asked_again_until_it_has_some) {
    auto refresh = map_refresh{settings(), seeds};
    auto now = std::int64_t{0};
    auto query = next_query(refresh, now);
    BOOST_TEST((refresh.on_reply(query.number, {}, epoch(0), now) == outcome::changed));
    BOOST_TEST(refresh.wake_at() <= now + 75 * ms);
    query = next_query(refresh, now);
    BOOST_TEST((refresh.on_reply(query.number, map_of(), epoch(1), now) == outcome::changed));
}

/// The owner that a slot keeps may have failed, so the map is asked for again, until a node names
/// one.
BOOST_AUTO_TEST_CASE(a_map_that_leaves_slots_out_is_asked_for_again_after_pauses) {
    const auto partial =
        slot_map{{master(1), master(2)}, {}, {{5'000, 9'999, 0}, {10'000, 16'383, 1}}};
    auto refresh = settled();
    auto now = std::int64_t{10 * s};
    refresh.request(now);
    for (int i = 0; i < 10; ++i) {
        const auto query = next_query(refresh, now);
        (void)refresh.on_reply(query.number, partial, epoch(6), now);
        BOOST_TEST(refresh.wake_at() > now);
        BOOST_TEST(refresh.wake_at() <= now + 2 * s);
    }
    const auto query = next_query(refresh, now);
    (void)refresh.on_reply(query.number, map_of(1), epoch(6), now);
    BOOST_TEST(refresh.wake_at() > now + 5 * s);
}

/// Nodes know different parts of the map, at random. What is known of a slot is what the last node
/// said that knew its owner.
BOOST_AUTO_TEST_CASE(a_map_that_is_known_never_becomes_smaller) {
    auto random = rng{8};
    auto refresh = map_refresh{settings(), seeds};
    auto owners = std::map<std::uint16_t, host_port>{};
    auto now = std::int64_t{0};
    for (int i = 0; i < 2'000; ++i) {
        if (random.percent(50))
            refresh.request(now);
        const auto query = next_query(refresh, now);
        auto said = std::vector<slot_map::range>{};
        auto masters = std::vector<host_port>{};
        for (std::uint16_t part = 0; part < 8; ++part)
            if (random.percent(70)) {
                said.push_back({static_cast<std::uint16_t>(part * 2'048),
                                static_cast<std::uint16_t>(part * 2'048 + 2'047),
                                static_cast<std::uint16_t>(masters.size())});
                masters.push_back(
                    {"n" + std::to_string(part) + "." + std::to_string(random.below(3)), 1});
            }
        const auto outcome =
            refresh.on_reply(query.number, {masters, {}, said}, epoch(5 + random.below(2)), now);
        if (outcome != outcome::doubtful)
            for (const auto& r : said)
                owners[r.first] = masters[r.master];
        for (const auto& [slot, owner] : owners) {
            BOOST_TEST_REQUIRE(refresh.map().owner(slot) != nullptr);
            BOOST_TEST_REQUIRE((*refresh.map().owner(slot) == owner));
        }
    }
    BOOST_TEST(owners.size() == 8U);
}

/// Its address was given to a node of another cluster.
BOOST_AUTO_TEST_CASE(the_map_of_another_cluster_is_taken_from_a_seed_only) {
    using texts = std::vector<std::string>;
    const auto is_seed = [](const host_port& node) {
        return std::ranges::find(seeds, node) != seeds.end();
    };
    auto refresh = map_refresh{settings(), seeds};
    auto now = std::int64_t{0};
    auto query = next_query(refresh, now);
    BOOST_TEST(
        (refresh.on_reply(query.number, map_of(), epoch(5), now, {"a", "b"}) == outcome::changed));
    auto others = std::size_t{0};
    refresh.request(now);
    while (others < 20) {
        query = next_query(refresh, now);
        if (is_seed(query.node)) {
            refresh.on_failure(query.number, now);
            continue;
        }
        ++others;
        BOOST_TEST((refresh.on_reply(query.number, map_of(1), epoch(9), now, {"c", "d"}) ==
                    outcome::foreign));
        BOOST_TEST((refresh.map() == map_of()));
        BOOST_TEST(refresh.wake_at() <= now + 2 * s); // another one is asked
    }
    // One common node is enough, and so are maps without ids.
    const auto accepted = [&](const slot_map& map, const texts& ids) {
        do
            query = next_query(refresh, now);
        while (is_seed(query.node));
        return refresh.on_reply(query.number, map, epoch(9), now, ids) == outcome::changed;
    };
    BOOST_TEST(accepted(map_of(2), {"b", "e"}));
    BOOST_TEST(accepted(map_of(3), {"e", "f"}));
    BOOST_TEST(accepted(map_of(4), {}));
    BOOST_TEST(accepted(map_of(5), {"x"}));
    // From a seed it replaces everything.
    do
        query = next_query(refresh, now);
    while (!is_seed(query.node) && (refresh.on_failure(query.number, now), true));
    const auto small = slot_map{{{"z", 1}}, {}, {{5, 5, 0}}};
    BOOST_TEST((refresh.on_reply(query.number, small, epoch(9), now, {"y"}) == outcome::changed));
    BOOST_TEST((refresh.map() == small));
}

/// A network of nodes that answer, fail or are silent for a while, with requests at random times.
BOOST_AUTO_TEST_CASE(random_schedules_keep_the_bounds_and_leave_no_node_out) {
    for (std::uint32_t seed = 1; seed <= 200; ++seed) {
        auto random = rng{seed};
        auto refresh = map_refresh{settings(seed), seeds};
        auto now = std::int64_t{0};
        auto version = std::size_t{0};
        auto health = std::map<host_port, std::size_t>{}; // 0 answers, 1 fails, 2 is silent
        auto asked = std::optional<map_refresh::query>{};
        auto replies_at = std::int64_t{0};
        auto began_at = std::optional<std::int64_t>{};
        auto ever = std::set<host_port>{};
        auto starts = 0;
        const auto all_down = seed % 4 == 0;
        for (int step = 0; step < 2'000; ++step) {
            // The next event: a wake, a reply, or a request.
            auto next = std::max(now, refresh.wake_at());
            auto what = 'w';
            if (asked && replies_at <= next) {
                next = replies_at;
                what = 'r';
            }
            if (const auto at = now + random.magnitude(3 * s); at < next && random.percent(70)) {
                next = at;
                what = random.percent(80) ? 'q' : 'm';
            }
            now = std::max(now, next);
            if (random.percent(2))
                ++version;
            if (what == 'q') {
                refresh.request(now);
            } else if (what == 'm') {
                refresh.apply_moved(static_cast<std::uint16_t>(random.below(hash_slot_count)),
                                    master(random.below(3)), now);
            } else if (what == 'r') {
                BOOST_TEST_REQUIRE(asked.has_value());
                if (health[asked->node] == 0 && !all_down) {
                    const auto info =
                        cluster_info{.is_ok = random.percent(90),
                                     .epoch = version - random.below(2) * (version > 0)};
                    const auto before = refresh.map();
                    const auto end = refresh.on_reply(asked->number, map_of(version), info, now);
                    BOOST_TEST_REQUIRE((end != outcome::late));
                    BOOST_TEST_REQUIRE((refresh.map() != before) == (end == outcome::changed));
                } else {
                    refresh.on_failure(asked->number, now);
                }
                asked.reset();
            } else if (auto query = refresh.wake(now)) {
                BOOST_TEST_REQUIRE(!asked.has_value()); // single flight
                if (began_at)
                    BOOST_TEST_REQUIRE(now - *began_at >= 50 * ms);
                began_at = now;
                ++starts;
                ever.insert(query->node);
                if (random.percent(10))
                    health[query->node] = random.below(3);
                const auto is_silent = health[query->node] == 2 || (all_down && random.percent(50));
                replies_at = now + (is_silent ? 1'000'000 * s : random.magnitude(400 * ms));
                asked = std::move(query);
            } else {
                asked.reset(); // it was late
            }
        }
        BOOST_TEST_REQUIRE(starts > 100);
        const auto expected = all_down ? seeds.size() : 3U; // at least
        BOOST_TEST(ever.size() >= expected);
        for (const auto& node : refresh.map().masters())
            BOOST_TEST(!node.host.empty());
    }
}

/// Whatever happened before, nodes that fail from now on are all asked, and the seeds.
BOOST_AUTO_TEST_CASE(if_all_nodes_fail_each_is_asked_within_two_rounds) {
    for (std::uint32_t seed = 1; seed <= 100; ++seed) {
        auto random = rng{seed};
        auto refresh = settled(seed);
        auto now = std::int64_t{0};
        for (auto steps = random.below(30); steps > 0; --steps) {
            if (random.percent(50))
                refresh.request(now);
            const auto query = next_query(refresh, now);
            now += random.magnitude(400 * ms);
            if (random.percent(30))
                refresh.on_failure(query.number, now);
            else
                refresh.on_reply(query.number, map_of(), epoch(4 + random.below(2)), now);
        }
        auto asked = std::set<host_port>{};
        for (int i = 0; i < 16; ++i) {
            const auto query = next_query(refresh, now);
            asked.insert(query.node);
            refresh.on_failure(query.number, now);
        }
        BOOST_TEST(asked.size() == 8U);
    }
}

BOOST_AUTO_TEST_SUITE_END()
