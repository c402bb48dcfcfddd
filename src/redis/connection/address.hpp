// SPDX-License-Identifier: BSL-1.0
//
// Where the counters are, read from the text of config::server.

#ifndef COLIMIT_REDIS_CONNECTION_ADDRESS_HPP
#define COLIMIT_REDIS_CONNECTION_ADDRESS_HPP

#include <cstdint>
#include <string>
#include <string_view>

namespace colimit::redis {

struct address {
    enum class kind : std::uint8_t { memory, tcp, unix_socket };

    address::kind kind = kind::memory;
    bool tls = false; ///< only with tcp
    /// For tcp: a name, or an IPv4 or IPv6 address without brackets.
    std::string host;
    std::uint16_t port = 6379;
    /// For unix_socket: absolute, and short enough for the system's addresses.
    std::string path;
    /// Empty: the server's default user.
    std::string user;
    /// User and password empty: no authentication.
    std::string password;
    int database = 0;

    friend bool operator==(const address&, const address&) = default;
};

/// Reads one of
///
///     memory:
///     redis://[[user][:password]@]host[:port][/[db]]
///     rediss://, the same by TLS
///     unix:/path[?db=N]
///     unix://[[user][:password]@]/path[?db=N]
///
/// A lone word before the `@` is the password, as redis-cli reads it. User, password and path are
/// percent-decoded; in a user or password `@`, `/` and `%` must be encoded, and in a user `:`. The
/// scheme may be written in any case, an IPv6 address stands in brackets, and the database is 0 to
/// 1,000,000.
///
/// @throws colimit::error with `errc::invalid_config`: at which character what is wrong. Of the
/// address itself it shows nothing but a port or database number that is out of range, and that
/// only when it is no longer than the largest one allowed; so no user and no password, wherever a
/// slip of the pen has put them.
[[nodiscard]] address parse_address(std::string_view text);

} // namespace colimit::redis

#endif
