// SPDX-License-Identifier: BSL-1.0
//
// The address of the store, parsed from config::server.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace colimit::redis {

struct address {
    enum class kind : std::uint8_t { memory, tcp, unix_socket };

    address::kind kind = kind::memory;
    bool tls = false; ///< only with tcp
    /// For tcp: a host name, or an IPv4 or IPv6 address without brackets.
    std::string host;
    std::uint16_t port = 6379;
    /// For unix_socket: an absolute path that fits into a socket address.
    std::string path;
    /// Empty: the server's default user.
    std::string user;
    /// User and password empty: no authentication.
    std::string password;
    int database = 0;

    friend bool operator==(const address&, const address&) = default;
};

/// Parses one of
///
///     memory:
///     redis://[[user][:password]@]host[:port][/[db]]
///     rediss://, the same over TLS
///     unix:/path[?db=N]
///     unix://[[user][:password]@]/path[?db=N]
///
/// A single word before the `@` is the password, as for redis-cli. User, password and path are
/// percent-decoded; in a user or password `@`, `/` and `%` must be encoded, and in a user `:`. The
/// scheme may be written in any case, an IPv6 address is in brackets, and the database is 0 to
/// 1,000,000.
///
/// @throws colimit::error with `errc::invalid_config`: the position and the problem. Of the address
/// itself it shows only a port or database number that is out of range, if it is not longer than
/// the largest allowed one; so never a user or password, wherever a typing error has put them.
[[nodiscard]] address parse_address(std::string_view text);

} // namespace colimit::redis
