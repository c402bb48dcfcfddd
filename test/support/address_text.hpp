// SPDX-License-Identifier: BSL-1.0
//
// The address that parse_address reads as a given one: for round-trip tests.

#pragma once

#include <redis/connection/address.hpp>

#include <string>
#include <string_view>

namespace colimit::test {

[[nodiscard]] inline std::string percent_encoded(std::string_view bytes, std::string_view plain) {
    constexpr std::string_view letters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    constexpr std::string_view hex = "0123456789ABCDEF";
    std::string out;
    for (const auto c : bytes) {
        const auto code = static_cast<unsigned char>(c);
        if (letters.find(c) != std::string_view::npos || plain.find(c) != std::string_view::npos)
            out += c;
        else
            out += {'%', hex[code >> 4U], hex[code & 15U]};
    }
    return out;
}

[[nodiscard]] inline std::string address_text(const redis::address& a) {
    if (a.kind == redis::address::kind::memory)
        return "memory:";
    std::string credentials;
    if (!a.user.empty() || !a.password.empty())
        credentials = percent_encoded(a.user, "") + ":" + percent_encoded(a.password, "") + "@";
    const auto database = std::to_string(a.database);
    if (a.kind == redis::address::kind::unix_socket)
        return "unix://" + credentials + percent_encoded(a.path, "/._-") + "?db=" + database;
    auto hosts = std::string{};
    for (const auto& h : a.hosts)
        hosts += (hosts.empty() ? "" : ",") + to_string(h);
    if (a.kind == redis::address::kind::sentinel)
        return (a.tls ? "rediss+sentinel://" : "redis+sentinel://") + credentials + hosts + "/" +
               percent_encoded(a.master, "") + "/" + database;
    if (a.kind == redis::address::kind::cluster)
        return (a.tls ? "rediss+cluster://" : "redis+cluster://") + credentials + hosts + "/" +
               database;
    const auto is_ipv6 = a.host.find(':') != std::string::npos;
    return (a.tls ? "rediss://" : "redis://") + credentials +
           (is_ipv6 ? "[" + a.host + "]" : a.host) + ":" + std::to_string(a.port) + "/" + database;
}

} // namespace colimit::test
