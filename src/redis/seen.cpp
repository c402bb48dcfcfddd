// SPDX-License-Identifier: BSL-1.0
//
// Numbers to bytes. Places go as text, because that is what Redis's commands take.

#include <core/plan.hpp>
#include <redis/key.hpp>
#include <redis/seen.hpp>

#include <algorithm>
#include <cstring>

namespace colimit::redis {
namespace {

template<class T>
void append(std::string& out, T value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    out.append(bytes, sizeof value);
}

void append_place(std::string& out, std::uint32_t place) {
    const auto text = std::to_string(place); // short enough to need no memory
    append(out, static_cast<std::uint8_t>(text.size()));
    out.append(text);
}

} // namespace

std::string encode_filter(const core::bloom_shape& shape) {
    auto out = std::string{};
    append(out, static_cast<std::uint8_t>(shape.words));
    append(out, static_cast<double>(shape.age));
    append(out, static_cast<double>(shape.block_bytes()));
    return out;
}

std::uint32_t filter_tag(const core::bloom_shape& shape) noexcept {
    auto hash = std::uint32_t{2166136261U};
    const auto add = [&hash](std::uint64_t number) {
        for (auto shift = 0U; shift < 64; shift += 8)
            hash = (hash ^ static_cast<std::uint8_t>(number >> shift)) * std::uint32_t{16777619U};
    };
    add(static_cast<std::uint64_t>(shape.age));
    add(shape.words);
    add(shape.lines);
    add(shape.blocks);
    return hash;
}

std::array<char, 10> bitmap_family(const core::bloom_shape& shape, std::size_t parity) noexcept {
    auto family = std::array<char, 10>{'b', parity == 0 ? '0' : '1'};
    std::ranges::copy(hex_of(filter_tag(shape)), family.begin() + 2);
    return family;
}

void append_mark(std::string& out, const core::bloom_shape& shape, const core::bloom_mark& mark) {
    const auto first = core::bloom_shape::head_bytes + mark.line * shape.line_bytes();
    append_place(out, first);
    append_place(out, first + shape.line_bytes() - 1);
    for (std::uint32_t i = 0; i < shape.words; ++i)
        append(out, mark.words[i]);
}

void append_id(std::string& out, std::uint16_t block, std::string_view mark) {
    append(out, block);
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
