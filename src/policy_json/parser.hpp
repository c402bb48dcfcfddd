// SPDX-License-Identifier: BSL-1.0
//
// Parses bytes to a document with Boost.JSON, which only parser.cpp includes.

#pragma once

#include <policy_json/value.hpp>

#include <string_view>

namespace colimit::json {

/// @throws colimit::error errc::invalid_policy, with line and column.
[[nodiscard]] document parse(std::string_view text);

} // namespace colimit::json
