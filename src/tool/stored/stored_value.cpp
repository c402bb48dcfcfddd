// SPDX-License-Identifier: BSL-1.0
//
// Numbers of values, and what they say.

#include <colimit/decision.hpp>
#include <core/algorithms.hpp>
#include <core/compiled_policy.hpp>
#include <core/rule_kind.hpp>
#include <core/state_encoding.hpp>
#include <tool/frame/time_text.hpp>
#include <tool/stored/stored_value.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>

namespace tool {
namespace {

namespace core = colimit::core;

constexpr std::size_t head_bytes = 8;
constexpr std::size_t fixed_bytes = 20;  ///< of a slot: tag, num, capacity
constexpr std::size_t moving_bytes = 16; ///< t, debt
constexpr std::size_t slot_bytes = fixed_bytes + moving_bytes;
constexpr std::size_t numbers_at = 16; ///< in the head of a hash

[[nodiscard]] std::uint64_t little_endian(std::string_view bytes) noexcept {
    auto number = std::uint64_t{0};
    for (std::size_t i = bytes.size(); i-- > 0;)
        number = number << 8U | static_cast<unsigned char>(bytes[i]);
    return number;
}

/// Returns a double as an integer; -1 if it is none that a state may have.
[[nodiscard]] std::int64_t integer_at(std::string_view bytes, std::size_t at) noexcept {
    const auto number = std::bit_cast<double>(little_endian(bytes.substr(at, 8)));
    constexpr auto most = 9007199254740991.0;
    return number >= 0 && number <= most && number == std::floor(number)
               ? static_cast<std::int64_t>(number)
               : -1;
}

[[nodiscard]] bool is_valid(const stored_slot& s) noexcept {
    return std::min({s.num, s.capacity, s.t, s.debt}) >= 0 && s.num > 0;
}

[[nodiscard]] stored_slot slot_of(std::string_view fixed, std::string_view moving) noexcept {
    return {.tag = static_cast<std::uint32_t>(little_endian(fixed.substr(0, 4))),
            .num = integer_at(fixed, 4),
            .capacity = integer_at(fixed, 12),
            .t = integer_at(moving, 0),
            .debt = integer_at(moving, 8)};
}

[[nodiscard]] std::string instant(std::int64_t us) {
    return instant_text(colimit::time_point{std::chrono::microseconds{us}});
}

[[nodiscard]] std::string span(std::int64_t us) {
    return time_text(std::chrono::microseconds{us});
}

[[nodiscard]] std::string tokens(std::int64_t debt, std::int64_t num) {
    const auto count = static_cast<double>(debt) / static_cast<double>(num);
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), count < 1e5 ? "%.6g" : "%.0f", // NOLINT(*-vararg)
                  count);
    return text.data();
}

[[nodiscard]] std::string hex_text(std::uint32_t tag) {
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "%08x", tag); // NOLINT(*-vararg)
    return text.data();
}

} // namespace

std::optional<std::vector<stored_slot>> read_value(std::string_view value, std::string_view head) {
    std::vector<stored_slot> slots;
    if (value.size() == moving_bytes && head.size() >= numbers_at + fixed_bytes)
        slots.push_back(slot_of(head.substr(numbers_at, fixed_bytes), value));
    else if (value.size() <= head_bytes || (value.size() - head_bytes) % slot_bytes != 0)
        return std::nullopt;
    const auto count = slots.empty() ? (value.size() - head_bytes) / slot_bytes : 0;
    for (std::size_t i = 0; i < count; ++i)
        slots.push_back(slot_of(
            value.substr(head_bytes + i * fixed_bytes, fixed_bytes),
            value.substr(head_bytes + count * fixed_bytes + i * moving_bytes, moving_bytes)));
    if (!std::ranges::all_of(slots, is_valid))
        return std::nullopt;
    return slots;
}

bool is_lockout(const stored_slot& s) {
    static const auto duplicates = core::state_tag(core::family_of(core::kind::lockout), "");
    return s.tag == core::block_tag || s.tag == duplicates;
}

std::string name_of_tag(std::uint32_t tag) {
    for (const auto& a : core::algorithms) {
        const auto family = core::family_of(a.kind);
        if (core::state_tag(family, a.name) == tag)
            return std::string{a.name};
        for (std::size_t n = 2; n <= colimit::limits::max_rules_per_policy; ++n) {
            auto name = std::string{a.name} + "_" + std::to_string(n);
            if (core::state_tag(family, name) == tag)
                return name;
        }
    }
    return {};
}

std::string slot_text(const stored_slot& s, std::int64_t now) {
    if (is_lockout(s)) {
        const auto is_block = s.tag == core::block_tag;
        const auto end = s.t + s.debt;
        if (end <= now)
            return is_block ? "the block has ended" : "no duplicate any more";
        return (is_block ? "blocked until " : "a duplicate until ") + instant(end) + ", in " +
               span(end - now);
    }
    const auto name = name_of_tag(s.tag);
    const auto rule = (name.empty() ? "a rule with tag " + hex_text(s.tag) : "rule " + name) + ": ";
    if (s.num > core::steps_mark)
        return rule + std::to_string(s.debt) +
               (s.capacity > 1 ? " of " + std::to_string(s.capacity) : "") +
               " tokens used in the " + span(s.num - core::steps_mark) + " until " + instant(s.t) +
               (s.t > now ? ", in " + span(s.t - now) : ", which is over");
    if (s.t > now)
        return rule + std::to_string(s.debt) + " tokens used until " + instant(s.t) + ", in " +
               span(s.t - now);
    return rule + tokens(s.debt, s.num) + " of " + std::to_string(s.capacity) +
           " tokens were used at " + instant(s.t) + ", " + span(now - s.t) + " ago";
}

} // namespace tool
