// SPDX-License-Identifier: BSL-1.0
//
// Addresses as text, parsed without an allocation.

#pragma once

#include <boost/asio/ip/address.hpp>

#include <optional>
#include <string_view>

namespace colimit::http {

/// Addresses in text form are shorter.
inline constexpr unsigned address_text = 64;

/// Parses an address without its interface, which only a link-local one has: `fe80::1%eth0`.
[[nodiscard]] std::optional<boost::asio::ip::address> parse_address(std::string_view text) noexcept;

/// Returns the IPv4 address of one in IPv6 form (`::ffff:192.0.2.1`), or of one that NAT64 has
/// translated (RFC 6052, `64:ff9b::192.0.2.1`), and other addresses unchanged.
[[nodiscard]] boost::asio::ip::address canonical(const boost::asio::ip::address& a) noexcept;

} // namespace colimit::http
