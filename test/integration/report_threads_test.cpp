// SPDX-License-Identifier: BSL-1.0
//
// What a limiter and a source of policies report while the threads of a pool use them: it may be
// read from any thread, and events arrive one after another in their order. ThreadSanitizer finds
// what no count shows.

#include <colimit/limiter.hpp>
#include <colimit/metrics.hpp>
#include <colimit/policy_source.hpp>
#include <support/certificates.hpp>
#include <support/fresh_folder.hpp>
#include <support/redis_server.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(threads_and_reports)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;

constexpr std::size_t pool_threads = 4;
constexpr auto reconnections = 10;

/// The second one has no counter of its own.
const policy first{"first", gcra(100, 1s)};
const policy second{"second", fixed_window(5, 1h)};

[[nodiscard]] config shared(const std::string& server) {
    auto c = config{};
    c.server = server;
    c.thread_safe = true;
    c.timeout = 2s;
    c.advanced.reconnect_delay_max = 10ms;
    c.counted_policies = 1;
    return c;
}

/// Calls from all threads of the pool until it is stopped.
class callers {
  public:
    callers(asio::thread_pool& pool, limiter& l) {
        for (int i = 0; i < count; ++i)
            asio::co_spawn(pool, call(l, i), asio::detached);
    }
    callers(const callers&) = delete;
    callers& operator=(const callers&) = delete;
    /// A failed check must not leave them with what is gone.
    ~callers() {
        ends_ = true;
        while (running_ > 0)
            std::this_thread::sleep_for(1ms);
    }

  private:
    static constexpr int count = 16;

    asio::awaitable<void> call(limiter& l, int i) {
        while (!ends_) {
            const auto& p = i % 2 == 0 ? first : second;
            const auto [ec, d] = co_await l.allow("k", p, asio::as_tuple(asio::use_awaitable));
            if (ec == errc::closed)
                break;
        }
        --running_;
    }

    std::atomic<bool> ends_ = false;
    std::atomic<int> running_ = count;
};

/// A function for events that is right only if one of them runs at a time.
struct event_order {
    void note(const std::string& line) {
        overlaps += ++inside != 1 ? 1 : 0;
        std::this_thread::sleep_for(15ms); // the next one could begin meanwhile
        lines.push_back(line);
        --inside;
        ++seen;
    }

    int inside = 0;
    int overlaps = 0;
    std::vector<std::string> lines;
    std::atomic<std::size_t> seen = 0;
};

} // namespace

BOOST_AUTO_TEST_CASE(what_a_limiter_reports_may_be_read_while_threads_use_it) {
    auto server = test::redis_server{};
    auto pool = asio::thread_pool{pool_threads};
    auto l = limiter{pool.get_executor(), shared(server.address())};
    {
        const auto all = callers{pool, l};
        auto before = statistics{};
        for (auto outages = 0; outages < 5; before = l.statistics()) {
            const auto of_policies = l.policy_statistics();
            auto counted = std::uint64_t{0};
            for (const auto& p : of_policies)
                counted += p.ended();
            const auto m = metrics_of(l);
            BOOST_TEST(counted <= m.statistics.ended());
            BOOST_TEST(m.statistics.ended() >= before.ended());
            BOOST_TEST(m.statistics.checks >= m.statistics.ended());
            BOOST_TEST(!to_prometheus(m).empty());
            const auto h = l.health();
            BOOST_TEST((h.state != health_state::closed));
            const auto problem = l.last_error();
            if (problem)
                BOOST_TEST(!problem->text.empty());
            if (m.statistics.reconnects >= static_cast<std::uint64_t>(outages) &&
                h.state == health_state::ready) {
                server.restart();
                ++outages;
            }
        }
    }
    l.close();
    BOOST_TEST((l.health().state == health_state::closed));
    BOOST_TEST(l.last_error().has_value());
    BOOST_TEST(l.policy_statistics().size() == 2U); // the other one is that of all others
    pool.join();
}

BOOST_AUTO_TEST_CASE(events_of_a_limiter_arrive_one_after_another_in_their_order) {
    auto server = test::redis_server{};
    auto pool = asio::thread_pool{pool_threads};
    auto order = event_order{};
    auto settings = shared(server.address());
    auto connections = std::atomic<int>{0};
    settings.on_event = [&](const event& e) {
        if (e.kind == event_kind::connected || e.kind == event_kind::disconnected)
            order.note(std::string{to_string(e.kind)});
        else
            order.note("");
        connections += e.kind == event_kind::connected ? 1 : 0;
    };
    auto l = limiter{pool.get_executor(), settings};
    {
        const auto all = callers{pool, l};
        for (auto i = 1; i <= reconnections; ++i) {
            while (connections < i)
                std::this_thread::sleep_for(1ms);
            if (i < reconnections)
                server.restart();
        }
    }
    l.close();
    pool.join();
    std::erase(order.lines, "");
    BOOST_TEST(order.overlaps == 0);
    BOOST_TEST(order.lines.size() >= 2U * reconnections - 1);
    for (std::size_t i = 0; i < order.lines.size(); ++i)
        BOOST_TEST(order.lines[i] == (i % 2 == 0 ? "connected" : "disconnected"));
}

BOOST_AUTO_TEST_CASE(events_of_a_source_arrive_one_after_another_in_their_order) {
    const auto folder = test::fresh_folder{};
    const auto file = folder.path() + "/policies.json";
    const auto write = [&](int version) {
        test::write_file(file,
                         R"({"version": )" + std::to_string(version) + R"(, "policies": {}})");
    };
    constexpr auto versions = 30;
    write(1);
    auto pool = asio::thread_pool{pool_threads};
    auto order = event_order{};
    auto options = policy_source_options{};
    options.poll_interval = 10ms;
    options.on_event = [&](const policy_event& e) {
        order.note(to_string(e.kind) == "loaded" ? std::to_string(e.version.value_or(0)) : "");
    };
    {
        const auto source = policy_source{pool.get_executor(), file, options};
        for (auto version = 2; version <= versions; ++version) {
            write(version);
            while (source.status().version != version)
                std::this_thread::sleep_for(1ms);
        }
    }
    pool.join();
    std::erase(order.lines, ""); // a file that is read while it is written
    BOOST_TEST(order.overlaps == 0);
    BOOST_TEST_REQUIRE(order.lines.size() == std::size_t{versions});
    for (std::size_t i = 0; i < order.lines.size(); ++i)
        BOOST_TEST(order.lines[i] == std::to_string(i + 1));
}

/// With a document in Redis; the last call ends it, from a thread that is none of the pool's.
BOOST_AUTO_TEST_CASE(a_source_is_used_and_closed_by_other_threads_than_its_own) {
    auto server = test::redis_server{};
    auto look = server.connect();
    const auto folder = test::fresh_folder{};
    const auto file = folder.path() + "/policies.json";
    test::write_file(file, R"({"policies": {}})");
    auto settings = config{};
    settings.server = server.address();
    settings.advanced.reconnect_delay_max = 10ms;
    auto options = policy_source_options{};
    options.poll_interval = 10ms;
    options.copy = folder.path() + "/copy";
    auto pool = asio::thread_pool{pool_threads};
    auto source = policy_source{pool.get_executor(), file, settings, options};
    auto ends = std::atomic<bool>{false};
    auto older = std::atomic<int>{0};
    auto users = std::vector<std::thread>{};
    for (auto i = 0; i < 3; ++i)
        users.emplace_back([&] {
            auto last = std::int64_t{0};
            while (!ends) {
                const auto version = source.current()->version().value_or(0);
                older += version < last || source.status().version.value_or(0) < version ? 1 : 0;
                last = version;
                source.reload();
                std::this_thread::yield();
            }
            source.close();
        });
    for (auto version = 1; version <= 20; ++version) {
        look.must({"HSET", "colimit:policies", "version", std::to_string(version), "document",
                   R"({"policies": {}})"});
        while (source.status().version != version)
            std::this_thread::sleep_for(1ms);
    }
    ends = true;
    for (auto& u : users)
        u.join();
    pool.join(); // returns, as the source is closed
    BOOST_TEST(older == 0);
    BOOST_TEST((source.current()->version() == 20));
}

BOOST_AUTO_TEST_SUITE_END()
