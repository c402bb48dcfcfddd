// SPDX-License-Identifier: BSL-1.0
//
// The error message of a constructor or parser, for tests that check it.

#pragma once

#include <colimit/error.hpp>

#include <string>

namespace colimit::test {

/// The reason with which `call` throws `code`; a sentence that no test expects if it does not.
template<class Call>
[[nodiscard]] std::string refusal(errc code, Call&& call) {
    try {
        (void)call();
    } catch (const error& e) {
        return e.code() == code ? e.reason() : "another code: " + e.code().message();
    }
    return "not refused";
}

} // namespace colimit::test
