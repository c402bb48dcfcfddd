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

struct bloom_settings {
    /// New ids in one `ttl` for which `error_rate` holds, 1 to 1,000,000,000. More ids are
    /// accepted, but more of the new ones are reported as seen.
    std::int64_t capacity = 1'000'000;
    /// The fraction of new ids that may be reported as seen, 0.000001 to 0.5. At 0.01 an id takes
    /// 12.4 bits of the capacity, at 0.001 18.5, at 0.000001 40.
    double error_rate = 0.01;
    /// The shortest time for which an id is remembered, 1 ms to 366 days.
    std::chrono::microseconds ttl = std::chrono::hours{24};
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
    /// @param name 1 to 64 characters of `[A-Za-z0-9_.-]`; policies may have the same name
    explicit bloom_filter(std::string_view name, const bloom_settings& settings = {});

    /// Returns a copy whose keys begin with this prefix instead of `config::prefix`: 1 to 64
    /// characters of `[A-Za-z0-9_.-]`.
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
