// SPDX-License-Identifier: BSL-1.0
//
// Encodes and decodes numbers and ids.

#include <base/bytes.hpp>
#include <core/rule_kind.hpp>
#include <core/state_encoding.hpp>
#include <core/verb_traits.hpp>
#include <redis/script/wire.hpp>

#include <boost/assert.hpp>

#include <algorithm>

namespace colimit::redis {
namespace {

using core::read_whole;
using detail::append_double;
using detail::append_number;

/// Returns whether the script returns facts about the rule for each call.
[[nodiscard]] bool has_facts(const core::compiled_rule& l) noexcept {
    return core::form_of(l.kind) != core::state_form::numbers;
}

/// Appends the positions of the first and the last byte of consecutive lines.
void append_lines(std::string& out, const core::bloom_shape& shape, std::uint32_t line,
                  std::uint32_t count) {
    const auto first = core::bloom_shape::head_bytes + line * shape.line_bytes();
    for (const auto position : {first, first + count * shape.line_bytes() - 1}) {
        const auto digits = detail::decimal{position};
        append_number(out, static_cast<std::uint8_t>(std::string_view{digits}.size()));
        out.append(digits);
    }
}

} // namespace

void append_call(std::string& out, std::uint16_t key, std::uint16_t times,
                 const core::call_request& request) {
    append_number(out, key);
    append_number(out, static_cast<std::uint8_t>(request.verb));
    append_number(out, times);
    append_double(out, request.cost);
    append_double(out, request.at_least);
}

void append_times(std::string& out, std::uint16_t times, bool wide) {
    if (wide)
        append_number(out, times);
    else
        append_number(out, static_cast<std::uint8_t>(times));
}

void append_block(std::string& out, std::uint16_t block, core::verb v) {
    BOOST_ASSERT(block < asks_only);
    const auto flag = v == core::verb::inspect       ? counts_bits
                      : core::traits_of(v).only_asks ? asks_only
                                                     : std::uint16_t{0};
    append_number(out, static_cast<std::uint16_t>(block + flag));
}

void append_mark(std::string& out, const core::bloom_shape& shape, const core::bloom_bits& mark) {
    append_lines(out, shape, mark.line, 1);
    for (std::uint32_t i = 0; i < shape.words; ++i)
        append_number(out, mark.words[i]);
}

void append_sample(std::string& out, const core::bloom_shape& shape) {
    append_lines(out, shape, 0, core::sample_of(shape).lines);
    out.append(shape.line_bytes(), '\0');
}

bool take_bits(std::string_view& answers, const core::bloom_shape& shape,
               std::array<std::int64_t, 2>& set) noexcept {
    const auto most = std::int64_t{8} * core::sample_of(shape).lines * shape.line_bytes();
    for (auto& number : set) {
        if (answers.size() < 8 || !read_whole(&answers.front(), 0, number) || number > most)
            return false;
        answers.remove_prefix(8);
    }
    return true;
}

bool take_seen(std::string_view& answers, bool& seen) noexcept {
    if (answers.empty() || (answers.front() != '0' && answers.front() != '1'))
        return false;
    seen = answers.front() == '1';
    answers.remove_prefix(1);
    return true;
}

std::array<char, 10> bitmap_family(const core::bloom_shape& shape, std::size_t parity) noexcept {
    auto family = std::array<char, 10>{'b', parity == 0 ? '0' : '1'};
    std::ranges::copy(detail::hex_of<8>(core::filter_tag(shape)), family.begin() + 2);
    return family;
}

std::size_t fact_bytes(const core::compiled_policy& rules) noexcept {
    return static_cast<std::size_t>(std::ranges::count_if(rules.rules(), has_facts)) * 32;
}

bool decode_facts(const core::compiled_policy& rules, std::string_view facts,
                  std::span<core::rule_state> states) noexcept {
    const auto* at = facts.data();
    for (std::uint32_t i = 0; i < rules.size; ++i) {
        if (!has_facts(rules.limits[i]))
            continue;
        auto& s = states[i];
        for (auto* number : {&s.t, &s.debt, &s.num, &s.capacity}) {
            if (!read_whole(at, 0, *number))
                return false;
            at += 8;
        }
    }
    return true;
}

} // namespace colimit::redis
