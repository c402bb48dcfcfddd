// SPDX-License-Identifier: BSL-1.0
//
// Writes the numbers in the order in which the scripts unpack them, and reads them. Each rule that
// is read is made again by the code that compiles the rules of users, and must have the same bytes.

#include <base/bytes.hpp>
#include <colimit/limits.hpp>
#include <core/policy_encoding.hpp>
#include <core/rule_compiler.hpp>
#include <core/rule_kind.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace colimit::core {
namespace {

using detail::append_double;
using detail::append_number;
using detail::read_number;

constexpr std::size_t policy_head_bytes = 3;
constexpr std::size_t rule_head_bytes = 6;
constexpr std::size_t rule_bytes = rule_head_bytes + std::size_t{10} * 8;
constexpr std::size_t generation_bytes = 8;
constexpr std::size_t filter_bytes = 17;

constexpr unsigned shadow_flag = 1;
constexpr unsigned packed_flag = 2;        // of a policy
constexpr unsigned bare_keys_flag = 4;     // of a policy
constexpr unsigned counts_denied_flag = 2; // of a rule

[[nodiscard]] std::uint8_t byte_at(std::string_view bytes, std::size_t at) noexcept {
    return static_cast<std::uint8_t>(bytes[at]);
}

[[nodiscard]] std::uint8_t flags_of(const compiled_policy& rules) noexcept {
    return static_cast<std::uint8_t>((rules.shadow ? shadow_flag : 0) +
                                     (rules.packed ? packed_flag : 0) +
                                     (rules.has_bare_keys ? bare_keys_flag : 0));
}

[[nodiscard]] std::uint8_t flags_of(const compiled_rule& l) noexcept {
    return static_cast<std::uint8_t>((l.shadow ? shadow_flag : 0) +
                                     (l.counts_denied ? counts_denied_flag : 0));
}

[[nodiscard]] std::array<char, rule_bytes> encode_rule(const compiled_rule& l) noexcept {
    auto bytes = std::array<char, rule_bytes>{};
    auto* at = bytes.data();
    const auto put = [&at](auto number) {
        std::memcpy(at, &number, sizeof number);
        at += sizeof number;
    };
    put(l.tag);
    put(static_cast<std::uint8_t>(l.kind));
    put(flags_of(l));
    for (const auto number : {l.capacity, l.num, l.den, l.unit, l.debt_max, l.period, l.count,
                              l.offset, l.initial, static_cast<std::int64_t>(l.calendar)})
        put(static_cast<double>(number));
    return bytes;
}

/// Returns `least` instead of a number that is out of range. That, and the missing fraction of
/// another number, is found when the bytes are compared.
[[nodiscard]] std::int64_t read_within(std::string_view bytes, std::size_t at, std::int64_t least,
                                       std::int64_t most) noexcept {
    const auto value = read_number<double>(bytes.data() + at);
    const auto fits = value >= static_cast<double>(least) && value <= static_cast<double>(most);
    return fits ? static_cast<std::int64_t>(value) : least;
}

/// Reads the numbers that determine the others.
[[nodiscard]] compiled_rule read_rule(std::string_view bytes) noexcept {
    constexpr auto most = limits::max_exact_integer;
    constexpr auto offset = std::chrono::microseconds{limits::max_utc_offset}.count();
    const auto number = [bytes](std::size_t index, std::int64_t from, std::int64_t to) {
        return read_within(bytes, rule_head_bytes + index * 8, from, to);
    };
    const auto flags = byte_at(bytes, 5);
    const auto* tag = bytes.data();
    const auto unit = number(3, 1, 1'000'000);
    return {.capacity = number(0, 1, most),
            .num = number(1, 1, most),
            .den = number(2, 1, most),
            .unit = unit,
            .period = number(5, 0, limits::max_recovery.count() / unit),
            .count = number(6, 0, most),
            .offset = number(7, -offset, offset),
            .initial = number(8, starts_full, most),
            .tag = read_number<std::uint32_t>(tag),
            .kind = static_cast<kind>(byte_at(bytes, 4)),
            .calendar = static_cast<calendar_unit>(number(9, 0, 3)),
            .shadow = (flags & shadow_flag) != 0,
            .counts_denied = (flags & counts_denied_flag) != 0};
}

[[nodiscard]] std::string position_of(std::uint32_t index) {
    return "policy: rule " + std::to_string(index + 1);
}

/// Returns whether a rule may have the kind.
[[nodiscard]] bool is_rule(kind k) noexcept {
    return static_cast<std::size_t>(k) < kind_count && k != kind::lockout;
}

/// Appends the rule that compiles to the numbers, if any does, and otherwise any rule.
void append_rule_of(compiled_policy& to, const compiled_rule& read) {
    const auto where = position_of(to.size);
    const auto stated = visit(read.kind, [&read]<class K>(K) { return K::rule_of(read); });
    auto made = compile_rule(where, read.kind, stated);
    made.tag = read.tag;
    made.shadow = read.shadow;
    const auto is_known = [&made](const compiled_rule& l) { return l.tag == made.tag; };
    if (is_reserved_tag(made.tag) || std::ranges::any_of(to.rules(), is_known))
        refuse(where, "its tag is reserved or that of another rule");
    if (to.shadow && !made.shadow)
        refuse(where, "it is not a shadow rule, but the policy is");
    if (has_slots(made) ? to.has_slots || to.has_distinct : to.has_slots && has_sketch(made))
        refuse(where, "it cannot be combined with the rules before it");
    append_rule(to, made);
}

/// Makes a policy like the one in the bytes, of which the number of limits is checked.
[[nodiscard]] compiled_policy make_like(std::string_view bytes) {
    const auto size = byte_at(bytes, 0);
    auto made = compiled_policy{};
    made.shadow = (byte_at(bytes, 2) & shadow_flag) != 0;
    made.has_bare_keys = (byte_at(bytes, 2) & bare_keys_flag) != 0;
    for (std::uint32_t i = 0; i < byte_at(bytes, 1); ++i) {
        const auto read = read_rule(bytes.substr(policy_head_bytes + i * rule_bytes, rule_bytes));
        if (i == size)
            append_lockout(made, position_of(i), read.period);
        else if (is_rule(read.kind))
            append_rule_of(made, read);
        else
            refuse(position_of(i), "the kind does not exist (got " +
                                       std::to_string(static_cast<int>(read.kind)) + ")");
    }
    return made;
}

void check_limits(const compiled_policy& made, std::string_view bytes) {
    for (std::uint32_t i = 0; i < made.state_count; ++i) {
        const auto own = encode_rule(made.limits[i]);
        if (bytes.substr(policy_head_bytes + i * rule_bytes, rule_bytes) !=
            std::string_view{own.data(), own.size()})
            refuse(position_of(i), "its numbers are not those of " +
                                       std::string{description_of(made.limits[i].kind)});
    }
}

/// Makes a policy packed, if it can be, and compares its generation.
void pack_like(compiled_policy& made, std::string_view bytes) {
    for (std::uint32_t i = 0; i < made.size; ++i)
        if (form_of(made.limits[i].kind) != state_form::numbers)
            refuse(position_of(i), "it cannot be packed");
    pack(made);
    const auto read = read_number<double>(bytes.data() + bytes.size() - generation_bytes);
    if (read != static_cast<double>(made.generation))
        refuse("policy", "its generation is not that of its rules");
}

/// Returns the size of the policy at the beginning of the bytes, which are at least as long.
[[nodiscard]] std::size_t size_of_policy(std::string_view bytes) {
    if (bytes.size() < policy_head_bytes)
        refuse("policy", "it is too short");
    const auto size = byte_at(bytes, 0);
    const auto count = byte_at(bytes, 1);
    const auto flags = byte_at(bytes, 2);
    if (size > limits::max_rules_per_policy || count < size || count > size + (size == 0 ? 0 : 1))
        refuse("policy", "the number of rules is not valid (got " + std::to_string(size) + " of " +
                             std::to_string(count) + " limits)");
    const auto is_known = flags <= shadow_flag + packed_flag || // packed keys are not bare
                          (flags & ~shadow_flag) == bare_keys_flag;
    if (!is_known || (size == 0 && flags != 0))
        refuse("policy", "the flags are not valid (got " + std::to_string(flags) + ")");
    const auto whole = policy_head_bytes + count * rule_bytes +
                       ((flags & packed_flag) != 0 ? generation_bytes : 0);
    if (bytes.size() < whole)
        refuse("policy", "it is too short (got " + std::to_string(bytes.size()) +
                             " bytes, expected " + std::to_string(whole) + ")");
    return whole;
}

} // namespace

std::string encode_policy(const compiled_policy& rules) {
    auto out = std::string{};
    append_number(out, static_cast<std::uint8_t>(rules.size));
    append_number(out, static_cast<std::uint8_t>(rules.state_count));
    append_number(out, flags_of(rules));
    for (const auto& l : rules.all()) {
        const auto bytes = encode_rule(l);
        out.append(bytes.data(), bytes.size());
    }
    if (rules.packed)
        append_double(out, rules.generation);
    return out;
}

std::string encode_filter(const bloom_shape& shape) {
    auto out = std::string{};
    append_number(out, static_cast<std::uint8_t>(shape.words));
    append_double(out, shape.ttl);
    append_double(out, static_cast<std::int64_t>(shape.block_bytes()));
    return out;
}

compiled_policy decode_policy(std::string_view& bytes) {
    const auto own = bytes.substr(0, size_of_policy(bytes));
    auto made = make_like(own);
    if ((byte_at(own, 2) & packed_flag) != 0)
        pack_like(made, own);
    check_limits(made, own);
    bytes.remove_prefix(own.size());
    return made;
}

bloom_shape decode_filter(std::string_view bytes) {
    if (bytes.size() != filter_bytes)
        refuse("filter", "the size is not valid (got " + std::to_string(bytes.size()) +
                             " bytes, expected " + std::to_string(filter_bytes) + ")");
    const auto words = byte_at(bytes, 0);
    if (words < 1 || words > bloom_shape::max_words)
        refuse("filter", "the words of a line are not valid (got " + std::to_string(words) +
                             ", expected 1 to " + std::to_string(bloom_shape::max_words) + ")");
    auto made = bloom_shape{.words = words, .blocks = 1};
    made.ttl = read_within(bytes, 1, limits::min_filter_ttl.count(),
                           std::chrono::microseconds{limits::max_filter_ttl}.count());
    const auto block =
        read_within(bytes, 9, bloom_shape::head_bytes + made.line_bytes(), bloom_shape::max_bytes);
    made.lines = (static_cast<std::uint32_t>(block) - bloom_shape::head_bytes) / made.line_bytes();
    if (encode_filter(made) != bytes)
        refuse("filter", "its numbers are not those of a filter");
    return made;
}

} // namespace colimit::core
