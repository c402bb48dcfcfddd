// SPDX-License-Identifier: BSL-1.0
//
// The texts of tags. They decide where keys are, so they never change.

#include <redis/protocol/key_tags.hpp>

#include <algorithm>
#include <array>

namespace colimit::redis {
namespace {

/// For i from 0 to 63 the text of two characters whose slot, CRC-16/XMODEM modulo 16384, is nearest
/// to 256 i + 128; test/unit/key_tags_test.cpp recomputes them.
constexpr std::string_view short_texts =
    "mm6q9ie82921apax0jkvdndf3go6gcxw8gd6lc02g34con4r99911dm5fmyy2iiu"
    "7ak0ce8y4lopx9x1jf1zzjb3ik2wygfsbk9w6omsafan5bi3c5dpkh0txixahe44";

constexpr std::size_t short_size = 2;
constexpr std::size_t short_count = short_texts.size() / short_size;
constexpr std::size_t long_size = 3;

using texts_by_slot = std::array<char, hash_slot_count * long_size>;

/// Returns for each slot the first text of three characters, in the order of `letters`, that is in
/// it.
[[nodiscard]] texts_by_slot make_long_texts() {
    constexpr std::string_view letters =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    auto made = texts_by_slot{};
    for (const auto a : letters)
        for (const auto b : letters)
            for (const auto c : letters) {
                const auto text = std::array{a, b, c};
                auto* const at = &made[hash_slot({text.data(), text.size()}) * text.size()];
                if (*at == '\0')
                    std::ranges::copy(text, at);
            }
    return made;
}

[[nodiscard]] const texts_by_slot& long_texts() {
    static const auto made = make_long_texts(); // in two milliseconds
    return made;
}

} // namespace

key_tags::key_tags(std::size_t count)
    : bits_(static_cast<std::uint32_t>(std::countr_zero(count))),
      shard_shift_(static_cast<std::uint32_t>(
          std::countr_zero(std::max(count, shard_count) / shard_count))) {
    BOOST_ASSERT(std::has_single_bit(count) && count <= hash_slot_count);
    const auto is_short = count <= short_count;
    const auto apart = (is_short ? short_count : hash_slot_count) / count;
    size_ = is_short ? short_size : long_size;
    stride_ = static_cast<std::uint32_t>(apart * size_);
    texts_ = (is_short ? short_texts.data() : long_texts().data()) + apart / 2 * size_;
}

std::size_t key_tags::of_part(std::string_view key, std::uint64_t hash) const noexcept {
    const auto part = deciding_part(key);
    return at(part.size() == key.size() ? hash : hash::fnv1a_64(part));
}

} // namespace colimit::redis
