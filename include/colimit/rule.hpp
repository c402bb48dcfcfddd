// SPDX-License-Identifier: BSL-1.0
//
// One rule: an algorithm and its numbers. A rule is a plain value; its numbers are validated when a
// policy is made of it.

#pragma once

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

/// The algorithms. The first four are buckets: they share one arithmetic (the virtual scheduling
/// form of ITU-T I.371's generic cell rate algorithm, in exact fractions) and differ only in how
/// their numbers are stated.
enum class algorithm : std::uint8_t {
    gcra,
    cell,
    token_bucket,
    leaky_bucket,
    /// A count that restarts with each window.
    fixed_window,
    /// A fixed window with calendar days, ISO weeks, months or years.
    calendar,
    /// Two windows, the previous one weighted by its part that is still in the sliding window.
    sliding_window,
    /// Every charge is recorded: exact at every instant.
    sliding_log,
    /// Counts different members with a HyperLogLog: about 1 % error.
    distinct,
    /// Counts holders of slots, each of which gives its slot back or loses it with its lease.
    concurrent,
};

/// Returns whether the algorithm is one of the buckets.
[[nodiscard]] constexpr bool is_bucket(algorithm a) noexcept {
    return a <= algorithm::leaky_bucket;
}

/// How tokens return to a bucket.
enum class refill : std::uint8_t {
    /// Evenly, one token after another.
    continuous,
    /// The whole count at once, at each period since the bucket was first used.
    stepwise,
    /// The whole count at once, at multiples of the period since 1970.
    aligned,
};

/// The windows of a calendar rule.
enum class calendar_unit : std::uint8_t { day, week, month, year };

/// Returns the name in rule texts and of rules without a name: `gcra`, `sliding_log` and so on, as
/// above.
[[nodiscard]] std::string_view to_string(algorithm a) noexcept;
/// Returns `day`, `week`, `month` or `year`.
[[nodiscard]] std::string_view to_string(calendar_unit u) noexcept;

namespace detail {

/// The value of a duration that is not a whole number of microseconds, or does not fit in 64 bits.
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

/// A short name inside a rule. Rules are trivially destructible, because GCC 12 destroys some
/// temporaries with destructors twice in an expression with a co_await.
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
    std::array<char, limits::max_name_length> bytes_{};
    std::uint8_t size_ = 0;
};

} // namespace detail

/// One limit. Made by the factories below and refined by its members, each of which returns a
/// changed copy: `gcra(100, 1s).burst(10).named("second")`. A refinement that the algorithm does
/// not have, such as a burst of a window, is an error when a policy is made of the rule.
class rule {
    /// Stands in front of its callers: Clang evaluates no constants by templates that come later.
    template<class T>
    [[nodiscard]] constexpr rule with(T rule::* member, T value) const noexcept {
        auto copy = *this;
        copy.*member = value;
        return copy;
    }

  public:
    constexpr rule(algorithm kind, std::int64_t count, std::int64_t period_us,
                   std::int64_t capacity) noexcept
        : count_(count), period_us_(period_us), capacity_(capacity), algorithm_(kind) {}

    /// For buckets. Returns a copy with this capacity, the largest burst. At least 1; the default
    /// is the count.
    [[nodiscard]] constexpr rule burst(std::int64_t capacity) const noexcept {
        return with(&rule::capacity_, capacity);
    }

    /// For buckets. Returns a copy whose whole count returns at once, at each period since the
    /// first use.
    [[nodiscard]] constexpr rule stepwise() const noexcept {
        return with(&rule::refill_, refill::stepwise);
    }

    /// For buckets. Returns a copy whose whole count returns at once, at multiples of the period
    /// since 1970 (UTC).
    [[nodiscard]] constexpr rule aligned() const noexcept {
        return with(&rule::refill_, refill::aligned);
    }

    /// For buckets. Returns a copy with this number of initial tokens for a key without state: 0 to
    /// the capacity, which is the default. A key has state from its first `allow` or `charge`, even
    /// a denied one, until the bucket has been full for the time that it takes to fill. If
    /// something else denies the key for longer, the call at `retry_after` is the first one of a
    /// new key: it is allowed only if it costs at most the initial tokens, and otherwise the bucket
    /// fills from then on. No later `retry_after` would be right, as a call that waits until then
    /// is the first one of a new key, too. Nor would `outcome::never`, as that call is granted if
    /// it is made again when its denial says.
    [[nodiscard]] constexpr rule initially(std::int64_t tokens) const noexcept {
        auto copy = *this;
        copy.initial_ = tokens;
        copy.has_initial_ = true;
        return copy;
    }

    /// For fixed windows. Returns a copy whose windows start with the first charge and last one
    /// period, instead of starting at multiples of the period since 1970.
    [[nodiscard]] constexpr rule from_first() const noexcept {
        return with(&rule::is_from_first_, true);
    }

    /// For sliding logs. Denied calls are recorded too, so a client that keeps retrying stays
    /// limited. A call with `outcome::never` is not recorded.
    [[nodiscard]] constexpr rule count_denied() const noexcept {
        return with(&rule::counts_refused_, true);
    }

    /// For `concurrent`. Returns a copy with this lease: 100 ms to a day.
    template<class Rep, class Period>
    [[nodiscard]] constexpr rule lease(std::chrono::duration<Rep, Period> length) const noexcept {
        auto copy = *this;
        copy.period_us_ = detail::whole_microseconds(length);
        copy.has_lease_ = true;
        return copy;
    }

    /// Returns a copy with this name, by which the rule's state is found and reported; the default
    /// is the algorithm's name. 1 to 64 characters of `[A-Za-z0-9_.-]`, unique within a policy.
    [[nodiscard]] constexpr rule named(std::string_view name) const noexcept {
        auto copy = *this;
        copy.name_ = detail::inline_name{name};
        copy.is_named_ = true;
        return copy;
    }

    /// Returns a copy that is evaluated, charged whenever a call is granted, and reported, but
    /// never denies: to test a limit before it is enabled.
    [[nodiscard]] constexpr rule shadow(bool on = true) const noexcept {
        return with(&rule::is_shadow_, on);
    }

    [[nodiscard]] constexpr algorithm kind() const noexcept { return algorithm_; }
    /// Returns the tokens refilled per period; the limit of any other rule.
    [[nodiscard]] constexpr std::int64_t count() const noexcept { return count_; }
    /// Returns the period; the lease of a `concurrent` rule, and 0 for a calendar rule, whose
    /// windows differ in length.
    [[nodiscard]] constexpr std::chrono::microseconds period() const noexcept {
        return std::chrono::microseconds{period_us_};
    }
    /// Returns the largest burst, which `decision::limit` reports.
    [[nodiscard]] constexpr std::int64_t capacity() const noexcept { return capacity_; }
    [[nodiscard]] constexpr colimit::refill refill() const noexcept { return refill_; }
    [[nodiscard]] constexpr bool has_initial() const noexcept { return has_initial_; }
    /// Returns the initial tokens of a key: the capacity unless set by `initially`.
    [[nodiscard]] constexpr std::int64_t initial() const noexcept {
        return has_initial_ ? initial_ : capacity_;
    }
    [[nodiscard]] constexpr bool is_from_first() const noexcept { return is_from_first_; }
    /// Returns whether `lease` was called.
    [[nodiscard]] constexpr bool has_lease() const noexcept { return has_lease_; }
    [[nodiscard]] constexpr bool counts_denied() const noexcept { return counts_refused_; }
    /// For calendar rules.
    [[nodiscard]] constexpr calendar_unit unit() const noexcept { return unit_; }
    /// For calendar rules: returns how far its days are ahead of UTC.
    [[nodiscard]] constexpr std::chrono::minutes utc_offset() const noexcept {
        return std::chrono::minutes{utc_offset_};
    }
    [[nodiscard]] constexpr bool is_shadow() const noexcept { return is_shadow_; }
    [[nodiscard]] constexpr bool is_named() const noexcept { return is_named_; }
    /// Returns the given name, or the algorithm's.
    [[nodiscard]] std::string_view name() const noexcept;
    /// Returns whether the given name was short enough to be stored completely.
    [[nodiscard]] constexpr bool name_fits() const noexcept { return name_.fits(); }

    /// Compares kinds, numbers, refinements, names and shadow flags.
    friend bool operator==(const rule& a, const rule& b) noexcept;

  private:
    friend constexpr rule calendar(std::int64_t, calendar_unit, std::chrono::minutes) noexcept;

    std::int64_t count_;
    std::int64_t period_us_;
    std::int64_t capacity_;
    std::int64_t initial_ = 0;
    std::int64_t utc_offset_ = 0; ///< minutes
    detail::inline_name name_;
    algorithm algorithm_;
    colimit::refill refill_ = colimit::refill::continuous;
    calendar_unit unit_ = calendar_unit::day;
    bool has_initial_ = false;
    bool is_from_first_ = false;
    bool counts_refused_ = false;
    bool has_lease_ = false;
    bool is_named_ = false;
    bool is_shadow_ = false;
};

/// Returns a rule of `count` per `period`, evenly spaced, with bursts of `.burst()` (default:
/// count).
template<class Rep, class Period>
[[nodiscard]] constexpr rule gcra(std::int64_t count,
                                  std::chrono::duration<Rep, Period> period) noexcept {
    return {algorithm::gcra, count, detail::whole_microseconds(period), count};
}

/// Returns a rule from redis-cell's arguments, in its order: bursts of `max_burst` + 1, `count` per
/// `period`.
template<class Rep, class Period>
[[nodiscard]] constexpr rule cell(std::int64_t max_burst, std::int64_t count,
                                  std::chrono::duration<Rep, Period> period) noexcept {
    const auto most = std::numeric_limits<std::int64_t>::max();
    return {algorithm::cell, count, detail::whole_microseconds(period),
            max_burst < 0 ? 0 : (max_burst == most ? most : max_burst + 1)};
}

/// Returns a bucket of `capacity` tokens that starts full and is refilled continuously with `count`
/// tokens per `period`.
template<class Rep, class Period>
[[nodiscard]] constexpr rule token_bucket(std::int64_t capacity, std::int64_t count,
                                          std::chrono::duration<Rep, Period> period) noexcept {
    return {algorithm::token_bucket, count, detail::whole_microseconds(period), capacity};
}

/// Returns a leaky bucket (a funnel), which holds `capacity` and leaks `count` per `period`; calls
/// that do not fit are denied. A rate with a fraction is a longer period: 0.5 per second is
/// `leaky_bucket(capacity, 1, 2s)`, and `0.5/s leaky_bucket burst 10` as a rule text.
template<class Rep, class Period>
[[nodiscard]] constexpr rule leaky_bucket(std::int64_t capacity, std::int64_t count,
                                          std::chrono::duration<Rep, Period> period) noexcept {
    return {algorithm::leaky_bucket, count, detail::whole_microseconds(period), capacity};
}

/// Returns a rule of at most `limit` in each window of `period`; windows begin at multiples of the
/// period since 1970 (UTC), or with `.from_first()` at the first charge. Up to twice the limit can
/// pass around the end of a window.
template<class Rep, class Period>
[[nodiscard]] constexpr rule fixed_window(std::int64_t limit,
                                          std::chrono::duration<Rep, Period> period) noexcept {
    return {algorithm::fixed_window, limit, detail::whole_microseconds(period), limit};
}

/// Returns a rule of at most `limit` in each calendar day, ISO week (from Monday), month or year at
/// a fixed offset from UTC, -18 h to 18 h: `calendar(3, calendar_unit::month, 8h)`. To follow
/// daylight saving time, make another policy of the same name when the offset changes: the user
/// guide says what happens to the window then.
[[nodiscard]] constexpr rule calendar(std::int64_t limit, calendar_unit unit,
                                      std::chrono::minutes utc_offset = std::chrono::minutes{
                                          0}) noexcept {
    auto made = rule{algorithm::calendar, limit, 0, limit};
    made.unit_ = unit;
    made.utc_offset_ = utc_offset.count();
    return made;
}

/// Returns a rule of at most `limit` in a sliding window, estimated from two fixed ones: the
/// previous window counts with its fraction that the sliding one still covers. Its state is small;
/// its error depends on how unevenly the calls of the previous window were distributed.
template<class Rep, class Period>
[[nodiscard]] constexpr rule sliding_window(std::int64_t limit,
                                            std::chrono::duration<Rep, Period> period) noexcept {
    return {algorithm::sliding_window, limit, detail::whole_microseconds(period), limit};
}

/// Returns a rule of at most `limit` in any window of `period`, exactly: every charge is recorded
/// for a period, so a key needs memory for up to `limit` of them. The limit is at most 100,000.
template<class Rep, class Period>
[[nodiscard]] constexpr rule sliding_log(std::int64_t limit,
                                         std::chrono::duration<Rep, Period> period) noexcept {
    return {algorithm::sliding_log, limit, detail::whole_microseconds(period), limit};
}

/// Returns a rule of at most `limit` different members (`check_options::member`) in each window of
/// `period`, such as the addresses from which an account logs in. Counted with a HyperLogLog: about
/// 1 % error, at most 12 KiB.
template<class Rep, class Period>
[[nodiscard]] constexpr rule distinct(std::int64_t limit,
                                      std::chrono::duration<Rep, Period> period) noexcept {
    return {algorithm::distinct, limit, detail::whole_microseconds(period), limit};
}

/// Returns a rule of at most `limit` holders of a slot at once, 1 to 100,000. `acquire` takes a
/// slot. Its holder keeps it by renewing it, until it gives it back; otherwise it loses it after
/// `.lease()`, by default 30 s, according to the store's clock.
[[nodiscard]] constexpr rule concurrent(std::int64_t limit) noexcept {
    return {algorithm::concurrent, limit, 30'000'000, limit};
}

/// Returns the rule as text, in the grammar of `<colimit/rule_text.hpp>`: `5/s burst 10`.
[[nodiscard]] std::string to_string(const rule& r);

} // namespace colimit
