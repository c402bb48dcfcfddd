// SPDX-License-Identifier: BSL-1.0
//
// Keys are data. MONITOR shows the commands that reach a server while clients choose keys that look
// like commands, line ends and tags: the script, what the script calls, and nothing else.

#include <boost/test/unit_test.hpp>

#include <support/live_limiter.hpp>

#include <colimit/bloom_filter.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(hostile_keys)

namespace {

using namespace std::literals;
using namespace colimit;
namespace asio = boost::asio;

const auto rules = policy{"p", gcra(1'000, 1h), fixed_window(1'000, 24h)};
const auto members = policy{"members", distinct(1'000, 24h)};
const auto record_of_all = policy{"log", sliding_log(1'000, 1h)};
const auto ids = bloom_filter{"ids", {.capacity = 1'000}};

const auto hostile = std::array{
    "\r\nFLUSHALL\r\n"s,
    "x\r\n*1\r\n$8\r\nFLUSHALL\r\n"s,
    "$-1\r\n"s,
    "\n"s,
    "a\0b"s,
    "\0"s,
    "{}"s,
    "}{tag}"s,
    "a}:p:k:b"s,
    "\" \"FLUSHALL\" \""s,
    "'); redis.call('FLUSHALL') --"s,
    "\xff\xfe\x80"s,
    ""s,
    " "s,
    std::string(200, '\r'),
    std::string(5'000, '\n'), // a digest stands for it
};

/// A command as a server shows it: its words, and whether a script made it.
struct shown {
    std::vector<std::string> words;
    bool by_script;
};

/// Reads `1700000000.000000 [0 lua] "SET" "a\r\n"`.
[[nodiscard]] shown read_shown(std::string_view line) {
    auto out = shown{.words = {}, .by_script = line.find(" lua] ") < line.find('"')};
    for (auto at = line.find('"'); at < line.size(); at = line.find('"', at + 1)) {
        auto& word = out.words.emplace_back();
        for (++at; line.at(at) != '"'; ++at) {
            if (line[at] != '\\') {
                word += line[at];
                continue;
            }
            constexpr std::string_view names = "nrtab";
            constexpr std::string_view meant = "\n\r\t\a\b";
            const auto c = line.at(++at);
            if (c == 'x') {
                word += static_cast<char>(std::stoi(std::string{line.substr(at + 1, 2)}, {}, 16));
                at += 2;
            } else if (const auto known = names.find(c); known != std::string_view::npos) {
                word += meant[known];
            } else {
                word += c;
            }
        }
    }
    return out;
}

/// All that reaches a server while `act` runs.
template<class Act>
[[nodiscard]] std::vector<shown> watch(const test::redis_server& server, Act act) {
    auto monitor = server.connect();
    monitor.must({"MONITOR"});
    act();
    auto mark = server.connect();
    mark.must({"ECHO", "the end"});
    auto all = std::vector<shown>{};
    for (;;) {
        auto one = read_shown(monitor.receive().text);
        if (one.words == std::vector{"ECHO"s, "the end"s})
            return all;
        all.push_back(std::move(one));
    }
}

/// The names of the commands, those of scripts or the others.
[[nodiscard]] std::set<std::string> names(const std::vector<shown>& all, bool by_script) {
    auto found = std::set<std::string>{};
    for (const auto& s : all)
        if (s.by_script == by_script)
            found.insert(s.words.front());
    return found;
}

[[nodiscard]] bool names_key(const std::vector<shown>& all, std::string_view key) {
    return std::ranges::any_of(all, [key](const shown& s) {
        return std::ranges::any_of(s.words, [key](const std::string& w) {
            return w.starts_with("colimit:{") && w.ends_with(":" + std::string{key});
        });
    });
}

} // namespace

BOOST_AUTO_TEST_CASE(whatever_their_bytes_a_server_sees_the_script_and_what_it_calls) {
    auto server = test::redis_server{};
    auto look = server.connect();
    look.must({"SET", "witness", "alive"});
    auto l = test::live{server.address()};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.limiter.ready();
        (void)co_await l.limiter.seen("first", ids); // loads the filters' script
    });
    for (const auto& key : hostile) {
        const auto all = watch(server, [&] {
            l.run([&]() -> asio::awaitable<void> {
                auto& ask = l.limiter;
                const auto d = co_await ask.allow(key, rules);
                BOOST_TEST(d.remaining == 999);
                (void)co_await ask.peek(key, rules);
                (void)co_await ask.charge(key, rules);
                (void)co_await ask.refund(key, rules);
                (void)co_await ask.block(key, rules, 1s);
                (void)co_await ask.reset(key, rules);
                (void)co_await ask.wait(key, policy{"wait", gcra(10, 1s)});
                (void)co_await ask.once(key, 1h);
                (void)co_await ask.seen(key, ids);
                (void)co_await ask.allow(key, record_of_all);
                const auto member = check_options{.member = key};
                (void)co_await ask.allow(key, members, member);
                auto checks = std::vector<check_item>{{.key = key, .policy = rules},
                                                      {.key = "other", .policy = rules}};
                (void)co_await ask.allow_all(checks);
            });
        });
        BOOST_TEST_CONTEXT("key of " << key.size() << " bytes") {
            BOOST_TEST((names(all, false) == std::set<std::string>{"EVALSHA"}));
            BOOST_TEST(std::ranges::count(all, false, &shown::by_script) == 12);
            const auto known = std::set<std::string>{"TIME",
                                                     "MGET",
                                                     "GET",
                                                     "SET",
                                                     "SETRANGE",
                                                     "DEL",
                                                     "PEXPIRE",
                                                     "PTTL",
                                                     "TYPE",
                                                     "EXISTS",
                                                     "PFADD",
                                                     "PFCOUNT",
                                                     "ZADD",
                                                     "ZCARD",
                                                     "ZRANGE",
                                                     "ZREM",
                                                     "ZSCORE",
                                                     "ZREMRANGEBYSCORE",
                                                     "ZCOUNT",
                                                     "ZREVRANGE",
                                                     "ZRANGEBYSCORE",
                                                     "ZREVRANGEBYSCORE",
                                                     "ZREMRANGEBYRANK",
                                                     "BITFIELD",
                                                     "GETRANGE",
                                                     "STRLEN",
                                                     "SETBIT",
                                                     "GETBIT",
                                                     "EXPIRE",
                                                     "ZPOPMAX",
                                                     "ZPOPMIN",
                                                     "PEXPIREAT",
                                                     "UNLINK",
                                                     "RESTORE",
                                                     "DUMP"};
            const auto called = names(all, true);
            BOOST_TEST(std::ranges::includes(known, called));
            if (key.size() <= 256)
                BOOST_TEST(names_key(all, key));
        }
    }
    BOOST_TEST(look.get("witness").value_or("") == "alive");
}

BOOST_AUTO_TEST_CASE(without_scripts_too_a_server_sees_the_transaction_and_nothing_else) {
    auto server = test::redis_server{};
    auto look = server.connect();
    look.must({"SET", "witness", "alive"});
    auto l = test::live{server.address(), [](config& c) { c.mode = execution_mode::multi; }};
    l.run([&]() -> asio::awaitable<void> { co_await l.limiter.ready(); });
    for (const auto& key : hostile) {
        const auto all = watch(server, [&] {
            l.run([&]() -> asio::awaitable<void> {
                const auto d = co_await l.limiter.allow(key, record_of_all);
                BOOST_TEST(d.remaining == 999);
                (void)co_await l.limiter.refund(key, record_of_all);
            });
        });
        BOOST_TEST_CONTEXT("key of " << key.size() << " bytes") {
            const auto known = std::set<std::string>{"ECHO",
                                                     "EXEC",
                                                     "MULTI",
                                                     "PEXPIRE",
                                                     "PTTL",
                                                     "TIME",
                                                     "ZADD",
                                                     "ZCOUNT",
                                                     "ZREMRANGEBYRANK",
                                                     "ZREM",
                                                     "ZREMRANGEBYSCORE",
                                                     "ZREVRANGE"};
            const auto called = names(all, false);
            BOOST_TEST(std::ranges::includes(known, called));
            BOOST_TEST(names(all, true).empty());
            if (key.size() <= 256)
                BOOST_TEST(names_key(all, key));
        }
    }
    BOOST_TEST(look.get("witness").value_or("") == "alive");
}

BOOST_AUTO_TEST_SUITE_END()
