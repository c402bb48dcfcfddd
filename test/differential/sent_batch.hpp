// SPDX-License-Identifier: BSL-1.0
//
// A batch on its way to a server, with the operations that wait for it.

#pragma once

#include <redis/script/script_batch.hpp>
#include <support/fake_operation.hpp>
#include <support/raw_client.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::differential {

/// For supplied clocks, which have nothing to do with the time that passes for the server.
inline constexpr std::int64_t least_ttl_ms = 3'600'000;
inline constexpr std::string_view least_ttl = "3600000";

/// Microseconds. A process may be stopped in the middle of a script. Where the server was for
/// longer, by its own clock, keys came to their end while the script believed them alive, as each
/// is given a second: nothing that follows can be compared.
inline constexpr std::int64_t longest_stall = 900'000;

struct sent_batch {
    redis::script_batch batch{8};
    std::deque<test::fake_operation> calls; ///< or a single one for all checks
    std::vector<check_item> checks;         ///< all or nothing
    std::vector<std::size_t> keys;          ///< in the order in which the batch has them
};

/// Where server and model differ.
struct mismatch {
    std::size_t step;
    std::string what;
};

/// The answer to TIME, in microseconds.
[[nodiscard]] inline std::int64_t time_of(const test::reply& r) {
    return std::stoll(r.elements.at(0).text) * 1'000'000 + std::stoll(r.elements.at(1).text);
}

[[nodiscard]] inline std::string hex(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out;
    for (const auto c : bytes) {
        const auto code = static_cast<unsigned char>(c);
        out += {digits[code >> 4U], digits[code & 15U]};
    }
    return out;
}

} // namespace colimit::differential
