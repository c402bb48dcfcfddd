// SPDX-License-Identifier: BSL-1.0
//
// All numbers must be in their ranges.

#include <colimit/limits.hpp>
#include <redis/protocol/known_replies.hpp>

#include <charconv>

namespace colimit::redis {
namespace {

template<class T>
[[nodiscard]] bool take_number(std::string_view& text, T& value) noexcept {
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc{} || end == text.data() + text.size() || *end != ' ')
        return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
    return true;
}

} // namespace

std::optional<reply_header> read_header(std::string_view text) noexcept {
    auto h = reply_header{};
    if (!take_number(text, h.nonce) || !take_number(text, h.seconds) ||
        !take_number(text, h.microseconds) || !take_number(text, h.granted))
        return std::nullopt;
    const auto latest = limits::max_time;
    if (h.seconds < 0 || h.seconds > latest / 1'000'000 || h.microseconds < 0 ||
        h.microseconds > latest)
        return std::nullopt;
    // Any other character would be taken for an error, and a value for the text of that error. (So
    // is `r` where calls have no ids.)
    if (text != "-" && text.find_first_not_of(".cer") != std::string_view::npos)
        return std::nullopt;
    h.statuses = text;
    return h;
}

std::optional<std::int64_t> read_time(const resp::decoder& reply, std::string_view bytes) noexcept {
    const auto nodes = reply.nodes();
    if (nodes.size() != 3 || nodes.front().kind != resp::kind::array)
        return std::nullopt;
    std::int64_t parts[2] = {};
    for (std::size_t i = 0; i < 2; ++i) {
        const auto text = reply.text(nodes[i + 1], bytes);
        const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), parts[i]);
        if (ec != std::errc{} || end != text.data() + text.size() || parts[i] < 0)
            return std::nullopt;
    }
    if (parts[0] > limits::max_time / 1'000'000 || parts[1] >= 1'000'000)
        return std::nullopt;
    return parts[0] * 1'000'000 + parts[1];
}

} // namespace colimit::redis
