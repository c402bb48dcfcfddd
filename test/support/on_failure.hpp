// SPDX-License-Identifier: BSL-1.0
//
// Tests of what becomes of a call want to see its error, not what stands in for an answer.

#ifndef COLIMIT_TEST_SUPPORT_ON_FAILURE_HPP
#define COLIMIT_TEST_SUPPORT_ON_FAILURE_HPP

#include <colimit/config.hpp>

namespace colimit::test {

/// Errors are reported instead of decided by a failure mode.
inline void errors_come_through(config& settings) {
    settings.on_failure = failure_mode::error;
}

} // namespace colimit::test

#endif
