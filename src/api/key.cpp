// SPDX-License-Identifier: BSL-1.0
//
// Keys by scope. A key consists of fields separated by `;`. A field is `name=value`, the value
// without `;` and with `%` only before two digits, or `name#digest`, or a name alone; names have
// neither `=` nor `#`. So keys are unambiguous, except for collisions of digests. A tag is the
// first field, and no scope is named `tag`; `redis/protocol/key_tags.hpp` reads it.

#include <colimit/error.hpp>
#include <colimit/key.hpp>
#include <hash/sha256.hpp>
#include <http/address_text.hpp>

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

namespace colimit {
namespace {

namespace ip = boost::asio::ip;

static_assert(std::is_trivially_destructible_v<scoped_key>);

/// Addresses and their prefixes in text form are shorter.
constexpr unsigned address_text = http::address_text;

[[nodiscard]] std::string_view escape_of(char c) noexcept {
    return c == '%' ? "%25" : c == ';' ? "%3B" : "";
}

[[nodiscard]] std::size_t escaped_size(std::string_view text) noexcept {
    const auto more = std::ranges::count_if(text, [](char c) { return !escape_of(c).empty(); });
    return text.size() + 2 * static_cast<std::size_t>(more);
}

/// Clears all bits except the first `bits`.
void keep_prefix(std::span<unsigned char> bytes, int bits) noexcept {
    for (auto& b : bytes) {
        const auto kept = std::clamp(bits, 0, 8);
        b = static_cast<unsigned char>(b & (0xff00U >> kept));
        bits -= 8;
    }
}

void check_bits(int bits, int most, std::string_view member) {
    if (bits < 0 || bits > most)
        throw error{errc::invalid_argument, "address_prefixes::" + std::string{member} +
                                                ": out of range (got " + std::to_string(bits) +
                                                ", expected 0 to " + std::to_string(most) + ")"};
}

using text_buffer = std::array<char, address_text>;

/// Returns the network of the first `bits` of an address, in the canonical form of inet_ntop: lower
/// case, the longest run of zeros as `::`. Complete addresses have no prefix length.
template<std::size_t Size>
[[nodiscard]] std::string_view network(text_buffer& out, std::array<unsigned char, Size> bytes,
                                       int bits) noexcept {
    keep_prefix(bytes, bits);
    ::inet_ntop(Size == 4 ? AF_INET : AF_INET6, bytes.data(), out.data(), address_text);
    auto* end = out.data() + std::strlen(out.data());
    if (bits < static_cast<int>(8 * Size)) {
        *end++ = '/';
        end = std::to_chars(end, out.data() + out.size(), bits).ptr;
    }
    return {out.data(), end};
}

/// Returns text that is not a valid address in a form that is safe for logs.
[[nodiscard]] std::string shown(std::string_view text) {
    auto out = std::string{text.substr(0, address_text)};
    std::ranges::replace_if(out, [](char c) { return c < ' ' || c > '~'; }, '?');
    return "'" + out + (text.size() > address_text ? "'..." : "'");
}

} // namespace

scoped_key scoped_key::address(const ip::address& client, address_prefixes bits) const {
    check_bits(bits.v4, 32, "v4");
    check_bits(bits.v6, 128, "v6");
    auto text = text_buffer{};
    const auto only = http::canonical(client); // translated addresses are all in one /64
    if (only.is_v4())
        return with("ip", network(text, only.to_v4().to_bytes(), bits.v4));
    const auto v6 = only.to_v6();
    constexpr auto link_local_bits = 10;
    const auto is_host = v6.is_link_local() && bits.v6 >= link_local_bits;
    return with("ip", network(text, v6.to_bytes(), is_host ? 128 : bits.v6));
}

scoped_key scoped_key::address(std::string_view client, address_prefixes bits) const {
    const auto parsed = http::parse_address(client);
    if (!parsed)
        throw error{errc::invalid_key, "the address must be one of IPv4 (192.0.2.1) or IPv6 "
                                       "(2001:db8::1), without a port or brackets, and without "
                                       "an interface unless it is link-local (got " +
                                           shown(client) + ")"};
    return address(*parsed, bits);
}

scoped_key scoped_key::route(std::string_view route) const noexcept {
    return with("route", route);
}

scoped_key scoped_key::part(std::string_view text) const noexcept {
    return with("part", text);
}

scoped_key scoped_key::tagged(std::string_view tag) const noexcept {
    auto made = scoped_key{}.with("tag", tag);
    made.append(";");
    made.tag_size_ = made.size_;
    made.append(parts());
    return made;
}

scoped_key key::address(const ip::address& client, address_prefixes bits) {
    return scoped_key{}.address(client, bits);
}

scoped_key key::address(std::string_view client, address_prefixes bits) {
    return scoped_key{}.address(client, bits);
}

scoped_key key::user(std::string_view id) noexcept {
    return scoped_key{}.with("user", id);
}

scoped_key key::global() noexcept {
    return scoped_key{}.with("global");
}

void scoped_key::append(std::string_view text) noexcept {
    std::ranges::copy(text, bytes_.begin() + size_);
    size_ = static_cast<std::uint16_t>(size_ + text.size());
}

scoped_key scoped_key::with(std::string_view name, std::string_view value) const noexcept {
    auto made = *this;
    const auto size = escaped_size(value);
    const auto is_long = size > limits::max_key_part_bytes;
    const auto digest = is_long ? hash::sha256_hex(value) : std::array<char, 32>{};
    made.begin_field(name.size() + 1 + (is_long ? digest.size() : size));
    made.append(name);
    made.append(is_long ? "#" : "=");
    if (is_long)
        made.append({digest.data(), digest.size()});
    else if (size == value.size())
        made.append(value);
    else
        for (const auto& c : value)
            made.append(escape_of(c).empty() ? std::string_view{&c, 1} : escape_of(c));
    return made;
}

scoped_key scoped_key::with(std::string_view name) const noexcept {
    auto made = *this;
    made.begin_field(name.size());
    made.append(name);
    return made;
}

void scoped_key::begin_field(std::size_t bytes) noexcept {
    make_room(1 + bytes);
    if (!parts().empty())
        append(";");
}

/// No scope is named `all`, so a key that begins with this digest cannot equal another key.
void scoped_key::make_room(std::size_t bytes) noexcept {
    if (parts().size() + bytes <= limits::plain_key_bytes)
        return;
    const auto digest = hash::sha256_hex(parts());
    size_ = tag_size_;
    append("all#");
    append({digest.data(), digest.size()});
}

} // namespace colimit
