// SPDX-License-Identifier: BSL-1.0
//
// The replies of INFO and CLUSTER INFO: a line for each field, such as
//
//   redis_mode:standalone

#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

namespace colimit::redis {

/// Returns the text of a field; nullopt if it is not there.
[[nodiscard]] inline std::optional<std::string_view> field_of(std::string_view info,
                                                              std::string_view name) noexcept {
    while (!info.empty()) {
        const auto line = info.substr(0, info.find_first_of("\r\n"));
        if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ':')
            return line.substr(name.size() + 1);
        info.remove_prefix(std::min(line.size() + 1, info.size()));
    }
    return std::nullopt;
}

} // namespace colimit::redis
