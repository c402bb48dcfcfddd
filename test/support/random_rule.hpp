// SPDX-License-Identifier: BSL-1.0
//
// Rules with any numbers that a text can hold, small, large and at the edges.

#ifndef COLIMIT_TEST_SUPPORT_RANDOM_RULE_HPP
#define COLIMIT_TEST_SUPPORT_RANDOM_RULE_HPP

#include <colimit/rule.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace colimit::test {

class random_rules {
  public:
    explicit random_rules(std::uint64_t seed) : random_(seed) {}

    /// 0 to `most`.
    [[nodiscard]] std::uint64_t below_or_at(std::uint64_t most) {
        return most == ~std::uint64_t{0} ? random_() : random_() % (most + 1);
    }

    /// 0 to 2^63 - 1, all lengths alike, and often next to a power of two.
    [[nodiscard]] std::int64_t number() {
        const auto power = std::uint64_t{1} << below_or_at(62);
        const auto value = below_or_at(3) == 0 ? power - 1 + below_or_at(2) : random_() % power;
        return static_cast<std::int64_t>(value >> (value >> 63U));
    }

    [[nodiscard]] std::string name() {
        constexpr std::string_view letters =
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
        std::string out;
        for (auto n = 1 + below_or_at(limits::name_length - 1); n > 0; --n)
            out += letters[static_cast<std::size_t>(below_or_at(letters.size() - 1))];
        return out;
    }

    [[nodiscard]] rule next() {
        auto r = rule{static_cast<algorithm>(below_or_at(3)), number(), number(), number()};
        if (below_or_at(1) == 0)
            r = r.burst(r.count());
        if (below_or_at(1) == 0)
            r = r.named(name());
        return r.shadow(below_or_at(1) == 0);
    }

  private:
    std::mt19937_64 random_;
};

} // namespace colimit::test

#endif
