// SPDX-License-Identifier: BSL-1.0
//
// Hostile configuration and replies are rejected, in little time and memory. Time is what this
// thread computed, so a busy machine does not count; what is not optimised is slower.

#include <colimit/json.hpp>
#include <colimit/limits.hpp>
#include <colimit/policy_document.hpp>
#include <colimit/rule_text.hpp>
#include <support/live_limiter.hpp>
#include <support/on_failure.hpp>
#include <support/peak_memory.hpp>
#include <support/refusal.hpp>
#include <support/scripted_peer.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <ctime>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

BOOST_AUTO_TEST_SUITE(hostile_input)

namespace {

using namespace std::literals;
using namespace colimit;
namespace asio = boost::asio;

constexpr std::int64_t mib = std::int64_t{1024} * 1024;
constexpr std::size_t much = 100 * std::size_t{1024} * 1024;
#ifdef __OPTIMIZE__
constexpr auto most_time = 50ms;
#else
constexpr auto most_time = 5s;
#endif

[[nodiscard]] std::chrono::nanoseconds computed() {
    auto t = timespec{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec};
}

template<class Attempt>
void attack(std::string_view name, errc code, Attempt attempt) {
    const auto memory = test::peak_memory{};
    const auto begin = computed();
    const auto said = test::refusal(code, attempt);
    const auto time = computed() - begin;
    BOOST_TEST_MESSAGE(name << ": " << time.count() / 1000 << " us, " << memory.growth() / 1024
                            << " KiB; " << said);
    BOOST_TEST((said != "not refused" && !said.starts_with("another code")), said);
    BOOST_TEST(said.size() < 300U, name);
    BOOST_TEST((time <= most_time), name);
    BOOST_TEST(memory.growth() <= 8 * mib, name);
}

void check_document(std::string_view name, const std::string& document) {
    attack(name, errc::invalid_policy, [&] { return parse_policy_document(document); });
}

void check_json(std::string_view name, const std::string& document) {
    attack(name, errc::invalid_policy, [&] { return parse_policies(document); });
    check_document(name, document);
}

[[nodiscard]] std::string repeated(std::string_view text, std::size_t bytes) {
    auto out = std::string{};
    out.reserve(bytes + text.size());
    while (out.size() < bytes)
        out += text;
    return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_hostile_document_is_refused_at_once_and_in_little_memory) {
    const auto head = R"({"policies": {"a": [{"limit": )"s;
    const auto tail = R"(, "period": "1s"}]}})"s;
    const auto fits = limits::max_json_bytes - 1'000;
    check_json("100 MB of a text", R"({"policies": {"a": ")" + std::string(much, 'x') + "\"}}");
    check_json("100 MB of brackets", std::string(much, '['));
    check_json("10,000 levels", std::string(10'000, '[') + std::string(10'000, ']'));
    check_json("10,000 levels of objects", repeated(R"({"a":)", 50'000));
    check_json("a text of 4 MB", R"({"policies": {"a": ")" + std::string(fits, 'x') + "\"}}");
    check_json("a name of 4 MB", R"({"policies": {")" + std::string(fits, 'x') + R"(": "1/s"}})");
    check_json("a number of 4 MB", head + std::string(fits, '9') + tail);
    check_json("a million numbers", "[" + repeated("1,", fits) + "1]");
    const auto rows_of = [](const std::string& text) {
        const auto row = "[" + repeated(text + ",", (text.size() + 1) * 1'000) + text + "]";
        return "[" + repeated(row + ",", 126 * row.size()) + row + "]";
    };
    check_json("as many values as there may be", rows_of("1"));
    check_json("the same with long texts", rows_of('"' + std::string(28, 'x') + '"'));
    check_json("escapes of 4 MB", R"({"policies": {"a": ")" + repeated(R"(\u0000)", fits) + "\"}}");
    check_json("a name 100,000 times",
               R"({"policies": {)" + repeated(R"("a":"1/s",)", 1'000'000) + R"("a":"1/s"}})");
    check_json("a name twice", R"({"policies": {"a": "1/s", "a": "1/s"}})");
    for (const std::string number : {"1e400", "-1e400", "1e-400", "NaN", "1e99999999999999999999"})
        check_json(number, head + number + tail);
}

BOOST_AUTO_TEST_CASE(a_hostile_document_with_routes_is_refused_at_once_and_in_little_memory) {
    const auto long_text = std::string(limits::max_json_bytes - 1'000, 'x');
    const auto start = R"({"policies": {"a": "1/s"}, )"s;
    check_document("a key of 4 MB",
                   R"({"policies": {"a": {"rules": "1/s", "key": ")" + long_text + "\"}}}");
    check_document("a network of 4 MB", start + R"("trusted_proxies": [")" + long_text + "\"]}");
    check_document("a path of 4 MB",
                   start + R"("routes": [{"policy": "a", "path": "/)" + long_text + "\"}]}");
    check_document("a method of 4 MB", start + R"("routes": [{"policy": "a", "path": "/",
                                       "methods": [")" +
                                           long_text + "\"]}]}");
    check_document("an unknown policy of 4 MB",
                   start + R"("routes": [{"path": "/", "policy": ")" + long_text + "\"}]}");
    auto routes = std::string{};
    for (std::size_t i = 1; i < limits::max_routes; ++i)
        routes += R"({"policy": "a", "path": "/)" + std::to_string(i) + "\"},";
    check_document("1,000 routes, of which the last one never counts",
                   start + R"("routes": [)" + routes + R"({"policy": "a", "path": "/1"}]})");
}

BOOST_AUTO_TEST_CASE(a_hostile_text_or_address_is_refused_at_once_and_in_little_memory) {
    const auto texts = {std::string(much, ';'), repeated("1/s;", much), std::string(much, '9'),
                        "1/s named " + std::string(much, 'x'), std::string(much, '\0')};
    for (const auto& text : texts)
        attack("a rule", errc::invalid_policy, [&] { return parse_rules(text); });
    auto context = asio::io_context{1};
    const auto addresses = {"redis://" + std::string(much, 'x'),
                            "redis://" + std::string(much, '@') + "h",
                            "unix:" + std::string(much, '/'), repeated("%", much)};
    for (const auto& address : addresses)
        attack("an address", errc::invalid_config,
               [&] { return limiter{context.get_executor(), address}; });
}

BOOST_AUTO_TEST_CASE(a_hostile_reply_ends_the_connection_before_it_fills_memory) {
    const auto endless = {repeated("x", 64'000),
                          "+" + repeated("x", 64'000),
                          repeated("|1\r\n+a\r\n+b\r\n", 64'000),
                          repeated("*1\r\n", 64'000),
                          "$536870912\r\n" + repeated("x", 64'000),
                          "*16000\r\n" +
                              repeated("$4000\r\n" + std::string(4'000, 'x') + "\r\n", 64'000)};
    for (const auto& piece : endless) {
        auto context = asio::io_context{1};
        auto sent = std::int64_t{0};
        auto peer =
            test::scripted_peer{context, [&](test::peer_connection& c) -> asio::awaitable<void> {
                                    co_await c.greet();
                                    (void)co_await c.next();
                                    while (sent < 64 * mib) { // until the other side has had enough
                                        co_await c.send(piece);
                                        sent += static_cast<std::int64_t>(piece.size());
                                    }
                                }};
        auto settings = config{};
        settings.server = peer.address();
        settings.timeout = 10s;
        settings.advanced.ping_interval = 0ms; // only what the test asks for is sent
        test::errors_come_through(settings);
        auto asks = limiter{context.get_executor(), settings};
        const auto rules = policy{"p", gcra(10, 1s)};
        const auto memory = test::peak_memory{};
        test::run(context, [&]() -> asio::awaitable<void> {
            const auto [ec, d] = co_await asks.allow("k", rules, asio::as_tuple(asio::deferred));
            BOOST_TEST((ec == errc::outcome_unknown));
        });
        BOOST_TEST(sent < 8 * mib);
        BOOST_TEST(memory.growth() <= 8 * mib);
    }
}

BOOST_AUTO_TEST_SUITE_END()
