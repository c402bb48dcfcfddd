// SPDX-License-Identifier: BSL-1.0
//
// The policy that a suite is about.

#ifndef COLIMIT_TEST_CONFORMANCE_RULES_HPP
#define COLIMIT_TEST_CONFORMANCE_RULES_HPP

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
    /// What the steps are asked under. A peer's bucket is there for ever; one of ours that was full
    /// for as long as it takes to fill is gone, and must not begin as it did once more.
    policy asked;
    conformance::scale scale;
};

/// The ways, on the first scale on which the policy can be made. Windows are run aligned and from
/// the first charge.
[[nodiscard]] std::vector<variant> variants_of(const suite& s);

} // namespace colimit::conformance

#endif
