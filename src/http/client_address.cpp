// SPDX-License-Identifier: BSL-1.0
//
// Trusted proxies, and the way from the peer to the client.

#include <colimit/client_address.hpp>

#include <base/bytes.hpp>
#include <colimit/error.hpp>
#include <colimit/limits.hpp>
#include <http/address_text.hpp>
#include <http/forwarding_fields.hpp>
#include <rule_text/cursor.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace colimit::http {
namespace {

namespace ip = boost::asio::ip;

/// The bits before an IPv4 address in its IPv6 form.
constexpr int mapped_bits = 96;

[[nodiscard]] ip::address_v6::bytes_type bytes_of(const ip::address& a) noexcept {
    return (a.is_v4() ? ip::make_address_v6(ip::v4_mapped, a.to_v4()) : a.to_v6()).to_bytes();
}

/// Returns the bits of a byte that belong to a network.
[[nodiscard]] unsigned char mask_of(int bits) noexcept {
    return static_cast<unsigned char>(0xff00U >> std::clamp(bits, 0, 8));
}

[[noreturn]] void refuse(std::string_view text, const std::string& expected) {
    throw error{errc::invalid_config,
                "invalid network (got " + text::quoted(text) + ", expected " + expected + ")"};
}

[[noreturn]] void refuse_count(std::string_view what, std::string_view got, std::size_t most) {
    throw error{errc::invalid_config, std::string{what} + ": out of range (got " +
                                          std::string{got} + ", expected 0 to " +
                                          std::to_string(most) + ")"};
}

/// Passes proxies until it finds the client.
[[nodiscard]] ip::address walk(const ip::address& peer, const trusted_proxies& proxies,
                               forwarding_list& list) {
    auto current = peer;
    for (auto hop = 0; hop < limits::max_proxies && proxies.trusts(current, hop); ++hop) {
        const auto next = list.next();
        if (!next)
            break;
        current = *next;
    }
    return current;
}

/// Returns the share of the addresses of a kind that a network has, in units of 2^-60, given the
/// bits before the addresses of that kind.
[[nodiscard]] std::uint64_t share(int bits, int kind_bits) noexcept {
    const auto own = std::max(bits - kind_bits, 0);
    return own > 60 ? 0 : std::uint64_t{1} << static_cast<unsigned>(60 - own);
}

} // namespace

network::network(std::string_view text) {
    const auto slash = text.find('/');
    const auto address = parse_address(text.substr(0, slash));
    if (!address || text.find('%') != std::string_view::npos)
        refuse(text, "an address or a network, such as 10.0.0.0/8 or 2001:db8::/32");
    const auto most = address->is_v4() ? 32U : 128U;
    const auto first_bits = address->is_v4() ? mapped_bits : 0;
    auto length = most;
    if (slash != std::string_view::npos) {
        const auto read = detail::read_decimal(text.substr(slash + 1), most);
        if (!read || *read == 0)
            refuse(text, "a prefix length of 1 to " + std::to_string(most));
        length = static_cast<unsigned>(*read);
    }
    bits_ = static_cast<int>(length) + first_bits;
    bytes_ = bytes_of(bits_ < mapped_bits ? *address : canonical(*address));
    for (auto i = 0; i < 16; ++i)
        if ((bytes_[static_cast<std::size_t>(i)] & ~mask_of(bits_ - 8 * i)) != 0)
            refuse(text, "an address of which all bits after the prefix are 0");
}

bool network::contains(const ip::address& a) const noexcept {
    const auto shown = canonical(a);
    if (shown.is_v4() && bits_ < mapped_bits)
        return false;
    const auto bytes = bytes_of(shown);
    for (auto i = std::size_t{0}; i < bytes.size(); ++i)
        if (((bytes[i] ^ bytes_[i]) & mask_of(bits_ - 8 * static_cast<int>(i))) != 0)
            return false;
    return true;
}

bool network::contains(const network& n) const noexcept {
    return bits_ <= n.bits_ && contains(ip::address_v6{n.bytes_});
}

trusted_proxies::trusted_proxies(int count, forwarding_field written)
    : count_(count), field_(written) {
    if (count < 0 || count > limits::max_proxies)
        refuse_count("trusted proxies", std::to_string(count), limits::max_proxies);
}

trusted_proxies::trusted_proxies(std::vector<network> networks, forwarding_field written)
    : networks_(std::move(networks)), field_(written) {
    if (networks_.size() > limits::max_proxy_networks)
        refuse_count("networks of trusted proxies", std::to_string(networks_.size()),
                     limits::max_proxy_networks);
    check_size("::ffff:0.0.0.0/96", "IPv4");
    check_size("2000::/3", "global IPv6");
}

/// Checks that the networks together have less than half of these addresses. Otherwise most clients
/// would be proxies, and could claim to have any address.
void trusted_proxies::check_size(const char* all, std::string_view name) const {
    const auto whole = network{all};
    auto sum = std::uint64_t{0};
    for (auto n = networks_.begin(); n != networks_.end(); ++n) {
        const auto is_other_in = [n](const network& other) {
            return other.contains(*n) && other != *n;
        };
        if (n->contains(whole))
            sum = share(0, 0);
        else if (whole.contains(*n) && std::ranges::none_of(networks_, is_other_in) &&
                 std::find(networks_.begin(), n, *n) == n)
            sum += share(n->bits_, whole.bits_);
    }
    if (sum >= share(1, 0))
        throw error{errc::invalid_config, "networks of trusted proxies: too large (expected less "
                                          "than half of the " +
                                              std::string{name} + " addresses)"};
}

bool trusted_proxies::trusts(const ip::address& a, int hop) const noexcept {
    return hop < count_ ||
           std::ranges::any_of(networks_, [&a](const network& n) { return n.contains(a); });
}

ip::address client_address(const request& r, const trusted_proxies& proxies) {
    auto peer = canonical(r.peer);
    if (!proxies.trusts(peer, 0))
        return peer;
    using enum forwarding_field;
    auto addresses = forwarding_list{r.fields, forwarding_list::syntax::addresses};
    auto pairs = forwarding_list{r.fields, forwarding_list::syntax::pairs};
    if (proxies.field() == x_forwarded_for || (proxies.field() == either && pairs.is_empty()))
        return walk(peer, proxies, addresses);
    if (proxies.field() == forwarded || addresses.is_empty())
        return walk(peer, proxies, pairs);
    const auto client = walk(peer, proxies, addresses);
    return client == walk(peer, proxies, pairs) ? client : ip::address{};
}

} // namespace colimit::http
