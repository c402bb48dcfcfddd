// SPDX-License-Identifier: BSL-1.0
//
// Counters per policy, for `limiter::policy_statistics`.

#pragma once

#include <colimit/detail/call_request.hpp>
#include <colimit/statistics.hpp>
#include <policy/policy_data.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace colimit::detail {

/// A fixed number of counters, which are found by the names of policies. A program may make any
/// number of policies of one name, or of different names: the table by fingerprints, which finds a
/// known policy without its name, starts afresh when it is full.
class policy_counter {
  public:
    /// @param capacity policies; 0: nothing is counted
    explicit policy_counter(std::size_t capacity);

    [[nodiscard]] bool is_on() const noexcept { return capacity_ != 0; }
    /// Returns the counters of a policy; without memory those of all others.
    [[nodiscard]] policy_statistics& of(const policy_data& policy) noexcept;
    [[nodiscard]] std::vector<policy_statistics> counted() const;

  private:
    [[nodiscard]] std::size_t find(const policy_data& policy);

    std::size_t capacity_;
    std::vector<policy_statistics> counted_; ///< the first one is of all others
    boost::unordered_flat_map<std::uint64_t, std::size_t> by_fingerprint_;
};

} // namespace colimit::detail
