// SPDX-License-Identifier: BSL-1.0
//
// Keys such as "user:1234567", drawn uniformly or by Zipf's law. The text is made in place from a
// number: a table of a million keys would be read at random too, and the benchmark would measure
// the cache misses of that. Making one costs about 4 ns, which the figures include.

#ifndef COLIMIT_BENCHMARK_SUPPORT_RANDOM_KEY_HPP
#define COLIMIT_BENCHMARK_SUPPORT_RANDOM_KEY_HPP

#include <support/zipf_draws.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace colimit::benchmark {

class random_key {
  public:
    /// The number in the first key: with it, all keys are of one length.
    static constexpr std::uint32_t first = 1'000'000;

    /// @param keys up to 9,000,000
    random_key(std::uint32_t keys, std::uint64_t seed) noexcept
        : keys_(keys), state_((seed + 1) * 0x9E3779B97F4A7C15U) {}

    /// Draws that were made beforehand, and that others take their keys from too.
    explicit random_key(zipf_draws& drawn) noexcept : drawn_(&drawn) {}

    /// The next key, valid until the one after it.
    [[nodiscard]] std::string_view next() noexcept { return text_of(next_number()); }

    [[nodiscard]] std::uint32_t next_number() noexcept {
        return drawn_ != nullptr ? drawn_->next()
                                 : static_cast<std::uint32_t>((random() * keys_) >> 32U);
    }

    /// The key of that number, counted from 0; valid until the next one.
    [[nodiscard]] std::string_view text_of(std::uint32_t number) noexcept {
        number += first;
        for (auto at = text_.size() - 2; at > 5; at -= 2) {
            std::memcpy(text_.data() + at, pairs.data() + std::size_t{2} * (number % 100), 2);
            number /= 100;
        }
        text_[5] = static_cast<char>('0' + number);
        return {text_.data(), text_.size()};
    }

  private:
    /// The upper half of a xorshift.
    [[nodiscard]] std::uint64_t random() noexcept {
        state_ ^= state_ << 13U;
        state_ ^= state_ >> 7U;
        state_ ^= state_ << 17U;
        return state_ >> 32U;
    }

    static constexpr auto pairs = [] {
        auto made = std::array<char, 200>{};
        for (auto i = std::size_t{0}; i < 100; ++i) {
            made[2 * i] = static_cast<char>('0' + i / 10);
            made[2 * i + 1] = static_cast<char>('0' + i % 10);
        }
        return made;
    }();

    std::uint64_t keys_ = 1;
    std::uint64_t state_ = 1;
    zipf_draws* drawn_ = nullptr;
    std::array<char, 12> text_{'u', 's', 'e', 'r', ':', '1', '0', '0', '0', '0', '0', '0'};
};

} // namespace colimit::benchmark

#endif
