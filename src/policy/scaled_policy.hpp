// SPDX-License-Identifier: BSL-1.0
//
// Policies scaled for one of several processes.

#pragma once

#include <colimit/config.hpp>
#include <colimit/policy.hpp>

namespace colimit::detail {

/// Returns the same name, rules and options with limits scaled as `config::local_fraction`
/// documents, and without leases, but with the capacity that they leave. It uses the same state as
/// the policy itself.
[[nodiscard]] policy scaled(const policy_data& whole, fraction part);

} // namespace colimit::detail
