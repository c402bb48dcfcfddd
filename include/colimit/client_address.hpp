// SPDX-License-Identifier: BSL-1.0
//
// The address of a client behind proxies: the header fields `X-Forwarded-For` and `Forwarded` (RFC
// 7239), of which clients may send any text, are read only as far as trusted proxies wrote them.

#pragma once

#include <colimit/http_request.hpp>

#include <boost/asio/ip/address.hpp>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace colimit::http {

/// A network of addresses. An IPv4 address in its IPv6 form is the IPv4 address.
class network {
  public:
    /// @param text an address, `::1`, or one with a prefix length, `10.0.0.0/8`, of which all other
    /// bits are 0. An IPv4 address in IPv6 form, or of NAT64 (`64:ff9b::/96`), is that IPv4
    /// address, so it is in no network of IPv6. The length 0 is an error: in a network of all
    /// addresses every client would be a proxy, and could claim to have any address. So is an
    /// interface, as in `fe80::1%eth0`.
    /// @throws colimit::error with `errc::invalid_config`
    explicit network(std::string_view text);

    [[nodiscard]] bool contains(const boost::asio::ip::address& a) const noexcept;

    friend bool operator==(const network&, const network&) = default;

  private:
    friend class trusted_proxies;

    [[nodiscard]] bool contains(const network& n) const noexcept;

    std::array<unsigned char, 16> bytes_{}; ///< in IPv6 form
    int bits_ = 128;
};

/// The header field in which proxies say who connects to them.
enum class forwarding_field : std::uint8_t {
    /// Not known: the one that a request has, or both if they lead to the same address. The
    /// requests
    /// of clients that add the other one share a limit, see `client_address`.
    either,
    x_forwarded_for, ///< `X-Forwarded-For`
    forwarded,       ///< `Forwarded`, RFC 7239
};

/// The proxies between clients and the server that are trusted to say who connects to them.
class trusted_proxies {
  public:
    /// None: the client is the peer, and the header fields are ignored.
    trusted_proxies() = default;

    /// A number of proxies in a row through which every request comes. Clients must not be able to
    /// reach the server past one of them.
    /// @param count 0 to `limits::max_proxies`
    /// @param written the field that the proxies write; the other one is not read
    /// @throws colimit::error with `errc::invalid_config`
    explicit trusted_proxies(int count, forwarding_field written = forwarding_field::either);

    /// Proxies by their addresses; the client is the first one, seen from the server, that is not
    /// in one of these networks.
    /// @throws colimit::error with `errc::invalid_config` for more than
    /// `limits::max_proxy_networks`, and if the networks together have half of the IPv4 addresses
    /// or of the global IPv6 addresses (`2000::/3`), or more
    explicit trusted_proxies(std::vector<network> networks,
                             forwarding_field written = forwarding_field::either);

    /// Returns whether the host at this address is a proxy.
    /// @param hop 0 for the server's peer, 1 for the peer of that proxy, and so on
    [[nodiscard]] bool trusts(const boost::asio::ip::address& a, int hop) const noexcept;
    [[nodiscard]] forwarding_field field() const noexcept { return field_; }

    friend bool operator==(const trusted_proxies&, const trusted_proxies&) = default;

  private:
    void check_size(const char* all, std::string_view name) const;

    int count_ = 0;
    std::vector<network> networks_;
    forwarding_field field_ = forwarding_field::either;
};

/// Returns the address of the client that sent a request.
///
/// The fields are read from right to left, and an address is believed only if a trusted proxy wrote
/// it. If the text there is not an address (also `unknown` or `_hidden`, and one with an interface
/// that is not link-local), or there is none, the address of the proxy that wrote the last one is
/// returned; the text of a client never is. At most `limits::max_proxies` proxies are passed.
///
/// Proxies must write one of the two fields, in either way: a list in one field, or several fields.
/// An address may be followed by a port. A proxy that writes one field lets the other one of a
/// client pass, so say which one it writes. If that is not known and a request has both, they must
/// lead to the same address; otherwise the unspecified address, `0.0.0.0`, is returned, which no
/// client has: such requests share one key, which is neither that of a client nor that of a proxy.
[[nodiscard]] boost::asio::ip::address client_address(const request& r, const trusted_proxies& p);

} // namespace colimit::http
