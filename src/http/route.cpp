// SPDX-License-Identifier: BSL-1.0
//
// Routes: paths whose segments may stand for any text.

#include <colimit/routes.hpp>

#include <base/bytes.hpp>
#include <colimit/error.hpp>
#include <colimit/limits.hpp>
#include <core/compiled_policy.hpp>
#include <http/path.hpp>
#include <http/path_pattern.hpp>
#include <rule_text/cursor.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace colimit::http {
namespace {

constexpr std::size_t max_method_length = 32;

[[nodiscard]] bool is_method_character(char c) noexcept {
    return (c >= 'A' && c <= 'Z') || detail::is_digit(c) || c == '-' || c == '_';
}

[[noreturn]] void refuse(const std::string& reason) {
    throw error{errc::invalid_config, reason};
}

void check_path(std::string_view path) {
    if (path.size() > limits::max_route_bytes)
        refuse("the path is too long (got " + std::to_string(path.size()) +
               " bytes, expected at most " + std::to_string(limits::max_route_bytes) + ")");
    if (!path.starts_with('/'))
        refuse("invalid path (got " + text::quoted(path) + ", expected a path that begins with /)");
    if (path.find_first_of("?#") != std::string_view::npos)
        refuse("invalid path (got " + text::quoted(path) +
               ", expected a path without query and fragment)");
}

void check_segment(std::string_view segment) {
    const auto has_mark = segment.find_first_of("*{}") != std::string_view::npos;
    if (!has_mark || segment == "*")
        return;
    const auto is_named =
        segment.size() > 2 && segment.front() == '{' && segment.back() == '}' &&
        std::ranges::all_of(segment.substr(1, segment.size() - 2), core::is_name_character);
    if (is_named && segment.find("...") != std::string_view::npos) // of another router
        refuse("invalid segment (got " + text::quoted(segment) +
               ", expected {name} for one segment, or /* at the end for any number)");
    if (!is_named)
        refuse("invalid segment (got " + text::quoted(segment) +
               ", expected a text without *, { and }, or * or {name} alone)");
}

} // namespace

void check_method(std::string_view method) {
    if (method.empty() || method.size() > max_method_length ||
        !std::ranges::all_of(method, is_method_character))
        refuse("invalid method (got " + text::quoted(method) +
               ", expected a name in capitals, such as GET)");
}

route::route(std::string_view path, std::vector<std::string> methods)
    : methods_(std::move(methods)) {
    check_path(path);
    path_ = normalised(path, wildcard_characters);
    const auto segments = std::ranges::count(pattern_of(path_), '/');
    if (segments > static_cast<std::ptrdiff_t>(limits::max_route_segments))
        refuse("the path has too many segments (got " + std::to_string(segments) +
               ", expected at most " + std::to_string(limits::max_route_segments) + ")");
    for (auto rest = pattern_of(path_); !rest.empty();)
        check_segment(take_segment(rest));
    if (methods_.size() > limits::max_route_methods)
        refuse("too many methods (got " + std::to_string(methods_.size()) + ", expected at most " +
               std::to_string(limits::max_route_methods) + ")");
    std::ranges::for_each(methods_, check_method);
    std::ranges::sort(methods_);
    if (const auto twice = std::ranges::adjacent_find(methods_); twice != methods_.end())
        refuse("method " + *twice + " is given twice");
}

bool route::has_method(std::string_view method) const noexcept {
    const auto less = [](std::string_view a, std::string_view b) {
        return std::ranges::lexicographical_compare(a, b, {}, detail::upper, detail::upper);
    };
    const auto is_listed = [this, less](std::string_view m) {
        return std::ranges::binary_search(methods_, m, less);
    };
    return methods_.empty() || is_listed(method) ||
           (text::same_word(method, "head") && is_listed("GET"));
}

bool route::has_methods_of(const route& other) const noexcept {
    if (methods_.empty() || other.methods_.empty())
        return methods_.empty();
    if (std::ranges::includes(methods_, other.methods_))
        return true;
    return std::ranges::all_of(other.methods_, [this](const auto& m) { return has_method(m); });
}

} // namespace colimit::http
