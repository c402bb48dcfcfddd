// SPDX-License-Identifier: BSL-1.0
//
// Replies of a known form: the header of a script's reply, and the reply to TIME.

#pragma once

#include <redis/protocol/resp.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace colimit::redis {

/// The last element of a script's reply: `nonce seconds microseconds granted statuses`, where the
/// statuses have a character for each key.
struct reply_header {
    std::uint64_t nonce = 0;
    std::int64_t seconds = 0;
    std::int64_t microseconds = 0;
    std::int64_t granted = 0;
    std::string_view statuses;
};

/// Returns nullopt if the text is not a valid header.
[[nodiscard]] std::optional<reply_header> read_header(std::string_view text) noexcept;

/// Returns microseconds since 1970; nullopt if the reply to TIME is not valid or out of range.
[[nodiscard]] std::optional<std::int64_t> read_time(const resp::decoder& reply,
                                                    std::string_view bytes) noexcept;

} // namespace colimit::redis
