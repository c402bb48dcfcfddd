// SPDX-License-Identifier: BSL-1.0
//
// The version of a server according to INFO. A Valkey server has a version of Redis there, too,
// with which it is compatible.

#include <support/raw_client.hpp>
#include <support/redis_server.hpp>
#include <support/server_version.hpp>

#include <array>
#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace colimit::test {
namespace {

/// Returns the text after the name of a field, as far as the end of its line; empty without it.
[[nodiscard]] std::string_view field(std::string_view info, std::string_view name) {
    const auto at = info.find(name);
    if (at == std::string_view::npos)
        return {};
    info.remove_prefix(at + name.size());
    return info.substr(0, info.find_first_of("\r\n"));
}

} // namespace

std::string server_version::text() const {
    return name + ' ' + std::to_string(major) + '.' + std::to_string(minor) + '.' +
           std::to_string(patch);
}

server_version version_in(const std::string& info) {
    auto found = server_version{.name = "Valkey"};
    auto numbers = field(info, "\nvalkey_version:");
    if (numbers.empty()) {
        found.name = "Redis";
        numbers = field(info, "\nredis_version:");
    }
    for (auto* const part : {&found.major, &found.minor, &found.patch}) {
        const auto [end, failure] =
            std::from_chars(numbers.data(), numbers.data() + numbers.size(), *part);
        if (failure != std::errc{})
            throw std::runtime_error{"no version in INFO: " + info};
        numbers.remove_prefix(static_cast<std::size_t>(end - numbers.data()));
        numbers.remove_prefix(numbers.starts_with('.') ? 1 : 0);
    }
    return found;
}

server_version version_of(raw_client& server) {
    return version_in(server.must({"INFO", "server"}).text);
}

void require_wanted_server(const redis_server& server) {
    const auto* const wanted = std::getenv("COLIMIT_TEST_SERVER");
    if (wanted == nullptr)
        return;
    auto look = server.connect();
    if (look({"PING"}).text != "PONG")
        return;
    if (const auto found = version_of(look).text(); found != wanted)
        throw std::runtime_error{"the server is " + found + ", not " + wanted};
}

} // namespace colimit::test
