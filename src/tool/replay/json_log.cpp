// SPDX-License-Identifier: BSL-1.0
//
// The parser is that of documents of policies, with its limits.

#include <tool/replay/json_log.hpp>
#include <tool/replay/limits.hpp>
#include <tool/replay/times.hpp>

#include <base/bytes.hpp>
#include <colimit/error.hpp>
#include <http/blanks.hpp>
#include <tool/frame/format.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>

namespace tool::replay {

namespace {

namespace json = colimit::json;

constexpr std::size_t longest_key = 255;

const json::value* member(const json::document& d, const json::value& object,
                          std::string_view name) {
    for (std::size_t i = 0; i < object.content.size; ++i)
        if (const auto& found = d.inside(object, i); d.text(found.name) == name)
            return &found;
    return nullptr;
}

/// Returns the value at this path; nullptr if there is none.
const json::value* find(const json::document& d, std::string_view path) {
    const auto* at = &d.root;
    while (at != nullptr && at->kind == json::kind::object) {
        if (const auto* const found = member(d, *at, path))
            return found;
        const auto dot = path.find('.');
        if (dot == std::string_view::npos)
            return nullptr;
        at = member(d, *at, path.substr(0, dot));
        path = path.substr(dot + 1);
    }
    return nullptr;
}

/// Returns the text of a string or number; nullopt if it is something else, or does not exist.
std::optional<std::string_view> text_at(const json::document& d, std::string_view path) {
    const auto* const found = find(d, path);
    if (found == nullptr ||
        (found->kind != json::kind::string && found->kind != json::kind::number))
        return std::nullopt;
    return d.text(found->content);
}

/// Returns the line as JSON, if only its escapes `\x22` and bytes that are not UTF-8 are not.
std::string repaired(std::string_view line) {
    using colimit::detail::hex_digits;
    const auto is_hex = [](char c) {
        return hex_digits.find(colimit::detail::lower(c)) != std::string_view::npos;
    };
    std::string text;
    while (!line.empty()) {
        auto size = std::max(utf8_size(line), std::size_t{1});
        if (line[0] == '\\')
            size = std::min(line.size(), std::size_t{2});
        const auto one = line.substr(0, size);
        if (one == "\\x" && line.size() >= 4 && is_hex(line[2]) && is_hex(line[3]))
            text += "\\u00";
        else if (utf8_size(one) == 0)
            text += '\\' + escaped(one); // a backslash and xNN, in a text
        else
            text += one;
        line.remove_prefix(size);
    }
    return text;
}

} // namespace

bool json_reader::parse(std::string_view text) {
    try {
        last_ = json::parse(text);
        return true;
    } catch (const colimit::error& e) {
        if (problem_.empty())
            problem_ = "is not valid: " + e.reason();
        return false;
    }
}

log_reading json_reader::read(std::string_view text) {
    problem_.clear();
    if (!parse(text) && !parse(repaired(text)))
        return {{}, problem_};
    auto key = text_at(last_, fields_.key);
    const auto time = text_at(last_, fields_.time);
    if (!key || !time) {
        problem_ = "has no text or number '" + (key ? fields_.time : fields_.key) + "'";
        return {{}, problem_};
    }
    key = colimit::http::without_blanks(*key);
    if (key->empty() || key->size() > longest_key)
        return {{}, key->empty() ? "the key is empty" : "the key is longer than 255 bytes"};
    if (const auto problem = key_problem(*key); !problem.empty())
        return {{}, problem};
    const auto [moment, problem] = read_any_time(*time);
    if (!problem.empty())
        return {{}, problem};
    return {log_line{*key, moment}, {}};
}

} // namespace tool::replay
