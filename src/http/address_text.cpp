// SPDX-License-Identifier: BSL-1.0
//
// Parses addresses by inet_pton, which accepts one form of IPv4, without leading zeros, and no
// interface. Asio accepts one after any IPv6 address, and makes a number of it that says nothing
// where the address is global; an IPv6 address of a `Forwarded` field has none (RFC 7239).

#include <http/address_text.hpp>

#include <arpa/inet.h>

#include <algorithm>
#include <array>

namespace colimit::http {

namespace ip = boost::asio::ip;

std::optional<ip::address> parse_address(std::string_view text) noexcept {
    constexpr auto none = std::string_view::npos;
    const auto percent = text.find(':') == none ? none : text.find('%');
    const auto bare = text.substr(0, percent);
    const auto has_interface = percent != none;
    const auto is_empty_interface = has_interface && percent + 1 == text.size();
    if (bare.size() >= address_text || bare.find('\0') != none || is_empty_interface)
        return std::nullopt;
    auto terminated = std::array<char, address_text>{}; // with a NUL, as inet_pton requires
    std::ranges::copy(bare, terminated.begin());
    auto v4 = ip::address_v4::bytes_type{};
    if (!has_interface && ::inet_pton(AF_INET, terminated.data(), v4.data()) == 1)
        return ip::address_v4{v4};
    auto bytes = ip::address_v6::bytes_type{};
    if (::inet_pton(AF_INET6, terminated.data(), bytes.data()) != 1)
        return std::nullopt;
    const auto v6 = ip::address_v6{bytes};
    return !has_interface || v6.is_link_local() ? std::optional<ip::address>{v6} : std::nullopt;
}

ip::address canonical(const ip::address& a) noexcept {
    constexpr auto nat64 = std::array<unsigned char, 12>{0, 0x64, 0xff, 0x9b};
    if (a.is_v4())
        return a;
    const auto bytes = a.to_v6().to_bytes();
    if (!a.to_v6().is_v4_mapped() && !std::equal(nat64.begin(), nat64.end(), bytes.begin()))
        return a;
    return ip::address_v4{{bytes[12], bytes[13], bytes[14], bytes[15]}};
}

} // namespace colimit::http
