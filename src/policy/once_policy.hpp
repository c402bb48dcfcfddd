// SPDX-License-Identifier: BSL-1.0
//
// The policy of the ids of `once`: without a name, so that no user's policy can equal it, and
// without rules, so that its only state is a block.

#ifndef COLIMIT_POLICY_ONCE_POLICY_HPP
#define COLIMIT_POLICY_ONCE_POLICY_HPP

#include <policy/policy_data.hpp>

#include <memory>

namespace colimit::detail {

[[nodiscard]] const std::shared_ptr<const policy_data>& once_policy();

} // namespace colimit::detail

#endif
