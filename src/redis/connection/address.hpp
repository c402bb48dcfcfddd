// SPDX-License-Identifier: BSL-1.0
//
// The address of the store, parsed from config::server.

#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::redis {

inline constexpr std::uint64_t max_port = 65'535;

/// A host name, or an IPv4 or IPv6 address without brackets, and a port.
struct host_port {
    std::string host;
    std::uint16_t port = 0;

    friend auto operator<=>(const host_port&, const host_port&) = default;
};

struct address {
    enum class kind : std::uint8_t { memory, tcp, unix_socket, sentinel, cluster };

    address::kind kind = kind::memory;
    bool tls = false; ///< not with memory and unix_socket
    /// For tcp, as in `host_port`.
    std::string host;
    std::uint16_t port = 6379;
    /// At least one. For sentinel: the Sentinels; for cluster: nodes.
    std::vector<host_port> hosts;
    /// For sentinel: the name of the master.
    std::string master;
    /// For unix_socket: an absolute path that fits into a socket address.
    std::string path;
    /// Empty: the server's default user.
    std::string user;
    /// User and password empty: no authentication.
    std::string password;
    int database = 0;

    /// Returns the address of one of the servers, with the same credentials and database.
    [[nodiscard]] address at(const host_port& server) const;

    friend bool operator==(const address&, const address&) = default;
};

/// Returns `host:port`, or `[IPv6]:port`.
[[nodiscard]] std::string to_string(const host_port& server);

/// Returns whether a host that another server has announced may be connected to: a name or an IP
/// address, as in an address.
[[nodiscard]] bool is_host(std::string_view text) noexcept;

/// Parses one of
///
///     memory:
///     redis://[[user][:password]@]host[:port][/[db]]
///     rediss://, the same over TLS
///     redis+sentinel://[[user][:password]@]host[:port][,host[:port]...]/master[/[db]]
///     rediss+sentinel://, the same over TLS
///     redis+cluster://[[user][:password]@]host[:port][,host[:port]...][/[db]]
///     rediss+cluster://, the same over TLS
///     unix:/path[?db=N]
///     unix://[[user][:password]@]/path[?db=N]
///
/// A single word before the `@` is the password, as for redis-cli. User, password and path are
/// percent-decoded; in a user or password `@`, `/` and `%` must be encoded, in a user `:`, and in a
/// path the `@` at the end of a folder's name, where credentials may have been meant. The scheme
/// may be written in any case, an IPv6 address is in brackets, and the database is 0 to 1,000,000.
/// The hosts of redis+sentinel are Sentinels, at most `limits::max_hosts` different ones (port
/// 26379 if none is given); user, password and database are those of the master, whose name is
/// percent-decoded. The hosts of redis+cluster are as many different nodes, which name the others;
/// only clusters of Valkey 9 have other databases than 0.
///
/// @throws colimit::error with `errc::invalid_config`: the position and the problem. Of the address
/// itself it shows only a port or database number that is out of range, if it is not longer than
/// the largest allowed one; so never a user or password, wherever a typing error has put them.
[[nodiscard]] address parse_address(std::string_view text);

} // namespace colimit::redis
