// SPDX-License-Identifier: BSL-1.0
//
// Keys such as "user:1234567", drawn uniformly or with Zipf's law. The text is made from a number:
// a table of a million keys would be read at random too, and the benchmark would measure the cache
// misses of that. Making one costs about 4 ns, which the figures include. Several are made at a
// time: a processor that reads eight bytes just after writing them two by two has to wait, which
// does not happen with keys from a socket.

#pragma once

#include <support/zipf_draws.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace colimit::benchmark {

class random_key {
  public:
    /// The number in the first key, so that all keys have the same length.
    static constexpr std::uint32_t first = 1'000'000;

    /// @param keys up to 9,000,000
    random_key(std::uint32_t keys, std::uint64_t seed) noexcept
        : keys_(keys), state_((seed + 1) * 0x9E3779B97F4A7C15U) {}

    /// Uses draws that were made beforehand, which other callers share.
    explicit random_key(zipf_draws& drawn) noexcept : drawn_(&drawn) {}

    /// Returns the next key, valid for as many further calls as keys are made at a time.
    [[nodiscard]] std::string_view next() noexcept {
        if (used_ == row_.size()) {
            for (auto& text : row_)
                write(next_number(), text);
            used_ = 0;
        }
        const auto& text = row_[used_++];
        return {text.data(), text.size()};
    }

    [[nodiscard]] std::uint32_t next_number() noexcept {
        return drawn_ != nullptr ? drawn_->next()
                                 : static_cast<std::uint32_t>((random() * keys_) >> 32U);
    }

    /// Returns the key of that number, counted from 0; valid until the next call.
    [[nodiscard]] std::string_view text_of(std::uint32_t number) noexcept {
        write(number, one_);
        return {one_.data(), one_.size()};
    }

  private:
    using text = std::array<char, 12>;

    static void write(std::uint32_t number, text& to) noexcept {
        number += first;
        for (auto at = to.size() - 2; at > 5; at -= 2) {
            std::memcpy(to.data() + at, pairs.data() + std::size_t{2} * (number % 100), 2);
            number /= 100;
        }
        to[5] = static_cast<char>('0' + number);
        std::memcpy(to.data(), "user:", 5);
    }

    /// Returns the upper half of a xorshift.
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
    text one_{};
    std::array<text, 32> row_{};
    std::size_t used_ = row_.size();
};

} // namespace colimit::benchmark
