// SPDX-License-Identifier: BSL-1.0
//
// A limit of concurrent work in this process that adapts to the measured latency: it rejects what
// would only wait, so that an overloaded process keeps doing useful work.

#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>

namespace colimit {

/// How an `adaptive_limit` derives its limit from latencies.
enum class adaptive_algorithm : std::uint8_t {
    /// Gradient2 of Netflix: compares the average latency of the last window with a long-term
    /// average. While the former is below `tolerance` times the latter the limit grows, otherwise
    /// it shrinks in proportion. It grows slowly, by `queue_size * smoothing` per window (0.8 with
    /// the defaults), and a dependency that becomes slower looks like overload for as long as the
    /// long-term average needs to follow (minutes): the limit may go down to `min_limit`.
    ///
    /// Source: github.com/Netflix/concurrency-limits, `Gradient2Limit`, `WindowedLimit` and
    /// `ExpAvgMeasurement`, revision 78a74b9.
    gradient2,
    /// The automatic concurrency limiter of Apache brpc: by Little's law the limit is the largest
    /// throughput times the smallest latency, with some room to explore. It follows a new load
    /// within a few windows. Every `remeasure_interval` it lowers the limit for an instant in order
    /// to measure the latency without load again. With few calls at a time, a limit that is 6 to 30
    /// % above the average rejects random peaks: it suits services with some 50 calls or more.
    ///
    /// Source: github.com/apache/brpc, src/brpc/policy/auto_concurrency_limiter.cpp and
    /// docs/cn/auto_concurrency_limiter.md, revision 71871ee; where they differ, the code.
    brpc,
};

/// Returns `gradient2` or `brpc`.
[[nodiscard]] std::string_view to_string(adaptive_algorithm a) noexcept;

/// Returns the algorithm with this name, as `to_string` writes it.
/// @throws colimit::error with `errc::invalid_argument`, which lists the names
[[nodiscard]] adaptive_algorithm parse_adaptive_algorithm(std::string_view name);

/// Options of `adaptive_algorithm::gradient2`. The defaults are those of the source.
struct gradient2_options {
    /// The limit before the first window ends, and its bounds: 1 to 1,000,000 calls, min <= initial
    /// <= max. As the limit grows slowly, begin near the expected number of calls at a time, such
    /// as the number of threads. `min_limit` is also what remains if a dependency becomes slow.
    std::int64_t initial_limit = 20;
    std::int64_t min_limit = 20;
    std::int64_t max_limit = 200;
    /// The weight of a new estimate: above 0, up to 1.
    double smoothing = 0.2;
    /// The queue that is allowed for, in calls: 1 to 1,000,000. The limit grows by this, times
    /// `smoothing`, in each window without a queue.
    std::int64_t queue_size = 4;
    /// How many times the long-term latency is not yet taken for a queue: 1 to 1,000.
    double tolerance = 1.5;
    /// The windows in the long-term average: 1 to 1,000,000.
    std::int64_t long_window = 600;
    /// The length of a window is twice the smallest latency in the previous one, between these: 100
    /// ms to 1 h, min <= max.
    std::chrono::milliseconds min_window{1000};
    std::chrono::milliseconds max_window{1000};
    /// A window with fewer calls than this changes nothing: 10 to 1,000,000.
    std::int64_t min_samples = 10;
    /// Shorter calls are not counted: 0 to 1 h.
    std::chrono::microseconds min_latency{100};
};

/// Options of `adaptive_algorithm::brpc`. The defaults are those of the source, except `max_limit`,
/// which it does not have.
struct brpc_options {
    /// The limit before the first window ends, and its bounds: 1 to 1,000,000 calls, min <= initial
    /// <= max.
    std::int64_t initial_limit = 40;
    std::int64_t min_limit = 9;
    std::int64_t max_limit = 1'000'000;
    /// A window ends after this time, 1 ms to 1 h, if it has `min_samples`, and before if it has
    /// `max_samples`: 1 to 1,000,000 calls, min <= max. One with too few calls by then is
    /// discarded.
    std::chrono::milliseconds window{1000};
    std::int64_t min_samples = 100;
    std::int64_t max_samples = 200;
    /// At most one call per this time is a sample: 0 to 1 h. All are counted for the throughput.
    std::chrono::microseconds sampling_interval{100};
    /// The longest time between two measurements of the latency without load, 1 ms to 24 h; the
    /// shortest is half of it, and each is random.
    std::chrono::milliseconds remeasure_interval{50'000};
    /// The part of the estimated limit that is left for such a measurement: above 0, up to 1.
    double remeasure_ratio = 0.9;
    /// The weight of a window with a lower latency in the average of small latencies, and ten times
    /// that of a window with a lower throughput in the average of large ones: above 0, up to 1.
    double smoothing = 0.1;
    /// The room above throughput times latency: a fraction that changes by `explore_step` per
    /// window between `min_explore`, if there is a queue, and `max_explore`. 0 to 10, min <= max;
    /// the step up to max.
    double max_explore = 0.3;
    double min_explore = 0.06;
    double explore_step = 0.02;
    /// How many times `min_explore` a latency may be above the smallest one without a queue: 0 to
    /// 1,000.
    double latency_tolerance = 1;
    /// Whether calls that were `dropped` are samples, whose latency, times `failure_weight` (0 to
    /// 1,000), is added to that of the others.
    bool count_failures = true;
    double failure_weight = 1;
    /// The fraction of dropped calls up to which nothing is added; above, it rises to the whole: 0
    /// to less than 1.
    double failure_threshold = 0;
    /// Of the random times of measurements; 0 for one from the system's random source.
    std::uint64_t seed = 0;
};

struct adaptive_options {
    adaptive_algorithm algorithm = adaptive_algorithm::gradient2;
    /// The options of the algorithms, of which those of the chosen one are used and checked.
    gradient2_options gradient2{};
    brpc_options brpc{};
};

namespace detail {
struct adaptive_state;
}

/// An adaptive concurrency limit for one process. It needs no server and no executor.
///
/// @par Threads
/// Any thread may call any function at any time. An admission is an atomic increment; a report
/// holds a mutex while it adds a few numbers. Nothing waits for a permit, and no call allocates.
///
/// @par Clock
/// The steady clock, or times that all calls supply, as in tests: they should not decrease, apart
/// from the small disorder of threads. If they are set back, the limit stays as it is until they
/// have caught up. A negative latency counts as 0, one above an hour as an hour.
class adaptive_limit {
  public:
    using clock = std::chrono::steady_clock;
    using time_point = clock::time_point;

    /// A call that was admitted, or nothing. It holds its place until it is reported or destroyed,
    /// and may be destroyed after the limit. One object is confined to one thread at a time.
    ///
    /// Destruction without a report counts as `succeeded`, unless an exception that was thrown
    /// since the admission is unwinding the stack: then as `ignored`. Empty permits ignore reports;
    /// a report makes a permit empty.
    class permit {
      public:
        permit() noexcept = default;
        ~permit();
        permit(permit&& other) noexcept = default;
        /// Also ends the call that this permit held, as its destruction would.
        permit& operator=(permit&& other) noexcept;
        permit(const permit&) = delete;
        permit& operator=(const permit&) = delete;

        /// Returns whether the call was admitted and is not reported yet.
        [[nodiscard]] explicit operator bool() const& noexcept { return state_ != nullptr; }
        /// A temporary would give its place back at once: write `if (auto work = ...; !work)`.
        explicit operator bool() const&& = delete;

        /// The call has ended, and its latency counts.
        void succeeded(time_point now = clock::now()) noexcept;
        /// The call has ended, and its latency says nothing about the load: it was denied by a
        /// rate limit, was not valid, or came from a cache.
        void ignored() noexcept;
        /// The call failed because of load: it timed out, or a dependency rejected it. `gradient2`
        /// counts its latency as that of others; for `brpc` see `count_failures`.
        void dropped(time_point now = clock::now()) noexcept;

      private:
        friend class adaptive_limit;
        permit(std::shared_ptr<detail::adaptive_state> state, time_point start,
               std::int64_t in_flight) noexcept;
        void report(time_point now, bool has_failed) noexcept;

        std::shared_ptr<detail::adaptive_state> state_;
        time_point start_{};
        std::int64_t in_flight_ = 0; ///< with this call, when it was admitted
        int exceptions_ = 0;         ///< that were unwinding the stack then
    };

    /// @throws colimit::error with `errc::invalid_argument`: the option, its value and the allowed
    /// ones
    explicit adaptive_limit(const adaptive_options& options = {});
    adaptive_limit(const adaptive_limit&) = delete;
    adaptive_limit& operator=(const adaptive_limit&) = delete;
    ~adaptive_limit();

    /// Returns a permit if fewer calls than `limit()` are in flight, otherwise an empty one.
    [[nodiscard]] permit try_acquire(time_point now = clock::now()) noexcept;

    /// Returns the current limit of calls in flight. It may be below `in_flight()` for a while
    /// after it has become lower.
    [[nodiscard]] std::int64_t limit() const noexcept;
    /// Returns the number of admitted calls that are neither reported nor destroyed.
    [[nodiscard]] std::int64_t in_flight() const noexcept;

  private:
    std::shared_ptr<detail::adaptive_state> state_;
};

} // namespace colimit
