// SPDX-License-Identifier: BSL-1.0
//
// Fields of keys, in the forms that key.hpp describes.

#include <tool/frame/format.hpp>
#include <tool/frame/key_field.hpp>

#include <base/bytes.hpp>
#include <http/address_text.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>

namespace tool {
namespace {

using colimit::scoped_key;
using colimit::http::canonical;

/// Returns the prefix length after a slash.
/// @param usual the only one of the document's keys; nullopt without a document
[[nodiscard]] int read_length(const field& f, std::string_view digits, bool is_v4,
                              std::optional<int> usual) {
    const auto most = is_v4 ? 32 : 128;
    const auto read = colimit::detail::read_decimal(digits, static_cast<std::uint64_t>(most));
    const auto length = read ? static_cast<int>(*read) : -1;
    if (length < 0 || length != usual.value_or(length))
        refuse(f.whole, "not a prefix length of these keys",
               usual ? "/" + std::to_string(*usual) + ", as in the document"
                     : "/0 to /" + std::to_string(most));
    return length;
}

/// Returns whether the key of an address depends on the length of the prefix: not if it is of IPv4,
/// in any form, or of the link.
[[nodiscard]] bool has_network(const boost::asio::ip::address& a) {
    const auto key_with = [&](int v6) { return std::string{colimit::key::address(a, {.v6 = v6})}; };
    return key_with(64) != key_with(128);
}

} // namespace

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (auto end = text.find(separator); end != std::string_view::npos;
         end = text.find(separator)) {
        parts.push_back(text.substr(0, end));
        text.remove_prefix(end + 1);
    }
    parts.push_back(text);
    return parts;
}

field read_field(std::string_view text) {
    const auto end = std::min(text.find_first_of("=#"), text.size());
    auto name = std::string{text.substr(0, end)};
    if (name.starts_with("header:"))
        std::ranges::transform(name, name.begin(), colimit::detail::lower);
    if (end == text.size() || text[end] == '#')
        return {text, std::move(name), {}, false};
    return {text, std::move(name), text.substr(end + 1), true};
}

void refuse(std::string_view got, const std::string& problem, const std::string& expected) {
    throw std::runtime_error{"KEY: " + problem + " (got " + escaped(got) + ", expected " +
                             escaped(expected) + ")"};
}

scoped_key address_key(const field& f, const std::optional<colimit::address_prefixes>& bits,
                       bool is_only) {
    const auto slash = f.value.find('/');
    const auto address = colimit::http::parse_address(f.value.substr(0, slash));
    if (!address || (slash != std::string_view::npos && canonical(*address) != *address))
        refuse(f.whole, "not the address of a client",
               "an address or a network of IPv4 or IPv6, without port, brackets and host name");
    const auto is_v4 = canonical(*address).is_v4();
    auto used = bits.value_or(colimit::address_prefixes{});
    if (slash != std::string_view::npos)
        (is_v4 ? used.v4 : used.v6) =
            read_length(f, f.value.substr(slash + 1), is_v4,
                        is_only ? std::optional{is_v4 ? used.v4 : used.v6} : std::nullopt);
    else if (!bits && has_network(*address))
        refuse(f.whole, "services count IPv6 clients by network, so this is not the key of one",
               std::string{colimit::key::address(*address)} +
                   ", or another length if the service has one; --policies FILE reads it there");
    return colimit::key::address(*address, used);
}

std::string unescaped(const field& f) {
    std::string value;
    for (std::size_t i = 0; i < f.value.size(); ++i) {
        if (f.value[i] != '%') {
            value += f.value[i];
            continue;
        }
        const auto code = f.value.substr(i + 1, 2);
        if (code != "25" && code != "3B")
            refuse(f.whole, "no key has this text", "% and ; in values written as %25 and %3B");
        value += code == "25" ? '%' : ';';
        i += 2;
    }
    if (value.empty())
        refuse(f.whole, "no key has a field without a value", f.name + "=VALUE");
    return value;
}

bool has_digest(std::string_view text) {
    const auto digest = text.substr(std::min(text.find('#'), text.size() - 1) + 1);
    return digest.size() == 32 &&
           digest.find_first_not_of(colimit::detail::hex_digits) == std::string_view::npos;
}

void check_digest(const field& f) {
    if (!has_digest(f.whole))
        refuse(f.whole, "no key has this digest", "32 hexadecimal digits in lower case");
}

} // namespace tool
