// SPDX-License-Identifier: BSL-1.0
//
// A hash of 128 bits.

#pragma once

#include <cstdint>

namespace colimit::hash {

struct digest {
    std::uint64_t low = 0;
    std::uint64_t high = 0;

    friend bool operator==(const digest&, const digest&) = default;
};

} // namespace colimit::hash
