// SPDX-License-Identifier: BSL-1.0
//
// A JSON document as it was written: every member of an object in order, also duplicates, and every
// number with its digits, also one that does not fit in an integer. All texts are in one string and
// all values in one array, since a document may consist of very many short ones.

#pragma once

#include <colimit/limits.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::json {

enum class kind : std::uint8_t { null, boolean, number, string, array, object };

/// A part of a document's texts, or of its values.
struct part {
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
};

struct value {
    part name;    ///< of a member of an object
    part content; ///< the text of a string or number, or the values of an array or object
    json::kind kind = json::kind::null;
    bool truth = false;
};

struct document {
    value root;
    std::string texts;
    std::vector<value> values; ///< those of one array or object are adjacent

    [[nodiscard]] std::string_view text(part p) const noexcept {
        return std::string_view{texts}.substr(p.begin, p.size);
    }
    /// Returns the i-th value of an array or object.
    [[nodiscard]] const value& inside(const value& v, std::size_t i) const noexcept {
        return values[v.content.begin + i];
    }
};

/// Parses bytes with Boost.JSON, which only parser.cpp includes.
/// @throws colimit::error errc::invalid_policy, with line and column, or if it is longer than
/// `most`
[[nodiscard]] document parse(std::string_view text, std::size_t most = limits::max_json_bytes);

} // namespace colimit::json
