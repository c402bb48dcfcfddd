// SPDX-License-Identifier: BSL-1.0
//
// One rule: an algorithm and its numbers. A rule is a plain value; whether its numbers make sense
// is decided once, when a policy is made of it.

#ifndef COLIMIT_RULE_HPP
#define COLIMIT_RULE_HPP

#include <colimit/limits.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <ratio>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace colimit {

/// The algorithms. All of the bucket family below share one arithmetic (the virtual scheduling form
/// of ITU-T I.371's generic cell rate algorithm, in exact fractions) and differ in how people state
/// it.
enum class algorithm : std::uint8_t { gcra, cell, token_bucket, leaky_bucket };

/// The name that texts and default rule names use: `gcra`, `cell`, `token_bucket`, `leaky_bucket`.
[[nodiscard]] std::string_view to_string(algorithm a) noexcept;

namespace detail {

/// Stands for a duration that is not a whole number of microseconds, or too long for 64 bits.
inline constexpr std::int64_t no_duration = std::numeric_limits<std::int64_t>::min();

template<class Rep, class Period>
[[nodiscard]] constexpr std::int64_t
whole_microseconds(std::chrono::duration<Rep, Period> d) noexcept {
    static_assert(std::is_integral_v<Rep>, "periods are whole numbers, so that limits are exact");
    using ratio = std::ratio_divide<Period, std::micro>;
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    if (!std::in_range<std::int64_t>(d.count()))
        return no_duration;
    const auto count = static_cast<std::int64_t>(d.count());
    if (count > most / ratio::num || count < -(most / ratio::num))
        return no_duration;
    const auto scaled = count * ratio::num;
    return scaled % ratio::den == 0 ? scaled / ratio::den : no_duration;
}

/// A short name inside a rule. Rules are trivially destructible: GCC 12 destroys some temporaries
/// with destructors twice when they stand in the same expression as a co_await.
class inline_name {
  public:
    constexpr inline_name() = default;
    constexpr explicit inline_name(std::string_view text) noexcept
        : size_(text.size() > bytes_.size() ? too_long : static_cast<std::uint8_t>(text.size())) {
        for (std::size_t i = 0; i < text.size() && i < bytes_.size(); ++i)
            bytes_[i] = text[i];
    }

    [[nodiscard]] constexpr bool fits() const noexcept { return size_ != too_long; }
    [[nodiscard]] constexpr std::string_view view() const noexcept {
        return {bytes_.data(), fits() ? size_ : bytes_.size()};
    }

  private:
    static constexpr std::uint8_t too_long = 255;
    std::array<char, limits::name_length> bytes_{};
    std::uint8_t size_ = 0;
};

} // namespace detail

/// One limit. Made by the factories below and refined by its members, each of which returns a
/// changed copy: `gcra(100, 1s).burst(10).named("second")`.
class rule {
  public:
    constexpr rule(algorithm kind, std::int64_t count, std::int64_t period_us,
                   std::int64_t capacity) noexcept
        : count_(count), period_us_(period_us), capacity_(capacity), algorithm_(kind) {}

    /// The capacity: how many may come at once after a rest. At least 1; the default is the count.
    [[nodiscard]] constexpr rule burst(std::int64_t capacity) const noexcept {
        auto copy = *this;
        copy.capacity_ = capacity;
        return copy;
    }

    /// The name under which the rule's state is found and reported; its algorithm's name by
    /// default. 1 to 64 characters of `[A-Za-z0-9_.-]`. Two rules of a policy must not share one.
    [[nodiscard]] constexpr rule named(std::string_view name) const noexcept {
        auto copy = *this;
        copy.name_ = detail::inline_name{name};
        copy.is_named_ = true;
        return copy;
    }

    /// Evaluated, charged whenever a call is granted and reported, but never a reason to refuse: to
    /// try a limit before it is switched on.
    [[nodiscard]] constexpr rule shadow(bool on = true) const noexcept {
        auto copy = *this;
        copy.is_shadow_ = on;
        return copy;
    }

    [[nodiscard]] constexpr algorithm kind() const noexcept { return algorithm_; }
    /// Tokens repaid per period.
    [[nodiscard]] constexpr std::int64_t count() const noexcept { return count_; }
    [[nodiscard]] constexpr std::chrono::microseconds period() const noexcept {
        return std::chrono::microseconds{period_us_};
    }
    /// Tokens that fit at once; what `decision::limit` reports.
    [[nodiscard]] constexpr std::int64_t capacity() const noexcept { return capacity_; }
    [[nodiscard]] constexpr bool is_shadow() const noexcept { return is_shadow_; }
    [[nodiscard]] constexpr bool is_named() const noexcept { return is_named_; }
    /// The given name, or the algorithm's.
    [[nodiscard]] std::string_view name() const noexcept;
    /// Whether the given name was short enough to be kept whole.
    [[nodiscard]] constexpr bool name_fits() const noexcept { return name_.fits(); }

    /// Equal kinds, numbers, names and shadow flags: the rules mean the same.
    friend bool operator==(const rule& a, const rule& b) noexcept;

  private:
    std::int64_t count_;
    std::int64_t period_us_;
    std::int64_t capacity_;
    detail::inline_name name_;
    algorithm algorithm_;
    bool is_named_ = false;
    bool is_shadow_ = false;
};

/// `count` per `period`, evenly spaced, with `burst` at once (default: count).
template<class Rep, class Period>
[[nodiscard]] constexpr rule gcra(std::int64_t count,
                                  std::chrono::duration<Rep, Period> period) noexcept {
    return {algorithm::gcra, count, detail::whole_microseconds(period), count};
}

/// redis-cell's arguments, in its order: `max_burst` more than one at once, `count` per `period`.
/// The capacity is max_burst + 1.
template<class Rep, class Period>
[[nodiscard]] constexpr rule cell(std::int64_t max_burst, std::int64_t count,
                                  std::chrono::duration<Rep, Period> period) noexcept {
    const auto most = std::numeric_limits<std::int64_t>::max();
    return {algorithm::cell, count, detail::whole_microseconds(period),
            max_burst < 0 ? 0 : (max_burst == most ? most : max_burst + 1)};
}

/// A bucket of `capacity` tokens that starts full; `count` of them come back per `period`,
/// continuously.
template<class Rep, class Period>
[[nodiscard]] constexpr rule token_bucket(std::int64_t capacity, std::int64_t count,
                                          std::chrono::duration<Rep, Period> period) noexcept {
    return {algorithm::token_bucket, count, detail::whole_microseconds(period), capacity};
}

/// The funnel: holds `capacity`, leaks `count` per `period`; what does not fit is refused.
template<class Rep, class Period>
[[nodiscard]] constexpr rule leaky_bucket(std::int64_t capacity, std::int64_t count,
                                          std::chrono::duration<Rep, Period> period) noexcept {
    return {algorithm::leaky_bucket, count, detail::whole_microseconds(period), capacity};
}

/// The rule as text, in the grammar of `<colimit/text.hpp>`: `5/s burst 10`.
[[nodiscard]] std::string to_string(const rule& r);

} // namespace colimit

#endif
