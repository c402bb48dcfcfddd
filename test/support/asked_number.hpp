// SPDX-License-Identifier: BSL-1.0
//
// How much of its work a test does, when a longer campaign asks for another number.

#pragma once

#include <base/bytes.hpp>

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>

namespace colimit::test {

/// Returns the number in an environment variable, or `usual` if it is not set. Throws if the
/// variable is anything but a number from 1 to the largest std::int32_t.
[[nodiscard]] inline std::int32_t asked_number(const char* variable, std::int32_t usual) {
    const auto* const asked = std::getenv(variable);
    if (asked == nullptr)
        return usual;
    constexpr auto most = std::numeric_limits<std::int32_t>::max();
    const auto number = detail::read_decimal(asked, most);
    if (!number || *number == 0)
        throw std::invalid_argument{std::string{variable} + " is \"" + asked +
                                    "\", which is not a number from 1 to " + std::to_string(most)};
    return static_cast<std::int32_t>(*number);
}

} // namespace colimit::test
