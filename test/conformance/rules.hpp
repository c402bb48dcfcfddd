// SPDX-License-Identifier: BSL-1.0
//
// The policy that a suite is about.

#pragma once

#include "scale.hpp"
#include "suite.hpp"

#include <colimit/policy.hpp>

#include <string>
#include <vector>

namespace colimit::conformance {

/// One way to run a suite.
struct variant {
    std::string name; ///< empty if there is only one
    /// Makes the state at time 0, with the tokens that the suite begins with.
    policy created;
    /// The policy of the steps. The buckets of other limiters exist forever; one of colimit that
    /// was full for as long as it takes to fill is deleted, and must not begin with its initial
    /// tokens again.
    policy asked;
    conformance::scale scale;
};

/// The ways, on the first scale on which the policy can be made. Windows are run aligned and from
/// the first charge.
[[nodiscard]] std::vector<variant> variants_of(const suite& s);

} // namespace colimit::conformance
