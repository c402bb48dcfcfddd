// SPDX-License-Identifier: BSL-1.0
//
// Encodes and decodes the values of keys.

#include <base/bytes.hpp>
#include <core/rule_kind.hpp>
#include <core/state_encoding.hpp>

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

namespace colimit::core {
namespace {

/// Writes numbers one after another.
class number_writer {
  public:
    explicit number_writer(char* at) noexcept : at_(at) {}

    void tag(std::uint32_t value) noexcept { put(value); }
    void number(std::int64_t value) noexcept { put(static_cast<double>(value)); }

  private:
    void put(auto value) noexcept {
        std::memcpy(at_, &value, sizeof value);
        at_ += sizeof value;
    }

    char* at_;
};

/// Calls `f` with the tag, the numbers and each state that a value has.
void for_each_state(const compiled_policy& rules, const key_state& state, auto f) {
    for (std::uint32_t i = 0; i < rules.state_count; ++i) {
        const auto& l = rules.limits[i];
        const auto& s = state.states[i];
        if (!is_elsewhere(l))
            f(l.tag, has_sketch(l) ? 1 : s.num, s); // what a sketch counts is not stored
    }
    if (state.block.debt != 0)
        f(block_tag, state.block.num, state.block);
}

/// Reads the rule's state, if there is one: usually at its index, elsewhere after the policy's
/// rules changed. If a corrupt value has a tag twice, the first one counts, as in the script.
/// Returns false if its numbers are not a valid state.
[[nodiscard]] bool read_state_of(std::uint32_t tag, std::string_view value,
                                 rule_state& into) noexcept {
    const auto count = (value.size() - value_head_bytes) / value_state_bytes;
    const auto* fixed = value.data() + value_head_bytes;
    const auto* moving = fixed + fixed_bytes * count;
    for (std::size_t i = 0; i < count; ++i, fixed += fixed_bytes, moving += moving_bytes)
        if (detail::read_number<std::uint32_t>(fixed) == tag)
            return read_whole(moving, 0, into.t) && read_whole(moving + 8, 0, into.debt) &&
                   read_whole(fixed + 4, 1, into.num) && read_whole(fixed + 12, 0, into.capacity);
    return true;
}

[[nodiscard]] bool has_shape(std::string_view value) noexcept {
    return value.size() > value_head_bytes && value.size() <= max_value_bytes &&
           (value.size() - value_head_bytes) % value_state_bytes == 0;
}

} // namespace

bool read_whole(const char* at, std::int64_t least, std::int64_t& out) noexcept {
    const auto value = detail::read_number<double>(at);
    const auto in_range = value >= static_cast<double>(least) &&
                          value <= static_cast<double>(limits::max_exact_integer);
    if (!in_range)
        return false;
    out = static_cast<std::int64_t>(value);
    return static_cast<double>(out) == value;
}

key_state decode_value(const compiled_policy& rules,
                       std::optional<std::string_view> value) noexcept {
    auto state = key_state{};
    if (!value)
        return state;
    state.exists = true;
    if (value->size() == moving_bytes && has_brief_values(rules)) {
        auto& s = state.states[0];
        const auto* at = value->data();
        state.stale = !read_whole(at, 0, s.t) || !read_whole(at + 8, 0, s.debt);
        s.num = rules.limits[0].num;
        s.capacity = rules.limits[0].stored_capacity;
    } else {
        state.stale = !has_shape(*value) || !read_state_of(block_tag, *value, state.block);
        for (std::uint32_t i = 0; i < rules.state_count && !state.stale; ++i)
            state.stale = !read_state_of(rules.limits[i].tag, *value, state.states[i]);
    }
    if (state.stale) {
        state.states = {};
        state.block = {};
    }
    return state;
}

encoded_value::encoded_value(const compiled_policy& rules, const key_state& state,
                             std::int64_t expires) noexcept {
    auto count = std::size_t{0};
    for_each_state(rules, state, [&](auto...) { ++count; });
    size_ = value_head_bytes + count * value_state_bytes;
    number_writer{bytes_.data()}.number(expires);
    auto fixed = number_writer{bytes_.data() + value_head_bytes};
    auto moving = number_writer{bytes_.data() + value_head_bytes + count * fixed_bytes};
    for_each_state(rules, state, [&](std::uint32_t tag, std::int64_t num, const rule_state& s) {
        fixed.tag(tag);
        fixed.number(num);
        fixed.number(s.capacity);
        moving.number(s.t);
        moving.number(s.debt);
    });
}

bool has_brief_values(const compiled_policy& rules) noexcept {
    return rules.packed && rules.state_count == 1 && has_fixed_numbers(rules.limits[0].kind);
}

brief_numbers brief_numbers_of(const compiled_policy& rules) noexcept {
    auto numbers = brief_numbers{};
    if (!has_brief_values(rules))
        return numbers;
    auto write = number_writer{numbers.data()};
    write.tag(rules.limits[0].tag);
    write.number(rules.limits[0].num);
    write.number(rules.limits[0].stored_capacity);
    return numbers;
}

bool has_only_own_states(const compiled_policy& rules, std::string_view value,
                         const key_state& state) noexcept {
    const auto is_stored = [](const rule_state& s) { return s.num != 0; };
    const auto own = std::span{state.states}.first(rules.state_count);
    const auto count = rules.state_count + (is_stored(state.block) ? 1U : 0U);
    return !state.stale && std::ranges::all_of(own, is_stored) &&
           value.size() == value_head_bytes + count * value_state_bytes;
}

} // namespace colimit::core
