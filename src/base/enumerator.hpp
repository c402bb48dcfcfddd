// SPDX-License-Identifier: BSL-1.0
//
// Names of enumerators, and checks of options, as a value cast from a number may not be one.

#pragma once

#include <colimit/error.hpp>
#include <colimit/failure_mode.hpp>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace colimit {

/// Returns the name of an enumerator, or `?` for a value that is none.
/// @param names of all enumerators of its type, in their order
template<class Enum, std::size_t Size>
[[nodiscard]] constexpr std::string_view name_of(Enum value, const char* const (&names)[Size]) {
    const auto i = static_cast<std::size_t>(value);
    return i < Size ? names[i] : "?";
}

/// Checks that a value is an enumerator of its type.
/// @param option returns the text that names the option, if the check fails
/// @param known a range of all enumerators; `to_string` names them
/// @throws colimit::error with this code: the option, the value and the allowed ones
template<class Option, class Enum, class Known = std::initializer_list<Enum>>
void check_enumerator(Option option, Enum value, const Known& known, errc code) {
    if (std::ranges::find(known, value) != std::ranges::end(known))
        return;
    auto expected = std::string{};
    for (const auto enumerator : known)
        expected.append(expected.empty() ? "" : ", ").append(to_string(enumerator));
    throw error{code, std::string{option()} + ": not an enumerator (got " +
                          std::to_string(static_cast<int>(value)) + ", expected " + expected + ")"};
}

template<class Option>
void check_failure_mode(Option option, failure_mode value, errc code) {
    using enum failure_mode;
    check_enumerator(option, value, {local, allow, deny, error}, code);
}

} // namespace colimit
