// SPDX-License-Identifier: BSL-1.0
//
// Replies with names and integers: a map, or an array of both for clients of the older protocol.

#include <server_module/allow_command.hpp>
#include <server_module/command_entry.hpp>
#include <server_module/refusal.hpp>
#include <server_module/script_arguments.hpp>
#include <server_module/single_check.hpp>

#include <array>
#include <chrono>

namespace colimit::server_module {
namespace {

/// Returns the time in milliseconds, rounded up, so that a retry after them is not too early.
[[nodiscard]] long long milliseconds(std::chrono::microseconds time) noexcept {
    return std::chrono::ceil<std::chrono::milliseconds>(time).count();
}

void send_fields(api::context* where, const decision& d) noexcept {
    struct field {
        std::string_view name;
        long long value;
    };
    const auto retry_after = d.outcome == outcome::never ? -1 : milliseconds(d.retry_after);
    const auto fields = std::to_array<field>({{"allowed", d.allowed() ? 1 : 0},
                                              {"limit", d.limit},
                                              {"remaining", d.remaining},
                                              {"retry_after_ms", retry_after},
                                              {"reset_after_ms", milliseconds(d.reset_after)}});
    const auto size = static_cast<long>(fields.size());
    (void)(api::send_map != nullptr ? api::send_map(where, size)
                                    : api::send_array(where, 2 * size));
    for (const auto& [name, value] : fields) {
        (void)api::send_string(where, name.data(), name.size());
        (void)api::send_integer(where, value);
    }
}

} // namespace

int allow_command(api::context* where, api::string** words, int count) noexcept {
    return enter(where, allow_name, [&] {
        if (count != 5 && count != 6)
            refuse("arguments", "not the right number", "key burst count period [cost]");
        const auto numbers =
            bucket_numbers{.capacity = whole_number(api::text_of(words[2]), "burst", 1),
                           .count = whole_number(api::text_of(words[3]), "count", 1),
                           .period_us = read_period(api::text_of(words[4]))};
        const auto cost = count == 5 ? 1 : whole_number(api::text_of(words[5]), "cost");
        if (const auto made = check_once(where, words[1], numbers, cost))
            send_fields(where, *made);
    });
}

} // namespace colimit::server_module
