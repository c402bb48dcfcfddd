// SPDX-License-Identifier: BSL-1.0
//
// The fields of a key, as an operator writes them.

#pragma once

#include <colimit/key.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

/// A field of a key: `ip=192.0.2.1`, `user#0123...`, or a name alone.
struct field {
    std::string_view whole;
    std::string name;
    std::string_view value; ///< as it is written; empty if the field is no `name=value`
    bool has_value = false;
};

[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
[[nodiscard]] field read_field(std::string_view text);

/// @throws std::runtime_error `KEY: problem (got ..., expected ...)`
[[noreturn]] void refuse(std::string_view got, const std::string& problem,
                         const std::string& expected);

/// Returns the field of an address or a network, `ip=2001:db8::/64`.
/// @param bits those of the document; nullopt if there is none
/// @param is_only whether the keys have no other length than that of the document
[[nodiscard]] colimit::scoped_key
address_key(const field& f, const std::optional<colimit::address_prefixes>& bits, bool is_only);
/// Returns a value without its escapes, which are those of `;` and `%`.
/// @throws std::runtime_error if it is empty, or has other escapes
[[nodiscard]] std::string unescaped(const field& f);
/// Returns whether the text after `#` has the form of a digest.
[[nodiscard]] bool has_digest(std::string_view text);
/// @throws std::runtime_error if it has not
void check_digest(const field& f);

} // namespace tool
