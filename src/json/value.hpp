// SPDX-License-Identifier: BSL-1.0
//
// A JSON document as it was written: every member of an object in its place, also one that is given
// twice, and every number with its digits, also one that no integer holds.

#ifndef COLIMIT_JSON_VALUE_HPP
#define COLIMIT_JSON_VALUE_HPP

#include <cstdint>
#include <string>
#include <vector>

namespace colimit::json {

enum class kind : std::uint8_t { null, boolean, number, string, array, object };

struct value {
    json::kind kind = json::kind::null;
    bool truth = false;
    std::string name;           ///< of a member of an object
    std::string text;           ///< of a string; of a number, as it stands there
    std::vector<value> content; ///< of an array or object
};

} // namespace colimit::json

#endif
