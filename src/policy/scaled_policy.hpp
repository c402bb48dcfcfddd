// SPDX-License-Identifier: BSL-1.0
//
// Policies scaled for one of several processes.
//
// A period can be stretched to the microsecond, so four processes with a quarter each admit as much
// as one limit. Limits of windows and logs are whole tokens, at least one. A call with a cost above
// the scaled limit is `denied` and not `never`, since the server would allow it.

#pragma once

#include <colimit/config.hpp>
#include <colimit/policy.hpp>

namespace colimit::detail {

/// Returns the same name, rules and options with limits scaled as `config::local_fraction`
/// documents, and without leases, but with the capacity that they leave. It uses the same state as
/// the policy itself.
[[nodiscard]] policy scaled(const policy_data& whole, fraction part);

} // namespace colimit::detail
