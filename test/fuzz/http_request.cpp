// SPDX-License-Identifier: BSL-1.0
//
// Any bytes as what requests and their configuration consist of: a key template, the path of a
// route, a network, a target, and two header fields, in lines. Templates and routes are errors with
// a printable reason, or texts give them back; paths have one normal form; and no text of a client
// changes the address that a proxy has written behind it.

#include <colimit/client_address.hpp>
#include <colimit/error.hpp>
#include <colimit/http_key.hpp>
#include <colimit/limits.hpp>
#include <colimit/routes.hpp>
#include <support/http_message.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace {

using namespace colimit;

void demand(bool holds) {
    if (!holds)
        std::abort();
}

[[nodiscard]] bool is_printable(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; });
}

template<class Make>
auto result_of(Make make) -> std::optional<decltype(make())> {
    try {
        return make();
    } catch (const error& e) {
        demand(e.code() == errc::invalid_policy || e.code() == errc::invalid_config);
        demand(!e.reason().empty() && e.reason().size() < 300 && is_printable(e.reason()));
        return std::nullopt;
    }
}

[[nodiscard]] std::string take_line(std::string_view& input) {
    const auto line = input.substr(0, input.find('\n'));
    input.remove_prefix(std::min(line.size() + 1, input.size()));
    return std::string{line};
}

void check_key(std::string_view text, const http::request& r) {
    const auto made = result_of([&] { return http::key_template{text}; });
    if (!made)
        return;
    demand(http::key_template{to_string(*made)} == *made);
    const auto key = made->key_of(r, {.client = r.peer, .route = "/*", .user = r.target});
    demand(!key.view().empty());
    demand(key.view().size() <=
           limits::plain_key_bytes + limits::max_key_part_bytes + std::string_view{"tag=;"}.size());
}

void check_route(std::string_view path, std::string_view target) {
    const auto normal = http::normal_path(target);
    demand(is_printable(normal) && normal.starts_with('/') && http::normal_path(normal) == normal);
    const auto made = result_of([&] { return http::route{path}; });
    if (!made)
        return;
    demand(http::route{made->path()} == *made && made->has_methods_of(*made));
    demand(http::route_table{{*made, *made}}.hidden_by(1) == std::vector<std::size_t>{0});
    const auto table = http::route_table{{*made, http::route{"/*"}}};
    const auto found = table.find("GET", target);
    demand(found && table.find("GET", normal) == found);
    demand(table.hidden_by(1).empty() == (made->path() != "/*"));
}

void check_address(std::string_view text, const test::http_message& m) {
    const auto network = result_of([&] { return http::network{text}; });
    const auto r = m.view();
    if (network)
        if (const auto trusted = result_of([&] { return http::trusted_proxies{{*network}}; }))
            (void)http::client_address(r, *trusted);
    for (const auto hops : {0, 1, 5, limits::max_proxies})
        (void)http::client_address(r, http::trusted_proxies{hops});
    auto behind = m;
    behind.fields[0].second += ", 192.0.2.1";
    behind.fields[1].second += ", for=192.0.2.1";
    demand(http::client_address(behind.view(), http::trusted_proxies{1}).to_string() ==
           "192.0.2.1");
}

} // namespace

// The name and type are libFuzzer's.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::string{data, data + size};
    auto input = std::string_view{bytes};
    const auto text = take_line(input);
    const auto path = take_line(input);
    const auto network = take_line(input);
    auto m = test::http_message{.target = take_line(input)};
    m.fields.emplace_back("X-Forwarded-For", take_line(input));
    m.fields.emplace_back("Forwarded", take_line(input));
    m.fields.emplace_back("X", input);
    check_key(text, m.view());
    check_route(path, m.target);
    check_address(network, m);
    return 0;
}
