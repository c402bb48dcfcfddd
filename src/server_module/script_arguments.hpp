// SPDX-License-Identifier: BSL-1.0
//
// The arguments that COLIMIT.CHECK and COLIMIT.SEEN have in common: those of a script call.
//
//   numkeys key... policy nonce clock least_ttl calls [...]

#pragma once

#include <server_module/api.hpp>
#include <server_module/command_run.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace colimit::server_module {

struct script_arguments {
    std::span<api::string*> all; ///< without the name of the command
    std::span<api::string*> keys;
    std::span<api::string*> rest; ///< ARGV: its first element is ARGV[1]

    /// Reads the number of keys. @throws refusal
    [[nodiscard]] static script_arguments read(std::span<api::string*> after_name);

    [[nodiscard]] std::string_view policy() const noexcept { return api::text_of(rest[0]); }
    [[nodiscard]] std::string_view nonce() const noexcept { return api::text_of(rest[1]); }
    /// @throws refusal
    [[nodiscard]] command_clock clock(api::context* where) const;
    /// In milliseconds. @throws refusal
    [[nodiscard]] std::int64_t least_ttl() const;
    /// Returns the TTL of the calls' records, in milliseconds; nullopt: they have no ids. @throws
    /// refusal
    [[nodiscard]] std::optional<std::int64_t> record_ttl() const;
    [[nodiscard]] std::string_view calls() const noexcept { return api::text_of(rest[4]); }
    /// The index in `all` of the clock.
    [[nodiscard]] std::size_t clock_at() const noexcept { return 1 + keys.size() + 2; }
};

/// Tells a server that does not know key specifications where the keys of a command are.
void tell_keys(api::context* where, api::string** words, int count) noexcept;

/// The number of arguments after the keys, without the optional ones.
inline constexpr std::size_t fewest_arguments = 5;

/// Returns the number that is the whole text, from `least` to 2^53 - 1. @throws refusal
[[nodiscard]] std::int64_t whole_number(std::string_view text, std::string_view name,
                                        std::int64_t least = 0);

} // namespace colimit::server_module
