// SPDX-License-Identifier: BSL-1.0
//
// Replies with redis-cell's five integers.

#include <server_module/command_entry.hpp>
#include <server_module/refusal.hpp>
#include <server_module/script_arguments.hpp>
#include <server_module/single_check.hpp>
#include <server_module/throttle_command.hpp>

#include <chrono>

namespace colimit::server_module {
namespace {

/// Returns the time in seconds, rounded up, so that a retry after them is not too early.
[[nodiscard]] long long seconds(std::chrono::microseconds time) noexcept {
    return std::chrono::ceil<std::chrono::seconds>(time).count();
}

void send_tuple(api::context* where, const decision& d) noexcept {
    const auto can_wait = d.outcome == outcome::denied;
    (void)api::send_array(where, 5);
    (void)api::send_integer(where, d.allowed() ? 0 : 1);
    (void)api::send_integer(where, d.limit);
    (void)api::send_integer(where, d.remaining);
    (void)api::send_integer(where, can_wait ? seconds(d.retry_after) : -1);
    (void)api::send_integer(where, seconds(d.reset_after));
}

} // namespace

int throttle_command(api::context* where, api::string** words, int count) noexcept {
    return enter(where, throttle_name, [&] {
        if (count != 5 && count != 6)
            refuse("arguments", "not the right number", "key max_burst count period [quantity]");
        const auto numbers =
            bucket_numbers{.capacity = whole_number(api::text_of(words[2]), "max_burst") + 1,
                           .count = whole_number(api::text_of(words[3]), "count", 1),
                           .period_us = read_period(api::text_of(words[4]))};
        const auto quantity = count == 5 ? 1 : whole_number(api::text_of(words[5]), "quantity");
        if (const auto made = check_once(where, words[1], numbers, quantity))
            send_tuple(where, *made);
    });
}

} // namespace colimit::server_module
