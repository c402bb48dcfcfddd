// SPDX-License-Identifier: BSL-1.0
//
// More calls than a server answers, and more keys than there is memory for: what is bounded stays
// so, and what it was before comes back.

#include <colimit/local_limiter.hpp>
#include <memory/index.hpp>
#include <support/asked_number.hpp>
#include <support/live_limiter.hpp>
#include <support/on_failure.hpp>
#include <support/peak_memory.hpp>
#include <support/rounds.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(pressure)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using steady = std::chrono::steady_clock;

constexpr std::int64_t mib = std::int64_t{1024} * 1024;
const auto rules = policy{"p", gcra(1'000'000, 24h * 36'500)};

/// Callers that ask again as soon as they are answered.
class callers {
  public:
    explicit callers(test::live& l) : live_(l) {
        for (auto i = 0; i < 256; ++i)
            asio::co_spawn(live_.context, call(i), test::rethrow);
    }

    /// Returns how many answers they get per second, measured over a tenth of one.
    asio::awaitable<double> measure() {
        const auto begin = steady::now();
        const auto before = answered_;
        co_await test::pause_for(100ms);
        const std::chrono::duration<double> time = steady::now() - begin;
        co_return static_cast<double>(answered_ - before) / time.count();
    }

    asio::awaitable<void> finish() {
        stop_ = true;
        co_await test::until([this] { return running_ == 0; });
    }

  private:
    asio::awaitable<void> call(int i) {
        const auto key = "caller " + std::to_string(i);
        ++running_;
        while (!stop_) {
            const auto [ec, d] = co_await live_.allow(key, rules);
            answered_ += ec ? 0 : 1;
            if (ec)
                co_await test::pause_for(1ms);
        }
        --running_;
    }

    test::live& live_;
    std::int64_t answered_ = 0;
    int running_ = 0;
    bool stop_ = false;
};

/// Returns how many checks per second each of two limiters makes. They take turns, so that other
/// load on the machine slows both.
std::pair<double, double> rates_of(test::live& one, test::live& other) {
    constexpr auto turns = 11;
    const auto add_rate = [](test::live& l, double& to) {
        l.run([&]() -> asio::awaitable<void> {
            auto all = callers{l};
            to += co_await all.measure() / turns;
            co_await all.finish();
        });
    };
    auto rates = std::pair{0.0, 0.0};
    for (auto turn = 0; turn < turns; ++turn) {
        add_rate(one, rates.first);
        add_rate(other, rates.second);
    }
    return rates;
}

/// Calls that were submitted, and what became of them.
struct flood {
    std::int64_t submitted = 0;
    std::int64_t ended = 0;
    std::int64_t granted = 0;
    std::int64_t refused = 0; ///< too_many_in_flight
    std::int64_t late = 0;    ///< outcome_unknown, deadline_exceeded, unavailable
    std::int64_t most = 0;    ///< in flight at once

    /// So many more, some at a time, between which the context does what it has to.
    void submit(test::live& l, std::int64_t calls) {
        constexpr auto together = 1'000;
        for (std::int64_t n = 0; n < calls; ++n) {
            const auto key = "flood " + std::to_string(n % 100'000);
            ++submitted;
            l.limiter.allow(key, rules, [this](error_code ec, const decision& d) {
                ++ended;
                granted += !ec && d.allowed() ? 1 : 0;
                refused += ec == errc::too_many_in_flight ? 1 : 0;
                late += ec == errc::outcome_unknown || ec == errc::deadline_exceeded ||
                                ec == errc::unavailable
                            ? 1
                            : 0;
            });
            if (n % together == together - 1) {
                l.context.restart();
                l.context.poll();
                most = std::max(most, submitted - ended);
            }
        }
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_million_calls_to_a_frozen_server_take_no_more_than_there_may_be_in_flight) {
    constexpr auto calls = std::int64_t{1'000'000};
    auto server = test::redis_server{};
    auto l = test::live{server.address(), [](config& c) {
                            c.timeout = 10s; // so that all are submitted before the first ends
                            test::errors_come_through(c);
                        }};
    const auto cap = static_cast<std::int64_t>(config{}.advanced.max_in_flight);
    l.run([&]() -> asio::awaitable<void> { co_await l.limiter.ready(); });
    // The cost of the bound is measured once, with a server that is slow for a moment.
    server.stop();
    auto first = flood{};
    first.submit(l, cap);
    server.cont();
    test::run_until(l.context, [&] { return first.ended == cap; });
    BOOST_TEST(first.refused == 0);

    server.stop();
    const auto memory = test::peak_memory{};
    auto all = flood{};
    all.submit(l, calls);
    BOOST_TEST(all.most <= cap);
    BOOST_TEST(all.refused >= calls / 2);
    test::run_until(l.context, [&] { return all.ended == calls; });
    BOOST_TEST(all.granted == 0);
    BOOST_TEST(all.refused + all.late == calls);
    BOOST_TEST_MESSAGE("a million calls: refused at once " << all.refused << ", memory grew by "
                                                           << memory.growth() / 1024 << " KiB");
    BOOST_TEST(memory.growth() <= test::growth_of_memory(16 * mib));

    server.cont();
    auto unharmed = test::live{server.address()};
    unharmed.run([&]() -> asio::awaitable<void> { co_await unharmed.limiter.ready(); });
    auto is_as_fast = false;
    for (auto tries = 0; !is_as_fast && tries < 10; ++tries) {
        const auto [rate, usual] = rates_of(l, unharmed);
        is_as_fast = usual > 0 && rate >= 0.9 * usual;
        BOOST_TEST_MESSAGE("after the thaw " << rate << " per second, another limiter " << usual);
    }
    BOOST_TEST(is_as_fast);
    auto last = flood{};
    last.submit(l, cap);
    test::run_until(l.context, [&] { return last.ended == cap; });
    BOOST_TEST(last.refused == 0); // of what may be in flight nothing is taken any more
}

// COLIMIT_FLOOD_KEYS may ask for another number of keys.
BOOST_AUTO_TEST_CASE(ten_million_keys_free_nobody_who_is_limited_and_take_no_more_memory) {
    constexpr auto capacity = 100'000;
    const auto keys = test::asked_number("COLIMIT_FLOOD_KEYS", 10'000'000);
    constexpr auto victims = 100;
    const auto hourly = policy{"hourly", gcra(5, 1h)};
    auto now = time_point{1'700'000'000s};
    const auto memory = test::peak_memory{};
    auto store = local_limiter{capacity};
    const auto key = [](const char* name, int i) { return name + std::to_string(i); };
    for (auto i = 0; i < victims; ++i)
        BOOST_TEST(store.allow(key("victim ", i), hourly, {.cost = 5, .now = now}).allowed());
    auto freed = 0;
    auto served = 0;
    for (auto i = 0; i < keys; ++i) {
        (void)store.allow(key("flood ", i), hourly, {.now = now});
        if (i % 100'000 == 0) {
            now += 500'000'000us * 100'000 / keys; // less than a token in all
            for (auto v = 0; v < victims; ++v)
                freed += store.allow(key("victim ", v), hourly, {.now = now}).allowed() ? 1 : 0;
        }
    }
    BOOST_TEST(freed == 0);
    BOOST_TEST(store.statistics().states <= capacity);
    BOOST_TEST(store.statistics().overflowed > 0U);
    BOOST_TEST_MESSAGE(keys << " keys: memory grew by " << memory.growth() / 1024 << " KiB");
    BOOST_TEST(memory.growth() <= test::growth_of_memory(16 * mib));
    // No key is locked out forever: a new key is allowed when the flood has recovered.
    for (auto hour = 0; hour < 3; ++hour) {
        now += 1h;
        for (auto i = 0; i < victims; ++i)
            served +=
                store.allow(key("newcomer ", i + hour * victims), hourly, {.now = now}).allowed()
                    ? 1
                    : 0;
    }
    BOOST_TEST(served == 3 * victims);
}

// Time would say what the neighbours do. What a search costs is how many keys it has to look at
// that are not the one.
BOOST_AUTO_TEST_CASE(keys_that_were_crafted_to_collide_cost_no_more_than_others) {
    constexpr auto keys = 100'000U;
    using hash::digest;
    const auto guessed = digest{1, 2};
    const auto secret = digest{0x123456789abcdef0, 0x0fedcba987654321};
    // Under the secret that the attacker believes in, the homes of all of these lie in one part in
    // 32 of the table, so that each has to be looked for behind the others.
    auto crafted = std::vector<std::string>{};
    auto others = std::vector<std::string>{};
    for (std::uint64_t i = 0; crafted.size() < keys; ++i) {
        auto key = std::to_string(i);
        if (others.size() < keys)
            others.push_back(key);
        if (hash::key_digest(hash::begin_key_hash(guessed, {}), key).low >> 59 == 0)
            crafted.push_back(std::move(key));
    }
    const auto looks_at = [](const std::vector<std::string>& row, const digest& with) {
        auto index = memory::index{keys};
        auto ids = std::vector<digest>{};
        for (const auto& key : row) {
            ids.push_back(hash::key_digest(hash::begin_key_hash(with, {}), key));
            index.insert(ids.back(), static_cast<std::uint32_t>(ids.size() - 1));
        }
        auto looks = std::int64_t{0};
        for (std::uint32_t i = 0; i < ids.size(); i += 16) // each may be a long search
            (void)index.find(ids[i], [&](std::uint32_t cell) {
                ++looks;
                return cell == i;
            });
        return looks;
    };
    const auto usual = looks_at(others, secret);
    const auto attacked = looks_at(crafted, secret);
    // Fewer of them, or this would take minutes.
    crafted.resize(30'000);
    others.resize(30'000);
    const auto usual_of_few = looks_at(others, secret);
    const auto known = looks_at(crafted, guessed);
    BOOST_TEST_MESSAGE("cells looked at: usual " << usual << ", crafted " << attacked << "; of few "
                                                 << usual_of_few << ", were the secret known "
                                                 << known);
    BOOST_TEST(2 * attacked <= 3 * usual);
    BOOST_TEST(4 * known > 5 * usual_of_few); // they are crafted indeed
}

BOOST_AUTO_TEST_SUITE_END()
