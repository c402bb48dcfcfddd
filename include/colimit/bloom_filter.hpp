// SPDX-License-Identifier: BSL-1.0
//
// What `seen` asks: a Bloom filter, which knows very many ids in about two bytes each, and is
// sometimes wrong about new ones. Made once, like a policy.

#ifndef COLIMIT_BLOOM_FILTER_HPP
#define COLIMIT_BLOOM_FILTER_HPP

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>

namespace colimit {

namespace detail {
struct policy_data;
} // namespace detail

struct bloom_settings {
    /// New ids in one `ttl` for which `error_rate` holds, 1 to 1,000,000,000. More than that are
    /// not refused, but more of them are called old.
    std::int64_t capacity = 1'000'000;
    /// The share of new ids that may be called old, 0.000001 to 0.5. At 0.01 an id takes 12.4 bits
    /// of the capacity, at 0.001 18.5, at 0.000001 40.
    double error_rate = 0.01;
    /// For how long an id is known at least, 1 ms to 366 days.
    std::chrono::microseconds ttl = std::chrono::hours{24};
};

/// A named set of ids that forgets them after a time.
///
/// An id that was called new is called old by every call within `ttl` from then, and by none after
/// twice `ttl`. (Time is cut into stretches of `ttl`, and there is a bitmap for each: ids are
/// looked up in those of the present and the previous stretch. Being asked about again does not
/// prolong anything, as with `once`.) An id that is new may be called old with a probability of up
/// to `error_rate`; nothing is recorded of it then.
///
/// The filter's memory, in the server or in this process, is twice `bytes()`, and is taken in
/// blocks of up to 1 MiB as ids fall on them. Name and numbers find it in the store: with other
/// numbers it is another filter, which starts empty.
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

    /// A copy whose keys begin with a prefix of its own instead of `config::prefix`: 1 to 64
    /// characters of `[A-Za-z0-9_.-]`.
    [[nodiscard]] bloom_filter with_prefix(std::string_view prefix) const;

    [[nodiscard]] std::string_view name() const noexcept;
    [[nodiscard]] const bloom_settings& settings() const noexcept { return settings_; }
    /// Of one bitmap, all blocks together.
    [[nodiscard]] std::int64_t bytes() const noexcept;

    /// What the stores read: for the library itself.
    [[nodiscard]] const std::shared_ptr<const detail::policy_data>& data() const noexcept {
        return data_;
    }

  private:
    bloom_settings settings_;
    std::shared_ptr<const detail::policy_data> data_;
};

} // namespace colimit

#endif
