// SPDX-License-Identifier: BSL-1.0
//
// Numbers to bytes and back.

#include <redis/wire.hpp>

#include <bit>
#include <cstddef>
#include <cstring>

namespace colimit::redis {
namespace {

constexpr std::size_t header_bytes = 8;
constexpr std::size_t slot_bytes = 4 + 4 * 8;

static_assert(std::endian::native == std::endian::little, "values are copied as they are");

template<class T>
void append(std::string& out, T value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    out.append(bytes, sizeof value);
}

void append_number(std::string& out, std::int64_t value) {
    append(out, static_cast<double>(value));
}

template<class T>
[[nodiscard]] T read(const char* at) noexcept {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

/// A whole number from `least` to 2^53 - 1; anything else (fractions, NaN, infinities) is no number
/// of ours.
[[nodiscard]] bool read_number(const char* at, std::int64_t least, std::int64_t& out) noexcept {
    const auto value = read<double>(at);
    const auto in_range =
        value >= static_cast<double>(least) && value <= static_cast<double>(limits::exact_integer);
    if (!in_range)
        return false;
    out = static_cast<std::int64_t>(value);
    return static_cast<double>(out) == value;
}

[[nodiscard]] bool read_slot(const char* at, core::bucket_state& s) noexcept {
    return read_number(at + 4, 0, s.t) && read_number(at + 12, 0, s.debt) &&
           read_number(at + 20, 1, s.num) && read_number(at + 28, 1, s.capacity);
}

/// The rule's slot: usually at its own place, elsewhere after the policy's rules changed. Should
/// somebody have written a tag twice, the first one counts, as in the script.
[[nodiscard]] const char* find_slot(std::string_view value, std::uint32_t tag) noexcept {
    for (auto at = header_bytes; at < value.size(); at += slot_bytes)
        if (read<std::uint32_t>(value.data() + at) == tag)
            return value.data() + at;
    return nullptr;
}

[[nodiscard]] bool has_shape(std::string_view value) noexcept {
    return value.size() > header_bytes && (value.size() - header_bytes) % slot_bytes == 0 &&
           (value.size() - header_bytes) / slot_bytes <= limits::rules_per_policy;
}

} // namespace

std::string encode_plan(const core::plan& rules) {
    auto out = std::string{};
    append(out, static_cast<std::uint8_t>(rules.size));
    for (const auto& b : rules.rules()) {
        append(out, b.tag);
        for (const auto number : {b.capacity, b.num, b.den, b.unit, b.most})
            append_number(out, number);
        append(out, static_cast<std::uint8_t>(b.shadow ? 1 : 0));
    }
    return out;
}

void append_call(std::string& out, std::uint16_t key, const core::question& asked) {
    append(out, key);
    append(out, static_cast<std::uint8_t>(asked.verb));
    append_number(out, asked.cost);
    append_number(out, asked.at_least);
}

core::key_state decode_value(const core::plan& rules,
                             std::optional<std::string_view> value) noexcept {
    auto state = core::key_state{};
    if (!value)
        return state;
    state.exists = true;
    state.stale = !has_shape(*value);
    for (std::uint32_t i = 0; i < rules.size && !state.stale; ++i) {
        const auto* slot = find_slot(*value, rules.buckets[i].tag);
        if (slot != nullptr && !read_slot(slot, state.buckets[i]))
            state.stale = true;
    }
    if (state.stale)
        state.buckets = {};
    return state;
}

std::string encode_value(const core::plan& rules, const core::key_state& state,
                         std::int64_t expires) {
    auto out = std::string{};
    append_number(out, expires);
    for (std::uint32_t i = 0; i < rules.size; ++i) {
        const auto& s = state.buckets[i];
        append(out, rules.buckets[i].tag);
        for (const auto number : {s.t, s.debt, s.num, s.capacity})
            append_number(out, number);
    }
    return out;
}

} // namespace colimit::redis
