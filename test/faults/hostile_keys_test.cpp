// SPDX-License-Identifier: BSL-1.0
//
// Keys are data. MONITOR shows the commands that reach a server while clients choose keys that look
// like commands, line ends and tags: the script, what the script calls, and nothing else.

#include <base/bytes.hpp>
#include <support/live_limiter.hpp>
#include <support/server_version.hpp>
#include <support/unit_test.hpp>

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

const auto rules = policy{"p", gcra(1'000, 1h), fixed_window(1'000, 24h * 36'500)};
const auto members = policy{"members", distinct(1'000, 24h * 365)};
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

/// A command as a server shows it.
struct shown {
    std::string name;
    std::string words; ///< the name and the arguments: `"SET" "a\r\n"`
    bool by_script;
};

/// Reads `1700000000.000000 [0 lua] "SET" "a\r\n"`.
[[nodiscard]] shown read_shown(std::string_view line) {
    const auto words = line.substr(line.find('"'));
    return {.name = std::string{words.substr(1, words.find('"', 1) - 1)},
            .words = std::string{words},
            .by_script = line.find(" lua] ") < line.find('"')};
}

/// Returns an argument as a server shows it, without the quotes around it. What is shown is not
/// decoded, as Valkey 8.1.0 and 8.1.1 do not escape quotes and backslashes: there, the argument
/// `a" "b` looks like two.
[[nodiscard]] std::string shown_as(std::string_view argument, const test::server_version& by) {
    const auto escapes_quotes = !(by.is_valkey() && by.major == 8 && by.minor == 1 && by.patch < 2);
    const auto escaped = escapes_quotes ? "\n\r\t\a\b\"\\"sv : "\n\r\t\a\b"sv;
    auto out = std::string{};
    for (const auto c : argument) {
        if (const auto known = escaped.find(c); known != std::string_view::npos) {
            out += '\\';
            out += "nrtab\"\\"[known];
        } else if (c >= ' ' && c <= '~') {
            out += c;
        } else {
            const auto hex = detail::hex_of<2>(static_cast<unsigned char>(c));
            out.append("\\x").append(hex.data(), hex.size());
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
        if (one.words == R"("ECHO" "the end")")
            return all;
        all.push_back(std::move(one));
    }
}

/// The names of the commands, those of scripts or the others.
[[nodiscard]] std::set<std::string> names(const std::vector<shown>& all, bool by_script) {
    auto found = std::set<std::string>{};
    for (const auto& s : all)
        if (s.by_script == by_script)
            found.insert(s.name);
    return found;
}

/// Returns whether an argument is the name of this key, in the form in which the server shows it.
[[nodiscard]] bool names_key(const std::vector<shown>& all, std::string_view key) {
    const auto end = ":" + std::string{key} + '"';
    return std::ranges::any_of(all, [&end](const shown& s) {
        for (auto at = s.words.find(end); at != std::string::npos; at = s.words.find(end, at + 1)) {
            const auto from_name = std::string_view{s.words}.substr(s.words.rfind('"', at));
            const auto rest = std::string_view{s.words}.substr(at + end.size());
            if (from_name.starts_with("\"colimit:{") && (rest.empty() || rest.starts_with(" \"")))
                return true;
        }
        return false;
    });
}

} // namespace

BOOST_AUTO_TEST_CASE(whatever_their_bytes_a_server_sees_the_script_and_what_it_calls) {
    auto server = test::redis_server{};
    auto look = server.connect();
    const auto version = test::version_of(look);
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
                                                     "ZRANGE",
                                                     "ZREM",
                                                     "ZSCORE",
                                                     "ZREMRANGEBYSCORE",
                                                     "ZCOUNT",
                                                     "ZREVRANGE",
                                                     "ZRANGEBYSCORE",
                                                     "ZREVRANGEBYSCORE",
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
                BOOST_TEST(names_key(all, shown_as(key, version)));
        }
    }
    BOOST_TEST(look.get("witness").value_or("") == "alive");
}

BOOST_AUTO_TEST_CASE(without_scripts_too_a_server_sees_the_transaction_and_nothing_else) {
    auto server = test::redis_server{};
    auto look = server.connect();
    const auto version = test::version_of(look);
    look.must({"SET", "witness", "alive"});
    auto l =
        test::live{server.address(), [](config& c) { c.advanced.mode = execution_mode::multi; }};
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
                BOOST_TEST(names_key(all, shown_as(key, version)));
        }
    }
    BOOST_TEST(look.get("witness").value_or("") == "alive");
}

BOOST_AUTO_TEST_SUITE_END()
