// SPDX-License-Identifier: BSL-1.0
//
// Rules with any numbers that a text can hold, small, large and at the edges.

#pragma once

#include <colimit/rule.hpp>

#include <chrono>
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
        for (auto n = 1 + below_or_at(limits::max_name_length - 1); n > 0; --n)
            out += letters[static_cast<std::size_t>(below_or_at(letters.size() - 1))];
        return out;
    }

    /// Of a continuous bucket.
    [[nodiscard]] rule next() {
        auto r = rule{static_cast<algorithm>(below_or_at(3)), number(), number(), number()};
        if (below_or_at(1) == 0)
            r = r.burst(r.count());
        if (below_or_at(1) == 0)
            r = r.named(name());
        return r.shadow(below_or_at(1) == 0);
    }

    /// Of every kind, with any refinements that a text can hold, whether a policy can be made of
    /// it or not.
    [[nodiscard]] rule any() {
        const auto kind = static_cast<algorithm>(below_or_at(last_algorithm));
        auto r = kind == algorithm::calendar ? calendar(number(), unit(), utc_offset())
                                             : rule{kind, number(), number(), number()};
        if (below_or_at(3) != 0)
            r = r.burst(r.count());
        if (const auto how = below_or_at(5); how < 2)
            r = how == 0 ? r.stepwise() : r.aligned();
        if (below_or_at(3) == 0)
            r = r.initially(number());
        if (below_or_at(3) == 0)
            r = r.from_first();
        if (below_or_at(3) == 0)
            r = r.count_denied();
        if (below_or_at(1) == 0)
            r = r.named(name());
        return r.shadow(below_or_at(3) == 0);
    }

    /// Of every kind, such that a policy can be made of it.
    [[nodiscard]] rule sensible() {
        const auto kind = static_cast<algorithm>(below_or_at(last_algorithm));
        const auto count = 1 + static_cast<std::int64_t>(below_or_at(9'999));
        const auto period = std::chrono::milliseconds{1 + below_or_at(86'399'999)};
        auto r = kind == algorithm::calendar
                     ? calendar(count, unit(), utc_offset() % limits::max_utc_offset)
                     : rule{kind, count, std::chrono::microseconds{period}.count(), count};
        if (is_bucket(kind)) {
            r = r.burst(1 + static_cast<std::int64_t>(below_or_at(99)));
            if (const auto how = below_or_at(5); how < 2)
                r = how == 0 ? r.stepwise() : r.aligned();
            if (below_or_at(3) == 0)
                r = r.initially(static_cast<std::int64_t>(below_or_at(1)));
        }
        if (kind == algorithm::fixed_window && below_or_at(1) == 0)
            r = r.from_first();
        if (kind == algorithm::sliding_log && below_or_at(1) == 0)
            r = r.count_denied();
        if (below_or_at(1) == 0)
            r = r.named(name());
        return r.shadow(below_or_at(3) == 0);
    }

  private:
    static constexpr auto last_algorithm = static_cast<std::uint64_t>(algorithm::distinct);

    [[nodiscard]] calendar_unit unit() { return static_cast<calendar_unit>(below_or_at(3)); }

    /// To 99 h 59 on either side, as far as a text goes; often none, or whole hours.
    [[nodiscard]] std::chrono::minutes utc_offset() {
        const auto how = below_or_at(3);
        const auto offset =
            std::chrono::minutes{static_cast<std::int64_t>(below_or_at(11'998)) - 5'999};
        return how == 0 ? std::chrono::minutes{0} : how == 1 ? offset / 60 * 60 : offset;
    }

    std::mt19937_64 random_;
};

} // namespace colimit::test
