// SPDX-License-Identifier: BSL-1.0
//
// Paths and methods that are valid, and that hardly any request has.

#include <http/unlikely_route.hpp>

#include <core/compiled_policy.hpp>
#include <http/path.hpp>

#include <algorithm>
#include <string>

namespace colimit::http {

namespace {

/// Returns whether a text is hardly anything but the name of a parameter: `id`, `userId`.
bool is_id(std::string_view name) {
    for (const std::string_view end : {"_id", "-id", "Id", "ID"})
        if (name.ends_with(end))
            return true;
    return name == "id" || name == "uuid" || name == "slug";
}

} // namespace

bool is_registered(std::string_view method) {
    constexpr std::string_view names =
        " ACL BASELINE-CONTROL BIND CHECKIN CHECKOUT CONNECT COPY DELETE GET HEAD LABEL LINK LOCK "
        "MERGE MKACTIVITY MKCALENDAR MKCOL MKREDIRECTREF MKWORKSPACE MOVE OPTIONS ORDERPATCH PATCH "
        "POST PROPFIND PROPPATCH PUT QUERY REBIND REPORT SEARCH TRACE UNBIND UNCHECKOUT UNLINK "
        "UNLOCK UPDATE UPDATEREDIRECTREF VERSION-CONTROL ";
    return names.find(' ' + std::string{method} + ' ') != std::string_view::npos;
}

bool is_odd(std::string_view path) {
    const auto is_control = [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    };
    return std::ranges::any_of(path, is_control) || path.ends_with(' ') ||
           path.find("/ ") != std::string_view::npos || path.find(" /") != std::string_view::npos;
}

std::string_view foreign_segment(std::string_view path) {
    const auto is_foreign = [](std::string_view segment) {
        const auto colon = segment.find(':');
        const auto percent = segment.find('%'); // of a format, such as %s
        return segment == "+" || segment.find("...") != std::string_view::npos ||
               (segment.find_first_of("_@") == 0 && is_id(segment.substr(1))) ||
               (colon != std::string_view::npos && is_id(segment.substr(colon + 1))) ||
               (percent != std::string_view::npos && !escaped_byte(segment.substr(percent))) ||
               segment.find_first_of("<>[]()^$|\\") != std::string_view::npos ||
               (colon != std::string_view::npos &&
                (colon == 0 || !core::is_name_character(segment[colon - 1]) ||
                 segment[colon - 1] == '-' || segment[colon - 1] == '.')) ||
               segment.find(".+") != std::string_view::npos;
    };
    while (!path.empty()) {
        const auto segment = path.substr(0, path.find('/'));
        if (is_foreign(segment))
            return segment;
        path.remove_prefix(std::min(segment.size() + 1, path.size()));
    }
    return {};
}

bool is_unlikely(std::string_view path, std::span<const std::string> methods) {
    return is_odd(path) || !foreign_segment(path).empty() ||
           (!methods.empty() && std::ranges::none_of(methods, is_registered));
}

} // namespace colimit::http
