// SPDX-License-Identifier: BSL-1.0
//
// Policies found by their names: what a program keeps of its configuration. A set is a value; new
// limits are a new set, and the state of policies that keep their names goes on.

#ifndef COLIMIT_POLICY_SET_HPP
#define COLIMIT_POLICY_SET_HPP

#include <colimit/policy.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace colimit {

/// Up to `limits::max_policies` policies with different names, in the order of the names.
///
/// @par Threads
/// Reading from many threads is safe while nobody assigns.
class policy_set {
  public:
    using const_iterator = std::vector<policy>::const_iterator;

    policy_set() = default;

    /// @throws colimit::error with `errc::invalid_policy` if two of them share a name, or if there
    /// are too many.
    explicit policy_set(std::vector<policy> policies);

    /// None: nullptr. What is found lives as long as the set is not assigned to.
    [[nodiscard]] const policy* find(std::string_view name) const noexcept;

    /// @throws colimit::error with `errc::invalid_policy` if there is none of that name.
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

#endif
