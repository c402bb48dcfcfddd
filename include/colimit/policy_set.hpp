// SPDX-License-Identifier: BSL-1.0
//
// A set of policies by name, such as those of a configuration file. A set is a value: to change
// limits, make a new set; policies that keep their names keep their state.

#pragma once

#include <colimit/policy.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace colimit {

/// Up to `limits::max_policies` policies with different names, in the order of the names.
///
/// @par Threads Concurrent reads are safe while no thread assigns.
class policy_set {
  public:
    using const_iterator = std::vector<policy>::const_iterator;

    policy_set() = default;

    /// @throws colimit::error with `errc::invalid_policy` if two policies have the same name, or if
    /// there are too many.
    explicit policy_set(std::vector<policy> policies);

    /// Returns nullptr if there is no such policy. Valid until the set is assigned to or destroyed.
    [[nodiscard]] const policy* find(std::string_view name) const noexcept;

    /// @throws colimit::error with `errc::invalid_policy` if there is no policy of that name.
    [[nodiscard]] const policy& at(std::string_view name) const;

    [[nodiscard]] const_iterator begin() const noexcept { return policies_.begin(); }
    [[nodiscard]] const_iterator end() const noexcept { return policies_.end(); }
    [[nodiscard]] std::size_t size() const noexcept { return policies_.size(); }
    [[nodiscard]] bool empty() const noexcept { return policies_.empty(); }

    friend bool operator==(const policy_set& a, const policy_set& b) = default;

  private:
    std::vector<policy> policies_;
};

} // namespace colimit
