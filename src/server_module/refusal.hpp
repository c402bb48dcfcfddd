// SPDX-License-Identifier: BSL-1.0
//
// A command that cannot be run: the reply says which argument was wrong, and what is expected.

#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace colimit::server_module {

class refusal : public std::runtime_error {
  public:
    using runtime_error::runtime_error;
};

/// Throws a refusal: `where: problem (expected what)`, without a line break.
[[noreturn]] inline void refuse(std::string_view where, std::string_view problem,
                                std::string_view expected) {
    auto text = std::string{where};
    text.append(": ").append(problem).append(" (expected ").append(expected).append(")");
    throw refusal{text};
}

} // namespace colimit::server_module
