// SPDX-License-Identifier: BSL-1.0
//
// Keys by scope: a client (an address, a user, all clients together), optionally a route and
// further parts. Keys that are concatenated by hand collide sooner or later: user "a:b" on route
// "c" is not user "a" on route "b:c". And a client could bypass a limit with another spelling of
// its address, or with another of the 2^64 addresses of its IPv6 network. This class prevents both.
//
// On a cluster, keys that one `allow_all` checks must be in one hash slot: give them a common tag.

#pragma once

#include <colimit/limits.hpp>

#include <boost/asio/ip/address.hpp>

#include <array>
#include <cstdint>
#include <string_view>

namespace colimit {

/// The leading bits of an address that identify a client.
struct address_prefixes {
    /// Bits of an IPv4 address: 0 to 32.
    int v4 = 32;
    /// Bits of an IPv6 address: 0 to 128. Networks and homes are assigned 64 bits or more, so a
    /// limit per single address would be easy to bypass.
    int v6 = 64;

    friend bool operator==(const address_prefixes&, const address_prefixes&) = default;
};

class scoped_key;

namespace detail {
struct access;
} // namespace detail

/// Keys for the verbs, in readable text:
///
///     key::address(endpoint.address()).route("/login")    ip=2001:db8:0:7::/64;route=/login
///     key::user("42").address(endpoint.address())         user=42;ip=192.0.2.1
///     key::user("42").part("eu")                          user=42;part=eu
///     key::global()                                       global
///     key::user("42").tagged("acme")                      tag=acme;user=42
namespace key {

/// Returns the key of a client address. An IPv4-mapped IPv6 address is the IPv4 address, and so is
/// one of NAT64 (`64:ff9b::192.0.2.1`). Of a link-local address (`fe80::1%eth0`) the interface is
/// ignored, and all bits count, as all hosts of a link have the same first ones.
/// @throws colimit::error with `errc::invalid_argument` for a prefix out of its range
[[nodiscard]] scoped_key address(const boost::asio::ip::address& client,
                                 address_prefixes bits = {});
/// Returns the key of a client address in text form; all spellings (capitals, zeros, `::`) give the
/// same key.
/// @throws colimit::error with `errc::invalid_key` if the text is not a valid address, such as one
/// with a port or in brackets, or one with an interface that is not link-local
[[nodiscard]] scoped_key address(std::string_view client, address_prefixes bits = {});
/// Returns the key of a user, by name, number or any other client id.
[[nodiscard]] scoped_key user(std::string_view id) noexcept;
/// Returns one key for all clients together.
[[nodiscard]] scoped_key global() noexcept;

} // namespace key

/// A key that the functions of `key` begin, and its members continue.
///
/// Two keys are equal only if they have the same scope and the same parts in the same order,
/// whatever bytes these consist of: `;` and `%` are written as `%3B` and `%25`. A part that is
/// longer than `limits::max_key_part_bytes` in this form is replaced by a 128-bit digest
/// (`part#0123...`); if the whole, without its tag, would be longer than `limits::plain_key_bytes`,
/// a digest replaces the parts so far.
///
/// @par Lifetimes
/// Converts to a view of itself, so it must live until the call is initiated. A temporary in the
/// same expression does: `co_await limiter.allow(key::user(id).route("/x"), policy)`. Nothing is
/// allocated, and it is trivially destructible (GCC 12 and co_await).
class scoped_key {
  public:
    /// Returns a copy for one route only.
    [[nodiscard]] scoped_key route(std::string_view route) const noexcept;
    /// Returns a copy for one client address, in the canonical form of `key::address`.
    /// @throws colimit::error as `key::address` does
    [[nodiscard]] scoped_key address(const boost::asio::ip::address& client,
                                     address_prefixes bits = {}) const;
    [[nodiscard]] scoped_key address(std::string_view client, address_prefixes bits = {}) const;
    /// Returns a copy with a further part: a region, a tenant, a method. An address is not a part:
    /// its spellings would be different keys.
    [[nodiscard]] scoped_key part(std::string_view text) const noexcept;
    /// Returns a copy with this common tag, instead of the one that it has, if any. All keys with
    /// one tag are in one hash slot of a cluster, so one `allow_all` can check them:
    ///
    ///     key::user(id).tagged(tenant), key::global().part(tenant).tagged(tenant)
    ///
    /// It makes no difference in which order this and other parts are added. A key with a tag is
    /// another key than the one without it, or with another one, and has its own counts: a global
    /// limit that is checked together with the users of all tenants needs one tag for all of them,
    /// and so one node that decides all of these checks. Give tags only to keys that are checked
    /// together, as one slot is on one node.
    ///
    /// Any text that begins with `tag=` or `tag#` and has a `;` is a key with a common tag. So a
    /// client that may choose a whole key may choose its slot, as it could by trying other keys.
    /// The id of a user and other parts cannot be taken for a tag.
    [[nodiscard]] scoped_key tagged(std::string_view tag) const noexcept;

    [[nodiscard]] std::string_view view() const noexcept { return {bytes_.data(), size_}; }
    // NOLINTNEXTLINE(google-explicit-constructor): keys are written where verbs take texts
    [[nodiscard]] operator std::string_view() const noexcept { return view(); }

    friend bool operator==(const scoped_key& a, const scoped_key& b) noexcept {
        return a.view() == b.view();
    }

  private:
    friend struct detail::access;
    friend scoped_key key::address(const boost::asio::ip::address&, address_prefixes);
    friend scoped_key key::address(std::string_view, address_prefixes);
    friend scoped_key key::user(std::string_view) noexcept;
    friend scoped_key key::global() noexcept;

    scoped_key() noexcept {} // NOLINT: the bytes are written when they are used

    void append(std::string_view text) noexcept;
    [[nodiscard]] scoped_key with(std::string_view name, std::string_view value) const noexcept;
    [[nodiscard]] scoped_key with(std::string_view name) const noexcept;
    void begin_field(std::size_t bytes) noexcept;
    [[nodiscard]] std::string_view parts() const noexcept { return view().substr(tag_size_); }
    void make_room(std::size_t bytes) noexcept;

    /// Bytes of the longest tag, `tag=...;`.
    static constexpr std::size_t tag_bytes = limits::max_key_part_bytes + 5;

    std::array<char, tag_bytes + limits::plain_key_bytes> bytes_;
    std::uint16_t size_ = 0;
    std::uint16_t tag_size_ = 0; ///< 0: none
};

} // namespace colimit
