// SPDX-License-Identifier: BSL-1.0
//
// Limiter statistics: plain counters since the limiter was constructed, for metrics and analysis.

#pragma once

#include <colimit/decision.hpp>
#include <colimit/error.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace colimit {

/// A latency histogram. Each doubling of the time is divided into eight buckets, so a time is known
/// to within an eighth: exactly up to 7 us; times above about 2 hours are in the last bucket.
class latency_histogram {
  public:
    static constexpr std::size_t size = 248;

    /// Negative times count as 0.
    constexpr void add(std::chrono::microseconds time) noexcept {
        const auto us = static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0));
        ++counts_[bucket_of(us)];
        sum_ += us;
    }

    /// Returns the number of times in bucket `i`.
    [[nodiscard]] constexpr std::uint64_t operator[](std::size_t i) const noexcept {
        return counts_[i];
    }
    /// Returns the shortest time of bucket `i`; that of `i + 1` is the first one above it.
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

    /// Returns a time that the given fraction of all times, 0 to 1, did not exceed: the longest of
    /// its bucket. Returns 0 if the histogram is empty.
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
    static constexpr std::size_t steps = 8; ///< per octave

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

/// Counters of calls by how they ended.
struct call_counts {
    /// Decisions by outcome. For `seen`, a new id counts as allowed and a known one as denied.
    std::uint64_t allowed = 0;
    std::uint64_t denied = 0;
    std::uint64_t never = 0;
    /// Calls that ended with an error; `errors` counts them by code.
    std::uint64_t failed = 0;
    /// Calls that their callers cancelled.
    std::uint64_t cancelled = 0;

    /// Decisions by source: `count(source)`.
    std::array<std::uint64_t, 6> sources{};
    [[nodiscard]] std::uint64_t count(decision_source who) const noexcept {
        return sources[static_cast<std::size_t>(who)];
    }

    /// Failed calls by error code: `count(errc)`. Codes of other libraries, such as out of memory,
    /// are in the first element.
    std::array<std::uint64_t, 17> errors{};
    [[nodiscard]] std::uint64_t count(errc code) const noexcept {
        return errors[static_cast<std::size_t>(code)];
    }

    /// The time from the start to the completion of calls, with a server address. The clock is read
    /// once per event-loop iteration and read, so earlier handlers of the same iteration count.
    latency_histogram latency;

    /// Returns the number of calls that have ended.
    [[nodiscard]] std::uint64_t ended() const noexcept {
        return allowed + denied + never + failed + cancelled;
    }
};

/// Counters since the limiter was constructed, which never reset; compute rates from differences.
struct statistics : call_counts {
    /// Calls of the verbs (not `ready`), each part of an `allow_many`, `seen_many`,
    /// `probably_seen_many` or `charge_members`, and an `allow_all` as one.
    /// Those that are complete are the sum of allowed, denied, never, failed and cancelled.
    std::uint64_t checks = 0;

    /// Calls beyond `config::advanced.max_in_flight`.
    [[nodiscard]] std::uint64_t rejected_overload() const noexcept {
        return count(errc::too_many_in_flight);
    }

    /// @name Traffic with the server; 0 for `memory:`
    /// @{

    /// Script calls that were sent (writes, in `execution_mode::multi`), including repeated ones.
    std::uint64_t batches = 0;
    /// The calls in them.
    std::uint64_t batch_calls = 0;
    /// The different keys in them: `batch_keys / batches` is the mean per batch.
    std::uint64_t batch_keys = 0;
    /// Of `batch_calls`, those that were sent to the server module: see
    /// `config::advanced.server_module`.
    std::uint64_t module_calls = 0;
    /// The present connections on which the server module executes calls: with one server 1 or 0,
    /// in a cluster at most one per node.
    std::uint64_t module_connections = 0;
    /// The largest number of keys in one batch.
    std::uint64_t largest_batch = 0;
    /// Calls that were merged into the entry of an identical call for the same key.
    std::uint64_t merged = 0;
    /// Scripts that were sent with SCRIPT LOAD: two per handshake, one for the checks and one for
    /// the user's permissions, unless the server module executes calls; and one whenever a server
    /// did not have a script that a call needs. The server counts the same in INFO commandstats.
    /// None in other execution modes.
    std::uint64_t script_loads = 0;
    /// Bytes written to the socket, and read from it.
    std::uint64_t bytes_out = 0;
    std::uint64_t bytes_in = 0;
    /// Connections that became ready, except the first.
    std::uint64_t reconnects = 0;
    /// The number of times that the circuit breaker has opened: several calls in a row had no reply
    /// in time, or several connections failed, and calls were not sent for a while.
    std::uint64_t breaker_openings = 0;

    /// @}

    /// Denials in the deny cache, including expired ones that have not been replaced yet.
    std::uint64_t cached_denials = 0;

    /// @name Leases: see `policy::with_leases`
    /// @{

    /// Leases that the store has granted.
    std::uint64_t leases = 0;
    /// The tokens of these leases, without those of the calls that asked for them. What is neither
    /// spent nor lapsed is still held.
    std::uint64_t lease_tokens_taken = 0;
    /// The tokens of calls that leases have decided.
    std::uint64_t lease_tokens_spent = 0;
    /// Tokens that were not spent when their lease ended or was dropped. An ended lease is counted
    /// when its key is used again, or when its place is needed.
    std::uint64_t lease_tokens_lapsed = 0;

    /// @}
    /// @name Slots: see `limiter::acquire`
    /// @{

    /// The slots that are held at present.
    std::uint64_t slots_held = 0;
    /// Slots that were granted.
    std::uint64_t slots_acquired = 0;
    /// Renewals of their leases.
    std::uint64_t slots_renewed = 0;
    /// Slots that were given back before their lease had ended.
    std::uint64_t slots_released = 0;
    /// Slots whose lease has ended before they were given back, or that the store has forgotten.
    std::uint64_t slots_lost = 0;

    /// @}
};

/// Counters of the calls under one policy, if `config::counted_policies` asks for them. Of
/// `allow_all` each check counts, with its own decision: under its policy it is allowed even if
/// another check was denied.
struct policy_statistics : call_counts {
    /// The name of the policy; `filter:` and the name of a Bloom filter, whose calls are `seen` and
    /// `probably_seen`; `(once)` for `once`; `(other)` for all policies beyond
    /// `config::counted_policies`. No name of a policy or filter has a colon or parentheses.
    std::string policy;
    /// The calls among `allowed` that were granted and that a shadow rule would have denied.
    std::uint64_t shadow_denied = 0;
};

} // namespace colimit
