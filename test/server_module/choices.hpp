// SPDX-License-Identifier: BSL-1.0
//
// Random choices, of a generator or of the bytes that a fuzzer has.

#pragma once

#include <support/rng.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace colimit::test {

class choices {
  public:
    explicit choices(std::uint64_t seed) : random_(seed) {}
    explicit choices(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

    /// Returns whether the bytes have been used up: then every choice is the first.
    [[nodiscard]] bool are_over() const noexcept { return !random_ && bytes_.empty(); }

    /// Returns whether a generator makes them.
    [[nodiscard]] bool are_endless() const noexcept { return random_.has_value(); }

    /// Returns 0 to n - 1.
    [[nodiscard]] std::size_t below(std::size_t n) {
        if (random_)
            return random_->below(n);
        std::size_t value = 0;
        for (auto most = n - 1; most > 0; most >>= 8U)
            value = value << 8U | take();
        return value % n;
    }
    [[nodiscard]] bool percent(std::size_t p) { return below(100) < p; }
    template<class T, std::size_t N>
    [[nodiscard]] T pick(const T (&items)[N]) {
        return items[below(N)];
    }
    [[nodiscard]] std::string bytes(std::size_t size) {
        auto out = std::string(size, '\0');
        for (auto& c : out)
            c = static_cast<char>(below(256));
        return out;
    }

  private:
    [[nodiscard]] std::uint8_t take() noexcept {
        if (bytes_.empty())
            return 0;
        const auto first = bytes_.front();
        bytes_ = bytes_.subspan(1);
        return first;
    }

    std::optional<rng> random_{};
    std::span<const std::uint8_t> bytes_{};
};

} // namespace colimit::test
