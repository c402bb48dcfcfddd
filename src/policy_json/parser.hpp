// SPDX-License-Identifier: BSL-1.0
//
// From bytes to a document, by Boost.JSON, which only parser.cpp knows.

#ifndef COLIMIT_POLICY_JSON_PARSER_HPP
#define COLIMIT_POLICY_JSON_PARSER_HPP

#include <policy_json/value.hpp>

#include <string_view>

namespace colimit::json {

/// @throws colimit::error errc::invalid_policy, with line and column.
[[nodiscard]] document parse(std::string_view text);

} // namespace colimit::json

#endif
