// SPDX-License-Identifier: BSL-1.0
//
// The last element of a script's reply: whose it is, when it was made, and how the keys fared.

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

/// Nothing when the text is no header.
[[nodiscard]] std::optional<reply_header> read_header(std::string_view text) noexcept;

} // namespace colimit::redis

#endif
