// SPDX-License-Identifier: BSL-1.0
//
// A reply of a server as a tree of values, which owns its bytes.

#pragma once

#include <redis/protocol/resp.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

enum class reply_kind : std::uint8_t { nil, text, integer, array, error };

struct reply {
    reply_kind kind = reply_kind::nil;
    std::string text; ///< of a text, an error, and an integer as a text
    std::int64_t integer = 0;
    std::vector<reply> elements; ///< of a map: keys and values alternate

    [[nodiscard]] bool is_error() const noexcept { return kind == reply_kind::error; }
    [[nodiscard]] bool is_nil() const noexcept { return kind == reply_kind::nil; }
};

/// Copies a complete reply.
/// @param bytes begin with it
[[nodiscard]] reply copy_reply(const colimit::redis::resp::decoder& decoded,
                               std::string_view bytes);

} // namespace tool
