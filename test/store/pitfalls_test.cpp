// SPDX-License-Identifier: BSL-1.0
//
// Mistakes of limiters that articles print, each on a real server, and colimit on the same input. A
// naive function is one such limiter, with the commands that it sends; its times are milliseconds,
// as in articles.

#include "stores.hpp"

#include <colimit/limiter.hpp>
#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/io_context.hpp>

#include <array>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

BOOST_AUTO_TEST_SUITE(pitfalls)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;

// Every limiter of this file: three per second.
constexpr std::int64_t limit = 3;
constexpr std::int64_t period = 1000;
const policy three_log{"three-log", sliding_log(limit, 1s)};
const policy three_window{"three-window", fixed_window(limit, 1s)};

constexpr std::int64_t start = 1'700'000'000'000;
[[nodiscard]] constexpr time_point at_ms(std::int64_t ms) {
    return time_point{std::chrono::milliseconds{ms}};
}

/// Returns the reply, a number, to a command of words and numbers.
template<class... Words>
std::int64_t number(raw_client& client, const Words&... words) {
    const auto text = [](const auto& word) {
        if constexpr (std::integral<std::decay_t<decltype(word)>>)
            return std::to_string(word);
        else
            return std::string{word};
    };
    const auto texts = std::array{text(words)...};
    return [&]<std::size_t... I>(std::index_sequence<I...> /*all*/) {
        return client.must({texts[I]...}).integer;
    }(std::make_index_sequence<sizeof...(Words)>{});
}

/// Returns how many of `calls` are allowed.
template<class Call>
int count_allowed(int calls, Call call) {
    auto allowed = 0;
    for (int i = 0; i < calls; ++i)
        allowed += call() ? 1 : 0;
    return allowed;
}

[[nodiscard]] std::unique_ptr<open_limiter> on_redis() {
    return open_store(store_kind::redis_resp3);
}

// A sorted set whose members are times: an event replaces another of the same millisecond.
bool with_times_as_members(std::int64_t now) {
    number(look(), "ZREMRANGEBYSCORE", "k", 0, now - period);
    if (number(look(), "ZCARD", "k") >= limit)
        return false;
    number(look(), "ZADD", "k", now, now);
    return true;
}

BOOST_AUTO_TEST_CASE(two_events_in_one_millisecond_are_two) {
    const auto s = on_redis();
    BOOST_TEST(count_allowed(10, [] { return with_times_as_members(start); }) == 10);
    BOOST_TEST(number(look(), "ZCARD", "k") == 1); // of ten
    BOOST_TEST(count_allowed(10, [&] {
                   return s->allow("k", three_log, {.now = at_ms(start)}).allowed();
               }) == limit);
}

// INCR returns the count with this call, so the limit itself is still allowed.
bool with_less_after_incr() {
    const auto count = number(look(), "INCR", "k");
    if (count == 1)
        number(look(), "PEXPIRE", "k", 3'600'000);
    return count < limit;
}

BOOST_AUTO_TEST_CASE(the_last_call_within_the_limit_is_allowed) {
    const auto s = on_redis();
    BOOST_TEST(count_allowed(10, with_less_after_incr) == limit - 1);
    BOOST_TEST(count_allowed(10, [&] {
                   return s->allow("k", three_window, {.now = at_ms(start)}).allowed();
               }) == limit);
}

// The script compares the count without this call, so at the limit it must deny.
bool with_greater_in_a_script() {
    return number(look(), "EVAL", R"(
        local count = tonumber(redis.call('GET', KEYS[1]) or '0')
        if count > tonumber(ARGV[1]) then
            return 0
        end
        redis.call('INCR', KEYS[1])
        redis.call('PEXPIRE', KEYS[1], ARGV[2])
        return 1)",
                  1, "k", limit, 3'600'000) == 1;
}

BOOST_AUTO_TEST_CASE(the_first_call_beyond_the_limit_is_denied) {
    const auto s = on_redis();
    BOOST_TEST(count_allowed(10, with_greater_in_a_script) == limit + 1);
    BOOST_TEST(count_allowed(10, [&] {
                   return s->allow("k", three_window, {.now = at_ms(start)}).allowed();
               }) == limit);
}

// Counts events that have left the window, because it counts before it removes them.
bool with_zcard_before_trimming(std::int64_t now, std::string_view member) {
    if (number(look(), "ZCARD", "k") >= limit)
        return false;
    number(look(), "ZREMRANGEBYSCORE", "k", 0, now - period);
    number(look(), "ZADD", "k", now, member);
    return true;
}

BOOST_AUTO_TEST_CASE(events_that_have_left_the_window_do_not_count) {
    const auto s = on_redis();
    struct call {
        std::int64_t after;
        bool naive;
        bool exact;
    };
    // The first two events have left the window of the last call.
    for (const auto& c : {call{0, true, true}, call{100, true, true}, call{900, true, true},
                          call{1000 + 101, false, true}}) {
        const auto now = start + c.after;
        BOOST_TEST(with_zcard_before_trimming(now, std::to_string(now)) == c.naive);
        BOOST_TEST(s->allow("k", three_log, {.now = at_ms(now)}).allowed() == c.exact);
    }
}

// Two steps: other clients are between them.
struct check_then_incr {
    raw_client client = server().connect();

    bool is_allowed() { return std::stoll(client.get("k").value_or("0")) < limit; }
    void record() { number(client, "INCR", "k"); }
};

BOOST_AUTO_TEST_CASE(two_clients_cannot_both_take_the_last_token) {
    const auto s = on_redis();
    number(look(), "INCRBY", "k", limit - 1);
    check_then_incr first;
    check_then_incr second;
    const auto first_may = first.is_allowed();
    const auto second_may = second.is_allowed();
    BOOST_TEST((first_may && second_may));
    first.record();
    second.record();
    BOOST_TEST(look().get("k").value() == std::to_string(limit + 1));

    // Two limiters with a connection each, whose calls are made at the same time.
    BOOST_TEST(s->allow("k", three_log, {.cost = limit - 1, .now = at_ms(start)}).allowed());
    boost::asio::io_context context;
    config settings;
    settings.server = server().unix_address();
    settings.timeout = 10s;
    limiter a{context.get_executor(), settings};
    limiter b{context.get_executor(), settings};
    auto decided = 0;
    auto allowed = 0;
    for (auto* one : {&a, &b})
        one->allow("k", three_log, {.now = at_ms(start)}, [&](error_code ec, const decision& d) {
            BOOST_TEST(!ec);
            ++decided;
            allowed += d.allowed() ? 1 : 0;
        });
    run_until(context, [&] { return decided == 2; });
    BOOST_TEST(allowed == 1);
}

// Records first and counts afterwards, so denied calls stay.
bool with_denied_calls_recorded(std::int64_t now, std::string_view member) {
    number(look(), "ZREMRANGEBYSCORE", "k", 0, now - period);
    number(look(), "ZADD", "k", now, member);
    return number(look(), "ZCARD", "k") <= limit;
}

BOOST_AUTO_TEST_CASE(denied_calls_take_no_memory_and_do_not_prolong_the_denial) {
    const auto s = on_redis();
    auto naive = 0;
    auto exact = 0;
    const auto call_at = [&](std::int64_t now, int i) {
        naive += with_denied_calls_recorded(now, std::to_string(i)) ? 1 : 0;
        exact += s->allow("k", three_log, {.now = at_ms(now)}).allowed() ? 1 : 0;
    };
    for (int i = 0; i < limit; ++i)
        call_at(start, i);
    BOOST_TEST(naive == limit);
    BOOST_TEST(exact == limit);
    const auto naive_size = number(look(), "MEMORY", "USAGE", "k");
    const auto log_name = log_name_of(three_log, "k");
    const auto exact_size = number(look(), "MEMORY", "USAGE", log_name);

    constexpr int denied = 500;
    for (int i = 0; i < denied; ++i)
        call_at(start + 1 + i, 100 + i);
    BOOST_TEST(number(look(), "ZCARD", "k") == limit + denied);
    BOOST_TEST(number(look(), "MEMORY", "USAGE", "k") > 10 * naive_size);
    BOOST_TEST(number(look(), "MEMORY", "USAGE", log_name) == exact_size);

    // A client that tries again ten times per second: once a second has passed it is allowed.
    naive = exact = 0;
    for (int i = 0; i < 10; ++i)
        call_at(start + period + 100 * i, 1000 + i);
    BOOST_TEST(naive == 0);
    BOOST_TEST(exact == limit);
}

// Two commands: a process that ends between them leaves a key that never expires.
bool with_incr_and_expire(raw_client& client, bool crashes = false) {
    const auto count = number(client, "INCR", "k");
    if (crashes)
        return false;
    if (count == 1)
        number(client, "PEXPIRE", "k", period);
    return count <= limit;
}

BOOST_AUTO_TEST_CASE(a_crash_leaves_no_key_without_a_ttl) {
    const auto s = on_redis();
    {
        auto process = server().connect();
        with_incr_and_expire(process, true);
    }
    BOOST_TEST(count_allowed(10, [] { return with_incr_and_expire(look()); }) == limit - 1);
    BOOST_TEST(look().pttl("k") == -1); // denied until an operator deletes the key

    // A limiter that ends as soon as its call has reached the server, before it reads the reply.
    for (const auto mode : {execution_mode::script, execution_mode::multi}) {
        look().must({"FLUSHALL"});
        {
            live process{server().unix_address(), [&](config& c) { c.advanced.mode = mode; }};
            process.run([&] { return process.until_it_works("other", three_window); });
            look().must({"FLUSHALL"});
            process.limiter.allow("k", three_window, [](error_code, const decision&) {});
            while (look().dbsize() == 0)
                process.context.poll_one();
        }
        for (const auto& name : look().keys())
            BOOST_TEST(look().pttl(name) > 0, name);
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE_END()
