// SPDX-License-Identifier: BSL-1.0
//
// The reply to TIME.

#ifndef COLIMIT_REDIS_PROTOCOL_TIME_REPLY_HPP
#define COLIMIT_REDIS_PROTOCOL_TIME_REPLY_HPP

#include <colimit/limits.hpp>
#include <redis/protocol/resp.hpp>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace colimit::redis {

/// Returns microseconds since 1970, or nullopt if the reply is not a valid one to TIME or out of
/// range.
[[nodiscard]] inline std::optional<std::int64_t> read_time(const resp::decoder& reply,
                                                           std::string_view bytes) noexcept {
    const auto nodes = reply.nodes();
    if (nodes.size() != 3 || nodes.front().kind != resp::kind::array)
        return std::nullopt;
    std::int64_t parts[2] = {};
    for (std::size_t i = 0; i < 2; ++i) {
        const auto text = reply.text(nodes[i + 1], bytes);
        const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), parts[i]);
        if (ec != std::errc{} || end != text.data() + text.size() || parts[i] < 0 ||
            parts[i] > limits::max_time)
            return std::nullopt;
    }
    if (parts[0] > limits::max_time / 1'000'000 || parts[1] >= 1'000'000)
        return std::nullopt;
    return parts[0] * 1'000'000 + parts[1];
}

} // namespace colimit::redis

#endif
