// SPDX-License-Identifier: BSL-1.0
//
// The values of keys as the script writes them, see redis/script/wire.hpp.

#pragma once

#include <base/bytes.hpp>
#include <core/rule_kind.hpp>
#include <redis/script/wire.hpp>

#include <cstdint>
#include <string>

namespace colimit::test {

/// Slots in two groups: the fixed parts, then the moving parts.
struct slot_writer {
    std::string fixed{};
    std::string moving{};

    void append_slot(std::uint32_t tag, const core::rule_state& s) {
        detail::append_number(fixed, tag);
        detail::append_double(fixed, s.num);
        detail::append_double(fixed, s.capacity);
        detail::append_double(moving, s.t);
        detail::append_double(moving, s.debt);
    }
};

[[nodiscard]] inline std::string encode_value(const core::compiled_policy& rules,
                                              const core::key_state& state, std::int64_t expires) {
    auto slots = slot_writer{};
    detail::append_double(slots.fixed, expires);
    for (std::uint32_t i = 0; i < rules.slots; ++i) {
        auto s = state.states[i];
        if (core::has_sketch(rules.limits[i]))
            s.num = 1; // the store's counts are not kept
        if (!core::is_log(rules.limits[i]))
            slots.append_slot(rules.limits[i].tag, s);
    }
    if (state.block.debt != 0)
        slots.append_slot(redis::block_tag, state.block);
    return slots.fixed + slots.moving;
}

/// Returns the numbers that brief values of the policy omit; empty if none is brief.
[[nodiscard]] inline std::string encode_brief_numbers(const core::compiled_policy& rules) {
    const auto& l = rules.limits[0];
    if (!rules.packed || rules.slots != 1 || !core::has_fixed_numbers(l.kind))
        return {};
    auto slots = slot_writer{};
    slots.append_slot(l.tag, {.num = l.num, .capacity = l.marked});
    return slots.fixed;
}

} // namespace colimit::test
