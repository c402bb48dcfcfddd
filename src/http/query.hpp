// SPDX-License-Identifier: BSL-1.0
//
// Parameters in the query of a request target, encoded as forms are.

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace colimit::http {

/// Returns the value of the parameter; nullopt if it is missing or empty, or given several times.
/// @param buffer holds a value that has to be decoded
[[nodiscard]] std::optional<std::string_view>
query_parameter(std::string_view query, std::string_view name, std::string& buffer);

} // namespace colimit::http
