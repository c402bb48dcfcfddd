// SPDX-License-Identifier: BSL-1.0
//
// What a limiter has done since it was made, as plain numbers: for a page of metrics, or for seeing
// why something is slow.

#ifndef COLIMIT_STATISTICS_HPP
#define COLIMIT_STATISTICS_HPP

#include <colimit/decision.hpp>
#include <colimit/error.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace colimit {

/// How often something took how long. Each doubling of the time is divided into eight buckets, so
/// a time is known to within an eighth: up to 7 us exactly, up to some 2 hours in all; what took
/// longer is in the last bucket.
class latency_histogram {
  public:
    static constexpr std::size_t size = 248;

    /// Negative times count as 0.
    constexpr void add(std::chrono::microseconds time) noexcept {
        const auto us = static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0));
        ++counts_[bucket_of(us)];
        sum_ += us;
    }

    /// How many times fell into bucket `i`.
    [[nodiscard]] constexpr std::uint64_t operator[](std::size_t i) const noexcept {
        return counts_[i];
    }
    /// The shortest time of bucket `i`; that of `i + 1` is the first one above it.
    [[nodiscard]] static constexpr std::chrono::microseconds
    bucket_lower_bound(std::size_t i) noexcept {
        const auto octave = i / steps;
        const auto us =
            octave == 0 ? std::uint64_t{i} : std::uint64_t{steps + i % steps} << (octave - 1);
        return std::chrono::microseconds{static_cast<std::int64_t>(us)};
    }

    [[nodiscard]] constexpr std::uint64_t count() const noexcept {
        auto all = std::uint64_t{0};
        for (const auto n : counts_)
            all += n;
        return all;
    }
    [[nodiscard]] constexpr std::chrono::microseconds sum() const noexcept {
        return std::chrono::microseconds{static_cast<std::int64_t>(sum_)};
    }

    /// A time that the given share of all, 0 to 1, did not exceed: the largest of its bucket. 0
    /// where there is none.
    [[nodiscard]] constexpr std::chrono::microseconds quantile(double share) const noexcept {
        const auto all = count();
        const auto wanted = std::max(share * static_cast<double>(all), 1.0);
        auto so_far = std::uint64_t{0};
        for (std::size_t i = 0; i < size && all != 0; ++i) {
            so_far += counts_[i];
            if (static_cast<double>(so_far) >= wanted || so_far == all)
                return bucket_lower_bound(i + 1) - std::chrono::microseconds{1};
        }
        return {};
    }

  private:
    static constexpr std::size_t steps = 8; ///< of an octave

    [[nodiscard]] static constexpr std::size_t bucket_of(std::uint64_t us) noexcept {
        if (us < steps)
            return static_cast<std::size_t>(us);
        const auto shift = static_cast<std::size_t>(std::bit_width(us)) - 4;
        const auto bucket = steps * (shift + 1) + static_cast<std::size_t>(us >> shift) % steps;
        return std::min(bucket, size - 1);
    }

    std::array<std::uint64_t, size> counts_{};
    std::uint64_t sum_ = 0;
};

/// Counted since the limiter was made. Nothing is ever set back: who wants rates takes differences.
struct statistics {
    /// Questions that were asked: calls of the verbs (not `ready`), each check of an `allow_many`,
    /// and an `allow_all` as one. Those that have ended are the sum of allowed, limited, never,
    /// failed and cancelled; the others are under way.
    std::uint64_t checks = 0;

    /// Decisions by their outcome. For `seen`, an id that is new is allowed and another limited.
    std::uint64_t allowed = 0;
    std::uint64_t denied = 0;
    std::uint64_t never = 0;
    /// Ended with an error; `errors` tells which.
    std::uint64_t failed = 0;
    /// Ended by their callers.
    std::uint64_t cancelled = 0;

    /// Decisions by who made them: `count(source)`.
    std::array<std::uint64_t, 5> sources{};
    [[nodiscard]] std::uint64_t count(decision_source who) const noexcept {
        return sources[static_cast<std::size_t>(who)];
    }

    /// Failures by their code: `count(errc)`. Codes of other libraries, such as those of memory
    /// that ran out, are in the first.
    std::array<std::uint64_t, 17> errors{};
    [[nodiscard]] std::uint64_t count(errc code) const noexcept {
        return errors[static_cast<std::size_t>(code)];
    }
    /// Calls beyond `config::max_in_flight`.
    [[nodiscard]] std::uint64_t rejected_overload() const noexcept {
        return count(errc::too_many_in_flight);
    }

    /// @name What was said to the server; 0 for `memory:`
    /// @{

    /// Script calls that were sent (writes, in `execution_mode::multi`), those that were sent again
    /// included.
    std::uint64_t batches = 0;
    /// The calls in them.
    std::uint64_t batch_calls = 0;
    /// The different keys in them: `batch_keys / batches` is the mean.
    std::uint64_t batch_keys = 0;
    /// The most keys that one of them had.
    std::uint64_t largest_batch = 0;
    /// Calls that were part of the entry of an equal call for the same key.
    std::uint64_t merged = 0;
    /// Scripts that were sent with SCRIPT LOAD: two per handshake, one for the checks and one for
    /// the user's permissions, and one whenever a server did not have a script that a call needs.
    /// The server counts the same in INFO commandstats. None in `execution_mode::multi`.
    std::uint64_t script_loads = 0;
    /// Bytes given to the socket, and received from it.
    std::uint64_t bytes_out = 0;
    std::uint64_t bytes_in = 0;
    /// Connections that were ready to serve, but for the first.
    std::uint64_t reconnects = 0;
    /// How often the circuit breaker has opened: calls had no answer in time, or connections
    /// failed, several in a row, and the server was left alone for a while.
    std::uint64_t breaker_openings = 0;

    /// @}

    /// Denials that the deny cache holds, those that are over included until their place is needed.
    std::uint64_t cached_denials = 0;

    /// From the start of a call to its completion, where a server was asked. By the clock as it is
    /// read once for each turn of the loop and each read: what runs before in the same turn counts.
    latency_histogram latency;
};

} // namespace colimit

#endif
