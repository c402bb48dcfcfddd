// SPDX-License-Identifier: BSL-1.0
//
// Places of a `concurrent` rule on a real cluster while their hash slots move. A call names two
// keys on the server, the value and the set of holders, and nodes reply TRYAGAIN until the hash
// slot has moved: one of the two is here, and one is there or nowhere.

#include "cluster_load.hpp"
#include <support/problems.hpp>

#include <support/live_limiter.hpp>
#include <support/redis_cluster.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(slots_on_a_cluster)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::keys_on;
using test::live;
using test::redis_cluster;
using test::slot_of;

/// Beside another rule, which has a value.
[[nodiscard]] policy beside(const rule& places) {
    return policy{"beside", places, fixed_window(1'000'000, 24h).named("total")};
}
/// Alone: the value, which calls name as well, does not exist.
[[nodiscard]] policy alone(const rule& places) {
    return policy{"alone", places};
}

struct half_move {
    policy (*rules)(const rule& places);
    std::string_view first; ///< the type of the key that moves first
};
constexpr auto half_moves =
    std::array{half_move{&beside, "zset"}, half_move{&beside, "string"}, half_move{&alone, "zset"}};

[[nodiscard]] live patient_limiter(const redis_cluster& c) {
    return live{test::address_of(c), [](config& s) { s.timeout = 20s; }};
}

/// Begins the move of a hash slot, and moves its keys of this type.
void move_half(redis_cluster& c, std::size_t slot, std::size_t from, std::size_t to,
               std::string_view type) {
    c.begin_migration(slot, from, to);
    auto source = c.connect(from);
    const auto keys = source.must({"CLUSTER", "GETKEYSINSLOT", std::to_string(slot), "9"}).elements;
    for (const auto& key : keys)
        if (source.must({"TYPE", key.text}).text == type)
            c.move_key(key.text, from, to);
    auto target = c.connect(to);
    const auto moved = target.must({"CLUSTER", "COUNTKEYSINSLOT", std::to_string(slot)}).integer;
    BOOST_TEST(moved == 1);
}

void move_rest(redis_cluster& c, std::size_t slot, std::size_t from, std::size_t to) {
    (void)c.move_keys(slot, from, to);
    c.end_migration(slot, from, to);
}

[[nodiscard]] slot acquire(live& l, std::string_view key, const policy& p) {
    auto got = slot{};
    l.run([&]() -> asio::awaitable<void> { got = co_await l.limiter.acquire(key, p); });
    BOOST_TEST(static_cast<bool>(got));
    return got;
}

asio::awaitable<std::int64_t> holders(live& l, std::string key, policy p) {
    const auto d = co_await l.limiter.peek(key, p, {.cost = 0});
    co_return d.rules[0].limit - d.rules[0].balance;
}

asio::awaitable<void> until_nobody_holds(live& l, std::string key, policy p) {
    const auto end = std::chrono::steady_clock::now() + test::patience;
    for (auto left = std::int64_t{1}; left != 0;) {
        left = co_await holders(l, key, p);
        if (std::chrono::steady_clock::now() > end)
            throw std::runtime_error{"a place is not given back"};
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(a_place_is_renewed_when_its_hash_slot_has_moved) {
    // Renewed after five seconds; then there are ten to finish a move.
    constexpr auto places = concurrent(1).lease(15s);
    auto c = redis_cluster{};
    auto l = patient_limiter(c);
    const auto keys = keys_on(c, 0, half_moves.size());
    auto held = std::vector<slot>{};
    for (std::size_t i = 0; i < keys.size(); ++i) {
        held.push_back(acquire(l, keys[i], half_moves[i].rules(places)));
        move_half(c, slot_of(keys[i]), 0, 1, half_moves[i].first);
    }
    BOOST_TEST(!l.limiter.last_error());
    l.run([&]() -> asio::awaitable<void> {
        auto told = std::chrono::system_clock::time_point{};
        for (std::size_t i = 0; i < keys.size(); ++i) {
            co_await test::until([&] {
                const auto p = test::last_of(l.limiter);
                return p.last > told && test::has(p.text, "TRYAGAIN");
            });
            BOOST_TEST(l.limiter.statistics().slots_renewed == i);
            move_rest(c, slot_of(keys[i]), 0, 1);
            co_await test::until([&] { return l.limiter.statistics().slots_renewed == i + 1; });
            told = test::last_of(l.limiter).last;
        }
        for (std::size_t i = 0; i < keys.size(); ++i) {
            const auto rules = half_moves[i].rules(places);
            BOOST_TEST(!held[i].lost());
            const auto used = co_await holders(l, keys[i], rules);
            BOOST_TEST(used == 1);
            held[i].release();
            co_await until_nobody_holds(l, keys[i], rules);
        }
    });
    BOOST_TEST(l.limiter.statistics().slots_lost == 0U);
    BOOST_TEST(c.connect(0).keys().empty());
}

BOOST_AUTO_TEST_CASE(a_place_is_given_back_and_granted_when_its_hash_slot_has_moved) {
    for (const auto& half : half_moves) {
        const auto rules = half.rules(concurrent(1).lease(1h));
        auto c = redis_cluster{};
        auto a = patient_limiter(c);
        auto b = patient_limiter(c);
        const auto key = keys_on(c, 0, 1).front();
        auto held = acquire(a, key, rules);
        auto got = std::optional<slot>{};

        // A call comes while the hash slot moves, and the place is held all the time.
        move_half(c, slot_of(key), 0, 1, half.first);
        b.limiter.acquire(key, rules, {.max_wait = wait_options::no_max_wait},
                          [&](error_code ec, slot s) {
                              BOOST_TEST(!ec, ec.message());
                              got = std::move(s);
                          });
        b.run([&]() -> asio::awaitable<void> {
            co_await test::until_reported(b.limiter, "TRYAGAIN");
        });
        move_rest(c, slot_of(key), 0, 1);
        auto owner = c.connect(1);
        const auto asked = test::calls_of(owner, "evalsha");
        b.run([&]() -> asio::awaitable<void> {
            co_await test::until([&] { return test::calls_of(owner, "evalsha") > asked + 2; });
        });
        BOOST_TEST(!got.has_value());

        // The place is given back while it moves on.
        move_half(c, slot_of(key), 1, 2, half.first);
        BOOST_TEST(!a.limiter.last_error());
        const auto token = held.fencing_token();
        held.release();
        a.run([&]() -> asio::awaitable<void> {
            co_await test::until_reported(a.limiter, "TRYAGAIN");
        });
        BOOST_TEST(!got.has_value());
        move_rest(c, slot_of(key), 1, 2);
        a.run([&]() -> asio::awaitable<void> {
            (void)co_await holders(a, key, rules); // which is sent after the release
        });
        b.run([&]() -> asio::awaitable<void> {
            co_await test::until([&] { return got.has_value(); });
            BOOST_TEST_REQUIRE(static_cast<bool>(*got));
            BOOST_TEST(got->fencing_token() > token);
            const auto used = co_await holders(b, key, rules);
            BOOST_TEST(used == 1);
            got->release();
            co_await until_nobody_holds(b, key, rules);
        });
        BOOST_TEST(a.limiter.statistics().slots_lost + b.limiter.statistics().slots_lost == 0U);
        BOOST_TEST(c.owner(slot_of(key)) == 2U);
    }
}

namespace {

/// Callers of two limiters, each of which holds places of one key after the other.
class slot_load {
  public:
    static constexpr std::int64_t limit = 2;
    static constexpr std::size_t callers_per_key = 4;

    slot_load(const redis_cluster& c, std::vector<std::string> keys)
        : keys_(std::move(keys)), holders_(keys_.size()), first_(patient_limiter(c)),
          second_(first_.context.get_executor(), [&c] {
              auto s = config{};
              s.server = test::address_of(c);
              s.timeout = 20s;
              s.on_failure = failure_mode::error;
              return s;
          }()) {
        for (std::size_t i = 0; i < callers_per_key * keys_.size(); ++i)
            asio::co_spawn(first_.context,
                           call(i % 2 == 0 ? first_.limiter : second_, i / callers_per_key),
                           test::rethrow);
    }

    /// Runs the callers until they have held so many more places.
    void run(int more) {
        const auto enough = granted_ + more;
        test::run_until(first_.context, [&] { return granted_ >= enough; });
    }

    void end_and_check() {
        ends_ = true;
        test::run_until(first_.context, [&] { return running_ == 0; });
        first_.run([&]() -> asio::awaitable<void> {
            for (const auto& key : keys_)
                co_await until_nobody_holds(first_, key, places_);
        });
        BOOST_TEST(errors_ == std::vector<std::string>{}, boost::test_tools::per_element());
        BOOST_TEST(most_ == limit);
        BOOST_TEST(first_.limiter.statistics().slots_lost + second_.statistics().slots_lost == 0U);
    }

  private:
    asio::awaitable<void> call(limiter& l, std::size_t key) {
        ++running_;
        while (!ends_) {
            auto [ec, held] =
                co_await l.acquire(keys_[key], places_, {.max_wait = wait_options::no_max_wait},
                                   asio::as_tuple(asio::deferred));
            if (ec || !held) {
                errors_.push_back(ec ? ec.message() : "denied");
                break;
            }
            ++granted_;
            most_ = std::max(most_, ++holders_[key]);
            co_await test::pause_for(1ms);
            if (held.lost())
                errors_.emplace_back("lost");
            --holders_[key];
        }
        --running_;
    }

    const policy places_{"places", concurrent(limit).lease(1h)};
    std::vector<std::string> keys_;
    std::vector<std::int64_t> holders_; ///< at this moment, of each key
    std::int64_t most_ = 0;             ///< of them at once, of one key
    int granted_ = 0;
    int running_ = 0;
    bool ends_ = false;
    std::vector<std::string> errors_;
    live first_;
    limiter second_;
};

} // namespace

BOOST_AUTO_TEST_CASE(hash_slots_move_under_load_and_no_place_has_two_holders) {
    auto c = redis_cluster{};
    const auto keys = keys_on(c, 0, 4);
    auto load = slot_load{c, keys};
    load.run(100);
    for (const auto& key : keys) {
        const auto slot = slot_of(key);
        c.begin_migration(slot, 0, 1);
        while (c.move_keys(slot, 0, 1, 1) != 0)
            load.run(50);
        load.run(50);
        c.end_migration(slot, 0, 1);
        load.run(50);
    }
    load.end_and_check();
    BOOST_TEST(c.connect(0).keys().empty());
}

BOOST_AUTO_TEST_SUITE_END()
