// SPDX-License-Identifier: BSL-1.0
//
// Keys by scope: who is limited (an address, a user, everybody), and for what (a route, any further
// parts). Keys glued together by hand collide sooner or later: user "a:b" on route "c" is not user
// "a" on route "b:c". And an address written in two ways, or one of the 2^64 that an IPv6 customer
// has, is a way around a limit. Here neither is.

#ifndef COLIMIT_KEY_HPP
#define COLIMIT_KEY_HPP

#include <colimit/limits.hpp>

#include <boost/asio/ip/address.hpp>

#include <array>
#include <cstdint>
#include <string_view>

namespace colimit {

/// How much of an address tells one client from another.
struct address_prefixes {
    /// Bits of an IPv4 address: 0 to 32.
    int v4 = 32;
    /// Bits of an IPv6 address: 0 to 128. Networks and homes get 64 bits or more to themselves, so
    /// a limit by single addresses would limit nobody.
    int v6 = 64;
};

/// A key for the verbs, in readable text:
///
///     key::address(endpoint.address()).route("/login")    ip=2001:db8:0:7::/64;route=/login
///     key::user("42").part("eu")                          user=42;part=eu
///     key::global()                                       global
///
/// Two keys are equal only if they have the same scope and the same parts in the same order,
/// whatever bytes these consist of: `;` and `%` are written as `%3B` and `%25`. For a part above
/// `limits::max_key_part_bytes`, so written, a 128-bit digest stands (`part#0123...`); where the
/// whole would be longer than `limits::plain_key_bytes`, one stands for what came before.
///
/// @par Lifetimes
/// Converts to a view of itself, so it must live until the call is initiated. A temporary in the
/// same expression does: `co_await limiter.allow(key::user(id).route("/x"), policy)`. Nothing is
/// allocated, and it is trivially destructible (GCC 12 and co_await).
class key {
  public:
    /// By address. An IPv4 address in its IPv6 form (`::ffff:192.0.2.1`) is the IPv4 address. The
    /// interface of a link-local address (`fe80::1%eth0`) does not count.
    /// @throws colimit::error with `errc::invalid_argument` for a prefix out of its range
    [[nodiscard]] static key address(const boost::asio::ip::address& client,
                                     address_prefixes bits = {});
    /// The same from text, in whatever way it is written: capitals, zeros, `::`.
    /// @throws colimit::error with `errc::invalid_key` when it is no address, such as one with a
    /// port or in brackets
    [[nodiscard]] static key address(std::string_view client, address_prefixes bits = {});
    /// By the name or number of a user, or whatever else tells clients apart.
    [[nodiscard]] static key user(std::string_view id) noexcept;
    /// One for everybody.
    [[nodiscard]] static key global() noexcept;

    /// A copy for one route only.
    [[nodiscard]] key route(std::string_view route) const noexcept;
    /// A copy with a further part: a region, a tenant, a method.
    [[nodiscard]] key part(std::string_view text) const noexcept;

    [[nodiscard]] std::string_view view() const noexcept { return {bytes_.data(), size_}; }
    // NOLINTNEXTLINE(google-explicit-constructor): keys are written where verbs take texts
    [[nodiscard]] operator std::string_view() const noexcept { return view(); }

    friend bool operator==(const key& a, const key& b) noexcept { return a.view() == b.view(); }

  private:
    key() noexcept {} // NOLINT: the bytes are written when they are used

    void append(std::string_view text) noexcept;
    void append_field(std::string_view name, std::string_view value) noexcept;
    void make_room(std::size_t bytes) noexcept;

    std::array<char, limits::plain_key_bytes> bytes_;
    std::uint16_t size_ = 0;
};

} // namespace colimit

#endif
