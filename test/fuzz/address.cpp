// SPDX-License-Identifier: BSL-1.0
//
// Any bytes as a server address: they are an error with a printable reason that shows no more of
// them than a short number, or they are an address whose text gives it back.

#include <colimit/error.hpp>
#include <colimit/limits.hpp>
#include <redis/connection/address.hpp>
#include <support/address_text.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace {

using colimit::redis::address;

void demand(bool holds) {
    if (!holds)
        std::abort();
}

void check_reason(const std::string& reason) {
    demand(reason.starts_with("server address, character ") && reason.size() < 256);
    demand(std::ranges::all_of(reason, [](char c) { return c >= 0x20 && c < 0x7f; }));
    constexpr std::string_view begin = "(got ";
    const auto shown = reason.find(begin);
    if (shown == std::string::npos)
        return;
    const auto at = shown + begin.size();
    const auto number = reason.substr(at, reason.find(", expected ", at) - at);
    demand(number.size() <= 7 &&
           std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; }));
}

[[nodiscard]] std::optional<address> read(const std::string& text) {
    try {
        return colimit::redis::parse_address(text);
    } catch (const colimit::error& e) {
        demand(e.code() == colimit::errc::invalid_config);
        check_reason(e.reason());
        return std::nullopt;
    }
}

} // namespace

// The name and type are libFuzzer's.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto a = read(std::string{data, data + size});
    if (!a)
        return 0;
    demand(a->port > 0 && a->database >= 0 && a->database <= 1'000'000);
    demand((a->kind == address::kind::tcp) == !a->host.empty());
    demand((a->kind == address::kind::unix_socket) == a->path.starts_with('/'));
    const auto has_hosts = a->kind == address::kind::sentinel || a->kind == address::kind::cluster;
    demand(has_hosts == !a->hosts.empty());
    demand((a->kind == address::kind::sentinel) == !a->master.empty());
    // Encoded, every byte of a password may take three characters.
    const auto text = colimit::test::address_text(*a);
    demand(text.size() > colimit::limits::max_address_bytes || read(text) == a);
    return 0;
}
