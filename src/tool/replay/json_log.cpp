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

namespace tool::replay {

namespace {

namespace json = colimit::json;

constexpr std::size_t longest_key = 255;
constexpr std::string_view none = "-"; // as servers write a variable without a value

/// The values at a path.
struct found_values {
    const json::value* last = nullptr;
    std::size_t count = 0;
};

/// Adds the values at this path: `a.b` is a member of that name, or `b` in `a`.
void find(const json::document& d, const json::value& object, std::string_view path,
          found_values& found) {
    if (object.kind != json::kind::object)
        return;
    const auto dot = path.find('.');
    for (std::size_t i = 0; i < object.content.size; ++i) {
        const auto& member = d.inside(object, i);
        const auto name = d.text(member.name);
        if (name == path)
            found = {&member, found.count + 1};
        else if (dot != std::string_view::npos && name == path.substr(0, dot))
            find(d, member, path.substr(dot + 1), found);
    }
}

struct field_reading {
    std::string_view text;
    std::string problem;
};

/// Reads the text of a string or number.
field_reading read_field(const json::document& d, const std::string& path) {
    found_values found;
    find(d, d.root, path, found);
    if (found.count > 1)
        return {{}, "has more than one '" + path + "'"};
    if (found.count == 0 ||
        (found.last->kind != json::kind::string && found.last->kind != json::kind::number))
        return {{}, "has no text or number '" + path + "'"};
    return {d.text(found.last->content), {}};
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
    const auto key_field = read_field(last_, fields_.key);
    const auto time_field = read_field(last_, fields_.time);
    problem_ = key_field.problem.empty() ? time_field.problem : key_field.problem;
    if (!problem_.empty())
        return {{}, problem_};
    const auto key = colimit::http::without_blanks(key_field.text);
    if (key.empty() || key == none)
        return {{}, "the key is empty"};
    if (key.size() > longest_key)
        return {{}, "the key is longer than 255 bytes"};
    if (const auto problem = key_problem(key); !problem.empty())
        return {{}, problem};
    const auto [moment, problem] = read_any_time(time_field.text);
    if (!problem.empty())
        return {{}, problem};
    return {log_line{key, moment}, {}};
}

} // namespace tool::replay
