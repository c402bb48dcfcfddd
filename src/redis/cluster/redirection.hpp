// SPDX-License-Identifier: BSL-1.0
//
// The error replies with which a node of a cluster sends a client to another one:
//
//   MOVED 3999 127.0.0.1:6381    from now on this node serves the slot
//   ASK 3999 127.0.0.1:6381      the slot is being moved, and the key may be there already: ask
//                                there, this time only, and with ASKING
//
// The port follows the last colon, so IPv6 addresses have no brackets: `::1:6381`.

#pragma once

#include <redis/connection/address.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace colimit::redis {

enum class redirection_kind : std::uint8_t { moved, ask };

struct redirection {
    redirection_kind kind;
    std::uint16_t slot;
    host_port target; ///< its host is empty if the node does not know it

    friend bool operator==(const redirection&, const redirection&) = default;
};

/// Returns nullopt if this is not a redirection, or a malformed one.
/// @param text the error line without its mark
/// @param sender_host the host of the node that replied; the target's, if none is named
[[nodiscard]] std::optional<redirection> read_redirection(std::string_view text,
                                                          std::string_view sender_host);

} // namespace colimit::redis
