// SPDX-License-Identifier: BSL-1.0
//
// Values that nobody wrote: noise, values cut short, and values with one number that cannot be.

#ifndef COLIMIT_TEST_DIFFERENTIAL_RANDOM_BYTES_HPP
#define COLIMIT_TEST_DIFFERENTIAL_RANDOM_BYTES_HPP

#include "dice.hpp"

#include <core/plan.hpp>

#include <cstdint>
#include <string>

namespace colimit::differential {

/// What might stand under a key of this policy about `now`.
[[nodiscard]] std::string random_bytes(dice& d, const core::plan& rules, std::int64_t now);

} // namespace colimit::differential

#endif
