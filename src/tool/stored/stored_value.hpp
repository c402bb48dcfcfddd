// SPDX-License-Identifier: BSL-1.0
//
// A stored value read without its policy: redis/script/wire.hpp has its form, core/state.hpp the
// meaning of the numbers. Which kind of rule a slot belongs to is known only as far as the numbers
// show it, or the slot has the tag of a rule without a name.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

struct stored_slot {
    std::uint32_t tag = 0;
    std::int64_t num = 0;
    std::int64_t capacity = 0;
    std::int64_t t = 0;
    std::int64_t debt = 0;
};

/// Reads a value; nullopt if it does not have the form of one. Brief values of packed states need
/// the head of their hash, the field with an empty name.
[[nodiscard]] std::optional<std::vector<stored_slot>> read_value(std::string_view value,
                                                                 std::string_view head = {});

/// Returns whether a slot denies all calls for a time, and counts no tokens: that of a block, or of
/// `prevent_duplicate`.
[[nodiscard]] bool is_lockout(const stored_slot& s);

/// Returns the name that a rule without a name has, such as `gcra`, if the tag is that of one.
[[nodiscard]] std::string name_of_tag(std::uint32_t tag);

/// Returns a line in words, such as `rule gcra: 3.5 of 10 tokens used at 2026-...`.
/// @param now of the server, in microseconds
[[nodiscard]] std::string slot_text(const stored_slot& s, std::int64_t now);

} // namespace tool
