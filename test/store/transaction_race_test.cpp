// SPDX-License-Identifier: BSL-1.0
//
// Many clients of one key without scripts: whatever their order and their clocks, no window holds
// more than the limit. (The windows of a log are all intervals of its period, those of a fixed
// window the lifetimes of its key.)

#include "scriptless.hpp"

#include <redis/multi/multi_queue.hpp>
#include <support/fake_operation.hpp>
#include <support/live_limiter.hpp>
#include <support/rng.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(transaction_races)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;

/// How long several clients ask: for so long, and until they have so many tokens, which takes
/// longer where the process is halted meanwhile; but ten seconds at most.
class effort {
  public:
    effort(std::chrono::milliseconds time, std::int64_t tokens) : time_(time), tokens_(tokens) {}

    void add(std::int64_t tokens) noexcept { taken_ += tokens; }

    [[nodiscard]] bool is_over() const {
        const auto time = std::chrono::steady_clock::now() - begin_;
        return time >= (taken_ < tokens_ ? 10s : time_);
    }

  private:
    std::chrono::milliseconds time_;
    std::int64_t tokens_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    std::atomic<std::int64_t> taken_ = 0;
};

/// When a client's calls were granted, according to the server clock.
using grants = std::vector<time_point>;

/// Asks, `at_once` calls at a time.
[[nodiscard]] grants hammer(const std::string& server, const policy& p, effort& of_all,
                            int at_once) {
    auto l = live{server, [](config& c) {
                      c.advanced.mode = execution_mode::multi;
                      c.timeout = 10s;
                  }};
    auto granted = grants{};
    while (!of_all.is_over()) {
        auto left = at_once;
        for (int i = 0; i < at_once; ++i)
            l.limiter.allow("k", p, [&](error_code ec, const decision& d) {
                --left;
                if (ec || !d.allowed())
                    return;
                of_all.add(1);
                granted.push_back(d.server_time);
            });
        run_until(l.context, [&left] { return left == 0; });
    }
    return granted;
}

/// A client without a limiter around it, whose clock is any time off.
class direct_client {
  public:
    direct_client(const redis_server& server, std::int64_t off, std::string origin)
        : off_(off), line_(server.connect()),
          queue_({.prefix = "colimit", .clock = [this] { return here(); }}) {
        const auto request = here();
        const auto time = line_.time();
        queue_.begin_connection(
            {.origin = std::move(origin), .time = time, .asked = request, .answered = here()});
    }

    decision allow(const policy& p) {
        auto op = fake_operation{};
        op.deadline = here() + 3'600'000'000;
        BOOST_TEST_REQUIRE(!queue_.submit(op, "k", detail::access::data(p)));
        while (op.is_held || queue_.wants_to_write() || queue_.expects_reply()) {
            auto out = std::string{};
            queue_.write(out, 0, 0);
            line_.send(out);
            while (queue_.expects_reply())
                BOOST_TEST_REQUIRE((line_.receive([this](const auto& reply, auto bytes) {
                    return queue_.read_reply(reply, bytes);
                }) == redis::recovery::keep));
        }
        BOOST_TEST_REQUIRE((queue_.done.pop_front() == &op)); // which ends here
        BOOST_TEST_REQUIRE(!op.ec);
        return op.result;
    }

    [[nodiscard]] std::int64_t server_time() { return line_.time(); }

  private:
    [[nodiscard]] std::int64_t here() const {
        const auto now = std::chrono::steady_clock::now().time_since_epoch();
        return std::chrono::duration_cast<std::chrono::microseconds>(now).count() + off_;
    }

    std::int64_t off_;
    raw_client line_;
    redis::multi_queue queue_;
};

/// A grant by a fixed window, which ended between these times of this machine's clock: further
/// apart the longer the call took.
struct share {
    std::int64_t earliest_end = 0;
    std::int64_t latest_end = 0;
    std::int64_t tokens = 0;
};

/// Returns the time of this machine's clock, which is its servers' clock, too.
[[nodiscard]] std::int64_t wall_clock() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

/// Asks for 1 to 4 tokens, often for as many as fit, and in the end until everything that it has to
/// give back has been sent.
[[nodiscard]] std::vector<share> take_shares(const std::string& server, const policy& p,
                                             effort& of_all, unsigned seed) {
    auto l = live{server, [](config& c) {
                      c.advanced.mode = execution_mode::multi;
                      c.timeout = 10s;
                  }};
    auto random = rng{seed};
    auto granted = std::vector<share>{};
    for (auto is_last = false; !is_last;) {
        is_last = of_all.is_over();
        auto left = 3;
        for (auto i = left; i != 0; --i) {
            const auto cost = is_last ? 0 : random.between(1, 4);
            const auto least = random.percent(50) ? std::min<std::int64_t>(cost, 1) : cost;
            const auto note = [&](error_code ec, const decision& d) {
                --left;
                if (ec || d.granted == 0)
                    return;
                of_all.add(d.granted);
                constexpr std::int64_t rounding = 1'000; // a TTL is in milliseconds
                const auto rest = d.reset_after.count();
                const auto earliest = d.server_time.time_since_epoch().count() - rounding;
                granted.push_back({.earliest_end = earliest + rest,
                                   .latest_end = wall_clock() + rest,
                                   .tokens = d.granted});
            };
            l.limiter.allow("k", p, {.cost = cost, .at_least = least}, note);
        }
        run_until(l.context, [&left] { return left == 0; });
    }
    return granted;
}

/// The same with four clients at once.
[[nodiscard]] std::vector<share> take_shares(const redis_server& server, const policy& p,
                                             effort&& of_all) {
    auto of_client = std::vector<std::vector<share>>(4);
    auto clients = std::vector<std::thread>{};
    for (auto& mine : of_client)
        clients.emplace_back([&, seed = static_cast<unsigned>(clients.size())] {
            mine = take_shares(server.address(), p, of_all, seed);
        });
    for (auto& c : clients)
        c.join();
    auto all = std::vector<share>{};
    for (const auto& mine : of_client)
        all.insert(all.end(), mine.begin(), mine.end());
    return all;
}

[[nodiscard]] std::int64_t sum_of(const std::vector<share>& all) {
    auto sum = std::int64_t{0};
    for (const auto& one : all)
        sum += one.tokens;
    return sum;
}

/// Returns the sum of the tokens of windows that certainly ended within so long from a time.
[[nodiscard]] std::int64_t sum_within(const std::vector<share>& all, std::int64_t from,
                                      std::int64_t length) {
    auto sum = std::int64_t{0};
    for (const auto& one : all)
        if (one.earliest_end >= from && one.latest_end < from + length)
            sum += one.tokens;
    return sum;
}

/// The ends of two windows are a period apart, so tokens of windows that ended within less are of
/// one window.
void check_windows(const redis_server& server, const policy& p, std::chrono::milliseconds time,
                   std::int64_t limit, std::chrono::microseconds period) {
    const auto tokens = 2 * limit + 1; // of three windows
    const auto all = take_shares(server, p, {time, tokens});
    for (const auto& one : all)
        BOOST_TEST(sum_within(all, one.earliest_end, period.count()) <= limit);
    BOOST_TEST(sum_of(all) >= tokens);
}

} // namespace

/// Calls are executed several windows after they were sent, and so late they start a window that is
/// too long.
BOOST_AUTO_TEST_CASE(P12_no_fixed_window_grants_more_than_the_limit_after_halts_of_the_server) {
    constexpr auto limit = 500;
    constexpr auto period = 400ms;
    auto server = redis_server{};
    auto halts = std::jthread{[&server] {
        for (auto i = 0; i < 2; ++i) {
            std::this_thread::sleep_for(500ms);
            server.stop();
            std::this_thread::sleep_for(1'100ms);
            server.cont();
        }
    }};
    check_windows(server, policy{"tight", fixed_window(limit, period)}, 4s, limit, period);
}

BOOST_AUTO_TEST_CASE(P12_no_fixed_window_grants_more_than_the_limit_whoever_hammers) {
    constexpr auto limit = 500;
    constexpr auto period = 400ms;
    for (const auto& r : {fixed_window(limit, period), fixed_window(limit, period).from_first()}) {
        auto server = redis_server{};
        auto look = server.connect();
        check_windows(server, policy{"tight", r, sliding_log(10'000, 1s)}, 2s, limit, period);
        for (const auto& name : look.keys())
            BOOST_TEST(look.pttl(name) != -1, name);
    }
}

BOOST_AUTO_TEST_CASE(the_count_of_a_window_is_the_sum_of_what_was_granted) {
    const policy wide{"wide", fixed_window(1'000, 1h).from_first(),
                      fixed_window(1'500, 24h * 365).named("year")};
    auto server = redis_server{};
    auto look = server.connect();
    const auto sum = sum_of(take_shares(server, wide, {700ms, 991}));
    // The last tokens may be denied to all calls that race for them.
    BOOST_TEST(sum <= 1'000);
    BOOST_TEST(sum > 990);
    for (const std::string rule : {"fixed_window", "year"})
        BOOST_TEST(look.get(scriptless::name_of(wide, "k", "w:" + rule + ":")).value() ==
                   std::to_string(sum));
}

BOOST_AUTO_TEST_CASE(P12_no_window_holds_more_than_the_limit_whoever_hammers) {
    constexpr auto limit = 20;
    constexpr auto period = 50ms;
    const policy tight{"tight", sliding_log(limit, period)};
    auto server = redis_server{};
    auto all = grants{};
    auto of_all = effort{1500ms, 10 * limit};
    auto of_client = std::vector<grants>(4);
    auto clients = std::vector<std::thread>{};
    for (auto& mine : of_client) {
        const auto at_once = static_cast<int>(clients.size()) + 1;
        clients.emplace_back(
            [&, at_once] { mine = hammer(server.address(), tight, of_all, at_once); });
    }
    for (auto& c : clients)
        c.join();
    for (const auto& mine : of_client)
        all.insert(all.end(), mine.begin(), mine.end());
    std::ranges::sort(all);
    BOOST_TEST(all.size() >= limit);
    for (std::size_t i = limit; i < all.size(); ++i)
        BOOST_TEST((all[i] - all[i - limit]).count() >= std::chrono::microseconds{period}.count());
}

BOOST_AUTO_TEST_CASE(P13_of_a_long_window_no_more_than_the_limit_is_granted) {
    const policy wide{"wide", sliding_log(100, 1h)};
    auto server = redis_server{};
    auto of_all = effort{500ms, 100};
    auto of_client = std::vector<grants>(4);
    auto clients = std::vector<std::thread>{};
    for (auto& mine : of_client)
        clients.emplace_back([&] { mine = hammer(server.address(), wide, of_all, 3); });
    for (auto& c : clients)
        c.join();
    auto sum = std::size_t{0};
    for (const auto& mine : of_client)
        sum += mine.size();
    // Calls of cost 1 that race for the last token cannot all be denied: one of them is first.
    BOOST_TEST(sum == 100U);
}

BOOST_AUTO_TEST_CASE(clients_whose_clocks_are_hours_apart_share_one_limit) {
    const policy five{"five", sliding_log(5, 1min)};
    constexpr std::int64_t hours = 5 * 3'600'000'000;
    auto server = redis_server{};
    auto right = direct_client{server, 0, "a.1."};
    auto ahead = direct_client{server, hours, "b.2."};
    auto behind = direct_client{server, -hours, "c.3."};
    auto granted = 0;
    for (int i = 0; i < 4; ++i)
        for (auto* client : {&right, &ahead, &behind}) {
            const auto before = client->server_time();
            const auto d = client->allow(five);
            granted += d.allowed() ? 1 : 0;
            const auto time = d.server_time.time_since_epoch().count();
            BOOST_TEST(time <= client->server_time());
            BOOST_TEST(time > before - second);
            if (!d.allowed())
                BOOST_TEST(d.retry_after.count() <= 61 * second);
        }
    BOOST_TEST(granted == 5);
    auto key = name_of(five, "k");
    key.insert(key.size() - std::string_view{"k:k"}.size(), "t");
    BOOST_TEST(server.connect().must({"ZCARD", key}).integer == 5);
}

BOOST_AUTO_TEST_SUITE_END()
