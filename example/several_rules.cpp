// SPDX-License-Identifier: BSL-1.0
//
// Several rules and a guard against duplicates: 10 calls per minute, 20 per two minutes, and none
// within a second of the last one. The same policy from code, as a text and from JSON; for an
// address, for a user and for all clients together.
//
//     several_rules [ADDRESS]
//
// All rules are checked in one step, and a denied call charges none of them. The rule of a minute
// is a fixed window, which costs little and admits 20 around the end of a minute; the rule of two
// minutes is a log, which makes that exact: 20 in any two minutes. (With two logs, 10 in any minute
// would already be at most 20 in any two.)

#include <colimit.hpp>
#include <support/run.hpp>

#include <array>
#include <chrono>
#include <string_view>

namespace asio = boost::asio;
using namespace std::chrono_literals;

const auto from_code = colimit::policy{"api", colimit::fixed_window(10, 1min).named("minute"),
                                       colimit::sliding_log(20, 2min).named("two_minutes")}
                           .prevent_duplicate(1s);

const auto from_text =
    colimit::policy{"api", colimit::parse_rules("10/min fixed_window named minute; "
                                                "20 per 2min sliding_log named two_minutes")}
        .prevent_duplicate(1s);

const auto from_json = colimit::parse_policies(R"({"policies": {
    "api": {
        "rules": ["10/min fixed_window named minute",
                  {"algorithm": "sliding_log", "limit": 20, "period": "2min",
                   "name": "two_minutes"}],
        "prevent_duplicate": "1s"
    }
}})")
                           .at("api");

constexpr auto start = colimit::time_point{1'700'000'000s - 80s}; // a multiple of two minutes

/// Makes a call; prints why and for how long it is denied.
asio::awaitable<bool> call(colimit::limiter& limiter, std::string_view key,
                           std::chrono::milliseconds time) {
    const auto d = co_await limiter.allow(key, from_code, {.now = start + time});
    if (!d) {
        const auto is_duplicate = d.reason == colimit::denial_reason::duplicate;
        std::cout << "  at " << time.count() << " ms: denied by "
                  << (is_duplicate ? to_string(d.reason) : from_code[d.limiting_rule].name())
                  << ", again in " << d.retry_after_seconds() << " s\n";
    }
    co_return d.allowed();
}

/// Makes ten calls, one per second, which are allowed, and an eleventh.
asio::awaitable<void> call_eleven_times(colimit::limiter& limiter, std::string_view key,
                                        std::chrono::seconds begin) {
    auto allowed = 0;
    for (auto i = 0s; i < 10s; i += 1s)
        allowed += co_await call(limiter, key, begin + i) ? 1 : 0;
    std::cout << "  from " << begin / 1s << " s: " << allowed << " calls allowed\n";
    co_await call(limiter, key, begin + 10s);
}

asio::awaitable<void> show_rules(colimit::limiter& limiter) {
    const auto ann = colimit::key::user("ann");
    std::cout << ann.view() << '\n';
    co_await call_eleven_times(limiter, ann, 49s);
    co_await call_eleven_times(limiter, ann, 60s);
    co_await call(limiter, ann, 120s);         // a new minute, but 20 calls in the last two
    co_await call(limiter, ann, 171s);         // two minutes after the first two: allowed
    co_await call(limiter, ann, 171s + 300ms); // a double click
    co_await limiter.reset(ann, from_code, {.now = start});
}

/// One policy for keys of each scope, which are counted separately.
asio::awaitable<void> show_scopes(colimit::limiter& limiter) {
    const std::array keys{colimit::key::address("2001:db8:0:7::1"), colimit::key::user("ann"),
                          colimit::key::global()};
    for (const auto& key : keys) {
        std::cout << key.view() << '\n';
        co_await call_eleven_times(limiter, key, 0s);
    }
    // Another address of the same network, in another spelling, has the same key.
    std::cout << "2001:DB8:0:7:FFFF::2 is " << colimit::key::address("2001:DB8:0:7:FFFF::2").view()
              << '\n';
    co_await call(limiter, colimit::key::address("2001:DB8:0:7:FFFF::2"), 20s);
    for (const auto& key : keys)
        co_await limiter.reset(key, from_code, {.now = start});
}

asio::awaitable<void> show(colimit::limiter& limiter) {
    std::cout << "from code, text and JSON: "
              << (from_code == from_text && from_text == from_json ? "equal" : "different") << '\n'
              << "  " << to_string(from_code[0]) << '\n'
              << "  " << to_string(from_code[1]) << '\n';
    co_await show_rules(limiter);
    co_await show_scopes(limiter);
}

int main(int argc, char** argv) {
    return example::run(argc, argv, show);
}
