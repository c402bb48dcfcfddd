// SPDX-License-Identifier: BSL-1.0
//
// Encodes ids. Positions are sent as text, because Redis's commands take text.

#include <base/bytes.hpp>
#include <redis/script/seen.hpp>

#include <algorithm>

namespace colimit::redis {

using detail::append_number;

namespace {

void append_bit_position(std::string& out, std::uint32_t position) {
    const auto digits = detail::decimal{position};
    append_number(out, static_cast<std::uint8_t>(std::string_view{digits}.size()));
    out.append(digits);
}

} // namespace

std::array<char, 10> bitmap_family(const core::bloom_shape& shape, std::size_t parity) noexcept {
    auto family = std::array<char, 10>{'b', parity == 0 ? '0' : '1'};
    std::ranges::copy(detail::hex_of<8>(core::filter_tag(shape)), family.begin() + 2);
    return family;
}

void append_mark(std::string& out, const core::bloom_shape& shape, const core::bloom_bits& mark) {
    const auto first = core::bloom_shape::head_bytes + mark.line * shape.line_bytes();
    append_bit_position(out, first);
    append_bit_position(out, first + shape.line_bytes() - 1);
    for (std::uint32_t i = 0; i < shape.words; ++i)
        append_number(out, mark.words[i]);
}

void append_id(std::string& out, std::uint16_t block, std::string_view mark) {
    append_number(out, block);
    out.append(mark);
}

bool take_seen(std::string_view& answers, bool& seen) noexcept {
    if (answers.empty() || (answers.front() != '0' && answers.front() != '1'))
        return false;
    seen = answers.front() == '1';
    answers.remove_prefix(1);
    return true;
}

} // namespace colimit::redis
