// SPDX-License-Identifier: BSL-1.0
//
// Parses redirections strictly: a text that only resembles one must not send calls anywhere.

#include <base/bytes.hpp>
#include <redis/cluster/announced_host.hpp>
#include <redis/cluster/redirection.hpp>
#include <redis/protocol/hash_slot.hpp>

#include <string>

namespace colimit::redis {
namespace {

/// Removes a word and the space after it from the beginning of `text`.
[[nodiscard]] std::optional<std::string_view> take_word(std::string_view& text) noexcept {
    const auto end = text.find(' ');
    if (end == std::string_view::npos)
        return std::nullopt;
    const auto word = text.substr(0, end);
    text.remove_prefix(end + 1);
    return word;
}

[[nodiscard]] std::optional<redirection_kind> kind_named(std::string_view word) noexcept {
    if (word == "MOVED")
        return redirection_kind::moved;
    if (word == "ASK")
        return redirection_kind::ask;
    return std::nullopt;
}

} // namespace

std::optional<redirection> read_redirection(std::string_view text, std::string_view sender_host) {
    const auto name = take_word(text);
    const auto kind = name ? kind_named(*name) : std::nullopt;
    const auto number = kind ? take_word(text) : std::nullopt;
    const auto slot = number ? detail::read_decimal(*number, hash_slot_count - 1) : std::nullopt;
    const auto colon = text.rfind(':');
    if (!slot || colon == std::string_view::npos)
        return std::nullopt;
    const auto named_host = text.substr(0, colon);
    const auto host = named_host.empty() ? sender_host : named_host;
    const auto port = detail::read_decimal(text.substr(colon + 1), max_port);
    if (!port || *port == 0 || !(is_nameless(host) || is_host(host)))
        return std::nullopt;
    return redirection{.kind = *kind,
                       .slot = static_cast<std::uint16_t>(*slot),
                       .target = {std::string{is_nameless(host) ? std::string_view{} : host},
                                  static_cast<std::uint16_t>(*port)}};
}

} // namespace colimit::redis
