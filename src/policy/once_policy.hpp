// SPDX-License-Identifier: BSL-1.0
//
// Under which policy `once` keeps its ids: one without a name, which no user can make, and without
// rules, so that a block is all the state there is.

#ifndef COLIMIT_POLICY_ONCE_POLICY_HPP
#define COLIMIT_POLICY_ONCE_POLICY_HPP

#include <policy/policy_data.hpp>

#include <memory>

namespace colimit::detail {

[[nodiscard]] const std::shared_ptr<const policy_data>& once_policy();

} // namespace colimit::detail

#endif
