// SPDX-License-Identifier: BSL-1.0
//
// Tests of errors need the error of a call, not the decision of a failure mode.

#pragma once

#include <colimit/config.hpp>

namespace colimit::test {

/// Errors are reported instead of decided by a failure mode.
inline void errors_come_through(config& settings) {
    settings.on_failure = failure_mode::error;
}

} // namespace colimit::test
