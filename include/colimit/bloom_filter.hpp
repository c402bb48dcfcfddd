// SPDX-License-Identifier: BSL-1.0
//
// Bloom filters for `seen`: each records very many ids in about two bytes per id, and sometimes
// reports a new id as seen. A filter is made once, like a policy.

#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>

namespace colimit {

namespace detail {
struct access;
struct policy_data;
} // namespace detail

/// The size and lifetime of a filter.
struct bloom_settings {
    /// New ids in one `ttl` for which `error_rate` holds, 1 to 1,000,000,000. More ids are
    /// accepted, but more of the new ones are reported as seen: see `filter_status` and
    /// `event_kind::filter_over_capacity`.
    std::int64_t capacity = 1'000'000;
    /// The fraction of new ids that may be reported as seen, 0.000001 to 0.5. At 0.01 an id takes
    /// 12.4 bits of the capacity, at 0.001 18.5, at 0.000001 40.
    double error_rate = 0.01;
    /// The shortest time for which an id is remembered, 1 ms to 366 days.
    std::chrono::microseconds ttl = std::chrono::hours{24};
};

/// How full one generation of a filter is.
struct filter_generation {
    /// The fraction of its bits that are set, 0 to 1.
    double fill = 0;
    /// The number of ids that are recorded in it, by estimate.
    std::int64_t ids = 0;
};

/// The state of a filter, as `filter_status` returns it. All bits of a block of up to 64 KiB are
/// counted, of larger blocks the first 64 KiB, in up to 16 blocks. So the numbers are estimates:
/// with n ids in what is counted, `ids` has a standard error of at most about 1 / sqrt(n), which is
/// below 1 % for a large filter at its capacity.
struct filter_status {
    filter_generation current;
    filter_generation previous;
    /// The fraction of new ids that is reported as seen now, 0 to 1: what `bloom_settings::
    /// error_rate` bounds while no generation has more than `capacity` ids.
    double error_rate = 0;
    /// The number of hash functions: bits per id in each generation, 1 to 24.
    int hash_functions = 0;
    /// `bloom_settings::capacity`.
    std::int64_t capacity = 0;
    /// Whether one of the two generations has more ids than `capacity`, by estimate: `error_rate`
    /// may be above the configured one then. Near the capacity it may be wrong, like the estimate.
    bool is_over_capacity = false;
};

/// A named set of ids, which expire.
///
/// An id that was reported as new is reported as seen by every call within the next `ttl`, and by
/// none after twice `ttl`. (Time is divided into generations of `ttl`, with one bitmap per
/// generation: ids are looked up in those of the current and the previous one. Looking an id up
/// again does not extend its time, as with `once`.) A new id may be reported as seen with a
/// probability of up to `error_rate`; it is not recorded then.
///
/// The filter's memory, in the server or in this process, is twice `bytes()`, and is allocated in
/// blocks of up to 1 MiB when the first id maps to them. The store finds a filter by its name and
/// numbers: with other numbers it is another filter, which starts empty.
///
/// @par Errors
/// The constructor throws `colimit::error` with `errc::invalid_policy`.
///
/// @par Threads
/// Immutable: one filter may be used from all threads. A copy costs one reference count.
class bloom_filter {
  public:
    /// @param name 1 to 64 characters of `[A-Za-z0-9._-]`; policies may have the same name
    explicit bloom_filter(std::string_view name, const bloom_settings& settings = {});

    /// Returns a copy whose keys begin with this prefix instead of `config::prefix`: 1 to 64
    /// characters of `[A-Za-z0-9._-]`.
    [[nodiscard]] bloom_filter with_prefix(std::string_view prefix) const;

    [[nodiscard]] std::string_view name() const noexcept;
    [[nodiscard]] const bloom_settings& settings() const noexcept { return settings_; }
    /// Returns the size of one bitmap, the sum of its blocks.
    [[nodiscard]] std::int64_t bytes() const noexcept;

  private:
    friend struct detail::access;

    bloom_settings settings_;
    std::shared_ptr<const detail::policy_data> data_;
};

} // namespace colimit
