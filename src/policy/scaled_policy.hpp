// SPDX-License-Identifier: BSL-1.0
//
// A policy as one of several processes enforces it, each its share.

#ifndef COLIMIT_POLICY_SCALED_POLICY_HPP
#define COLIMIT_POLICY_SCALED_POLICY_HPP

#include <colimit/config.hpp>
#include <colimit/policy.hpp>

namespace colimit::detail {

/// The same name, rules and options with the limits that `config::local_fraction` describes. It
/// finds the same state as the policy itself.
[[nodiscard]] policy scaled(const policy_data& whole, fraction part);

} // namespace colimit::detail

#endif
