// SPDX-License-Identifier: BSL-1.0
//
// Finds and decodes parameters: `+` is a space, and a percent sign without two digits is itself.

#include <http/query.hpp>

#include <http/path.hpp>

#include <algorithm>

namespace colimit::http {
namespace {

/// Returns the decoded text, which is in the buffer unless it needs no decoding.
[[nodiscard]] std::string_view decoded(std::string_view text, std::string& buffer) {
    if (text.find_first_of("%+") == std::string_view::npos)
        return text;
    buffer.clear();
    while (!text.empty()) {
        const auto escaped = escaped_byte(text);
        buffer += escaped.value_or(text.front() == '+' ? ' ' : text.front());
        text.remove_prefix(escaped ? 3 : 1);
    }
    return buffer;
}

} // namespace

std::optional<std::string_view> query_parameter(std::string_view query, std::string_view name,
                                                std::string& buffer) {
    auto found = std::optional<std::string_view>{};
    while (!query.empty()) {
        const auto pair = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(pair.size() + 1, query.size()));
        const auto key = pair.substr(0, pair.find('='));
        if (decoded(key, buffer) != name)
            continue;
        if (found)
            return std::nullopt;
        found = pair.substr(std::min(key.size() + 1, pair.size()));
    }
    if (!found || found->empty())
        return std::nullopt;
    return decoded(*found, buffer);
}

} // namespace colimit::http
