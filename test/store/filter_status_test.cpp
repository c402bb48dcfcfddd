// SPDX-License-Identifier: BSL-1.0
//
// How full a filter is: the same on every store, near the truth, and told when it is too full.

#include "stores.hpp"

#include <colimit/limiter.hpp>
#include <core/bloom.hpp>
#include <policy/policy_data.hpp>
#include <redis/protocol/key.hpp>
#include <redis/script/wire.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(filter_states)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;

[[nodiscard]] filter_status state_of(open_limiter& s, const bloom_filter& f, std::int64_t us) {
    const auto got = s.inspect(f, {.now = at(us)});
    BOOST_TEST_REQUIRE(!got.ec, got.ec.message());
    return got.status;
}

/// Records ids, and returns how many of them were new.
std::int64_t record(open_limiter& s, const bloom_filter& f, std::int64_t first, std::int64_t end,
                    std::int64_t us) {
    auto ids = std::vector<std::string>{};
    for (auto i = first; i != end; ++i)
        ids.push_back(std::to_string(i));
    auto items = std::vector<seen_item>{};
    for (const auto& id : ids)
        items.push_back({.id = id});
    BOOST_TEST(!s.look_up(items, f, true, {.now = at(us)}));
    return std::ranges::count(items, false, &seen_item::seen);
}

[[nodiscard]] bool is_near(double found, double expected, double part) {
    return std::abs(found - expected) <= part * expected;
}

BOOST_DATA_TEST_CASE(a_filter_that_nothing_is_in_is_empty, every_store()) {
    auto s = open_store(sample);
    const bloom_filter f{"f", {.capacity = 1'000'000, .error_rate = 0.001}};
    const auto found = state_of(*s, f, 0);
    BOOST_TEST(found.current.fill == 0);
    BOOST_TEST(found.current.ids == 0);
    BOOST_TEST(found.previous.ids == 0);
    BOOST_TEST(found.error_rate == 0);
    BOOST_TEST(found.hash_functions == static_cast<int>(detail::access::data(f)->filter->words));
    BOOST_TEST(found.capacity == 1'000'000);
    BOOST_TEST(!found.is_over_capacity);
    BOOST_TEST(stored_keys(sample) == 0);
}

BOOST_DATA_TEST_CASE(generations_are_told_apart_and_their_ids_counted, every_store()) {
    auto s = open_store(sample);
    const bloom_filter f{"f", {.capacity = 10'000, .error_rate = 0.01, .ttl = 10s}};
    const auto before = record(*s, f, 0, 9'000, 0);
    auto found = state_of(*s, f, 0);
    BOOST_TEST(is_near(static_cast<double>(found.current.ids), static_cast<double>(before), 0.02));
    BOOST_TEST(found.previous.ids == 0);
    BOOST_TEST(found.error_rate > 0.001);
    BOOST_TEST(found.error_rate < 0.005);
    const auto later = record(*s, f, 9'000, 12'000, 10 * second);
    found = state_of(*s, f, 10 * second);
    BOOST_TEST(is_near(static_cast<double>(found.previous.ids), static_cast<double>(before), 0.02));
    BOOST_TEST(is_near(static_cast<double>(found.current.ids), static_cast<double>(later), 0.04));
    BOOST_TEST(found.previous.fill > found.current.fill);
    BOOST_TEST(!found.is_over_capacity);
    found = state_of(*s, f, 20 * second);
    BOOST_TEST(found.current.ids == 0);
    BOOST_TEST(is_near(static_cast<double>(found.previous.ids), static_cast<double>(later), 0.04));
    BOOST_TEST(state_of(*s, f, 30 * second).previous.ids == 0);
}

BOOST_AUTO_TEST_CASE(every_store_has_the_same_state_of_a_filter) {
    const bloom_filter filters[] = {
        bloom_filter{"coarse", {.capacity = 3'000, .error_rate = 0.5}},
        bloom_filter{"fine", {.capacity = 3'000, .error_rate = 0.000001}},
        bloom_filter{"blocks", {.capacity = 20'000'000, .error_rate = 0.01}}};
    for (const auto& f : filters) {
        auto reference = open_store(store_kind::local);
        (void)record(*reference, f, 0, 2'500, 0);
        const auto expected = state_of(*reference, f, 0);
        BOOST_TEST(expected.current.ids > 1'500);
        for (const auto kind : every_store()) {
            auto s = open_store(kind);
            (void)record(*s, f, 0, 2'500, 0);
            const auto found = state_of(*s, f, 0);
            BOOST_TEST(found.current.fill == expected.current.fill, kind);
            BOOST_TEST(found.current.ids == expected.current.ids, kind);
            BOOST_TEST(found.error_rate == expected.error_rate, kind);
        }
    }
}

/// As many new ids are reported as seen as the state says, also far beyond the capacity.
BOOST_AUTO_TEST_CASE(the_error_rate_is_that_of_new_ids) {
    const bloom_filter f{"f", {.capacity = 5'000, .error_rate = 0.02}};
    auto s = open_store(store_kind::local);
    for (const auto more : {4'500, 10'000, 20'000, 100'000}) {
        (void)record(*s, f, 0, more, 0);
        const auto found = state_of(*s, f, 0);
        auto ids = std::vector<std::string>{};
        for (int i = 0; i < 50'000; ++i)
            ids.push_back("new " + std::to_string(i));
        auto items = std::vector<seen_item>{};
        for (const auto& id : ids)
            items.push_back({.id = id});
        BOOST_TEST(!s->look_up(items, f, false, {.now = at(0)}));
        const auto seen = static_cast<double>(std::ranges::count(items, true, &seen_item::seen));
        BOOST_TEST(is_near(seen / 50'000, found.error_rate, 0.15),
                   seen / 50'000 << " for " << found.error_rate);
        BOOST_TEST(found.is_over_capacity == (more > 5'000));
    }
}

BOOST_AUTO_TEST_CASE(a_foreign_value_in_the_place_of_a_block_is_an_error) {
    auto s = open_store(store_kind::redis_resp3);
    const bloom_filter f{"f", {.capacity = 1'000}};
    auto name = std::string{};
    const auto place = redis::append_key(name, config{}.prefix, f.name(), "0");
    const auto family = redis::bitmap_family(*detail::access::data(f)->filter, 0);
    look().must({"RPUSH", name.insert(place, family.data(), family.size()), "theirs"});
    const auto got = s->inspect(f, {.now = at(0)});
    BOOST_TEST((got.ec == errc::key_conflict));
    BOOST_TEST(got.status.capacity == 0);
    BOOST_TEST((s->inspect(f, {.now = time_point{-1s}}).ec == errc::invalid_argument));
}

BOOST_DATA_TEST_CASE(P3_the_state_of_a_filter_is_read_without_a_write, every_redis()) {
    auto s = open_store(sample);
    const bloom_filter f{"f", {.capacity = 1'000, .ttl = 10s}};
    (void)record(*s, f, 0, 100, 100 * second);
    const auto before = take_picture();
    BOOST_TEST(state_of(*s, f, 110 * second).previous.ids > 90);
    BOOST_TEST(state_of(*s, f, 0).current.ids > 90); // the clock was set back
    BOOST_TEST(state_of(*s, f, 200 * second).current.ids == 0);
    BOOST_TEST((take_picture() == before));
}

/// A limiter that collects its events.
struct watched {
    explicit watched(const std::string& server) {
        look().must({"FLUSHALL"});
        auto c = config{};
        c.server = server;
        c.timeout = 10s;
        c.advanced.min_key_ttl = for_supplied_clocks;
        c.on_event = [this](const event& e) {
            if (e.kind == event_kind::filter_over_capacity)
                events.push_back(e);
        };
        l.emplace(context.get_executor(), c);
    }

    /// Also runs the inspection that the call may have caused, which is made before the calls after
    /// it, and the handlers of events.
    template<class Start>
    void run(Start start) {
        run_one_call(start);
        for (int i = 0; i < 2; ++i, ++calls_behind)
            run_one_call([this](auto then) { l->peek("behind", policy{gcra(1, 1h)}, then); });
        context.restart();
        (void)context.poll();
    }

    template<class Start>
    void run_one_call(Start start) {
        auto done = false;
        start([&done](error_code ec, const auto&... /*results*/) {
            BOOST_TEST(!ec);
            done = true;
        });
        context.restart();
        while (!done)
            context.run_one();
    }

    void record(const bloom_filter& f, int first, int end, std::int64_t us) {
        auto ids = std::vector<std::string>{};
        for (int i = first; i < end; ++i)
            ids.push_back(std::to_string(i));
        auto items = std::vector<seen_item>{};
        for (const auto& id : ids)
            items.push_back({.id = id});
        run([&](auto then) { l->seen_many(items, f, {.now = at(us)}, then); });
    }

    boost::asio::io_context context{1};
    std::size_t calls_behind = 0;
    std::vector<event> events;
    std::optional<limiter> l;
};

BOOST_AUTO_TEST_CASE(a_filter_over_its_capacity_is_one_event_per_incident) {
    const bloom_filter f{"small", {.capacity = 500, .ttl = 10s}};
    for (const auto& where : {std::string{"memory:"}, server().unix_address()}) {
        auto w = watched{where};
        const auto inspect = [&](std::int64_t us) {
            w.run([&](auto then) { w.l->filter_status(f, {.now = at(us)}, then); });
        };
        w.record(f, 0, 400, 0);
        inspect(0);
        BOOST_TEST(w.events.empty());
        w.record(f, 400, 800, 0);
        BOOST_TEST(w.events.empty()); // not looked at yet
        inspect(0);
        BOOST_TEST_REQUIRE(w.events.size() == 1U);
        BOOST_TEST(w.events[0].filter == "small");
        BOOST_TEST(to_string(w.events[0]) == "filter over capacity: small");
        inspect(0);
        inspect(10 * second);
        BOOST_TEST(w.events.size() == 1U);
        inspect(20 * second); // the incident is over
        w.record(f, 0, 800, 20 * second);
        inspect(20 * second);
        BOOST_TEST(w.events.size() == 2U);
    }
}

BOOST_AUTO_TEST_CASE(a_limiter_finds_by_itself_that_a_filter_is_over_its_capacity) {
    const bloom_filter f{"busy", {.capacity = 100'000, .error_rate = 0.1}};
    for (const auto& where : {std::string{"memory:"}, server().unix_address()}) {
        auto w = watched{where};
        for (int first = 0; first < 90'000; first += 10'000)
            w.record(f, first, first + 10'000, 0);
        BOOST_TEST(w.events.empty());
        // A call that only asks is not counted, and an id that is not new is.
        for (int first = 90'000; first < 130'000; first += 10'000)
            w.record(f, first, first + 10'000, 0);
        BOOST_TEST(w.events.size() == 1U);
        BOOST_TEST(w.l->statistics().failed == 0U);
        BOOST_TEST(w.l->statistics().checks == 130'000U + w.calls_behind); // inspections are not
    }
}

BOOST_AUTO_TEST_CASE(without_a_function_for_events_no_filter_is_inspected) {
    const bloom_filter f{"busy", {.capacity = 100}};
    auto s = open_store(store_kind::redis_resp3);
    look().must({"CONFIG", "RESETSTAT"});
    (void)record(*s, f, 0, 3'000, 0);
    BOOST_TEST(look().must({"INFO", "commandstats"}).text.find("bitcount") == std::string::npos);
}

} // namespace

BOOST_AUTO_TEST_SUITE_END()
