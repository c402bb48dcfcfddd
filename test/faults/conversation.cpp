// SPDX-License-Identifier: BSL-1.0
//
// The calls of each conversation, and the numbers of their messages.

#include <faults/conversation.hpp>

#include <support/usual_tags.hpp>

#include <chrono>
#include <cstdio>

namespace colimit::test {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t bucket_limit = 1'000'000;
constexpr std::int64_t other_limit = 100'000;

} // namespace

const policy& bucket_policy() {
    static const auto made = policy{"bucket", gcra(bucket_limit, 24h * 36'500)};
    return made;
}

const policy& log_policy() {
    static const auto made = policy{"log", sliding_log(other_limit, 24h * 365)};
    return made;
}

const policy& window_policy() {
    static const auto made = policy{"window", fixed_window(other_limit, 24h * 365).from_first()};
    return made;
}

const bloom_filter& id_filter() {
    static const auto made =
        bloom_filter{"ids", {.capacity = 1'000'000, .error_rate = 0.000001, .ttl = 24h}};
    return made;
}

std::int64_t expected_remaining(const asked_call& c) {
    return (c.rules == &bucket_policy() ? bucket_limit : other_limit) - c.already - 1;
}

std::string key_of(const asked_call& c, std::string_view name, int number) {
    char digits[8];
    (void)std::snprintf(digits, sizeof digits, "%05d", number);
    auto key = std::string{name} + "-";
    for (auto i = 0; i < 5; ++i)
        key.append(2, digits[i]);
    if (!c.in_slot)
        return key;
    for (auto i = 0;; ++i) {
        auto candidate = key + '/' + std::to_string(i);
        if (c.in_slot(slot_of(candidate)))
            return candidate;
    }
}

conversation allow_conversation(std::size_t handshake) {
    return {.name = "allow",
            .connections = {{.handshake = handshake}},
            .calls = {{"aaa", &bucket_policy(), 11, {{0, handshake}}},
                      {"bbcc", &bucket_policy(), 100, {{0, handshake}}},
                      {"ddddee", &bucket_policy(), 3'000, {{0, handshake}}},
                      {"log", &log_policy(), 3, {{0, handshake + 1}}}}};
}

conversation id_conversation(std::size_t handshake) {
    auto made = allow_conversation(handshake);
    made.name = "ids";
    made.has_ids = true;
    return made;
}

conversation seen_conversation(std::size_t handshake) {
    return {
        .name = "seen",
        .connections = {{.handshake = handshake}},
        .calls = {{"aaa", nullptr, 0, {{0, handshake}}}, {"bbcc", nullptr, 0, {{0, handshake}}}},
        .seen = true};
}

conversation transaction_conversation() {
    // HELLO, ECHO, CLIENT ID, INFO, TIME, and 19 of the probe; then ECHO and TIME, nine commands
    // for each call on a log, and five for the one on a window.
    return {.name = "transaction",
            .mode = execution_mode::multi,
            .connections = {{.handshake = 24}},
            .calls = {{"aaa", &log_policy(), 11, {{0, 34}}},
                      {"bbcc", &log_policy(), 7, {{0, 43}}},
                      {"ddddee", &window_policy(), 40, {{0, 48}}}},
            .clocks = {4, 25}};
}

} // namespace colimit::test
