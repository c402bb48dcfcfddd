// SPDX-License-Identifier: BSL-1.0
//
// Options that are enumerations: a value that is cast from a number may be none of them.

#ifndef COLIMIT_BASE_ENUMERATOR_HPP
#define COLIMIT_BASE_ENUMERATOR_HPP

#include <colimit/error.hpp>

#include <initializer_list>
#include <string>
#include <string_view>

namespace colimit {

/// Checks that a value is an enumerator of its type.
/// @param known all enumerators; `to_string` names them
/// @throws colimit::error with this code: the option, the value and what is allowed
template<class Enum>
void check_enumerator(std::string_view option, Enum value, std::initializer_list<Enum> known,
                      errc code) {
    auto expected = std::string{};
    for (const auto enumerator : known) {
        if (value == enumerator)
            return;
        expected.append(expected.empty() ? "" : ", ").append(to_string(enumerator));
    }
    throw error{code, std::string{option} + ": not an enumerator (got " +
                          std::to_string(static_cast<int>(value)) + ", expected " + expected + ")"};
}

} // namespace colimit

#endif
