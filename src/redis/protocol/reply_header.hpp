// SPDX-License-Identifier: BSL-1.0
//
// The last element of a script's reply: its nonce, its time, and the status of each key.

#ifndef COLIMIT_REDIS_PROTOCOL_REPLY_HEADER_HPP
#define COLIMIT_REDIS_PROTOCOL_REPLY_HEADER_HPP

#include <cstdint>
#include <optional>
#include <string_view>

namespace colimit::redis {

/// `nonce seconds microseconds granted statuses`.
struct reply_header {
    std::uint64_t nonce = 0;
    std::int64_t seconds = 0;
    std::int64_t microseconds = 0;
    std::int64_t granted = 0;
    std::string_view statuses;
};

/// Returns nullopt if the text is not a valid header.
[[nodiscard]] std::optional<reply_header> read_header(std::string_view text) noexcept;

} // namespace colimit::redis

#endif
