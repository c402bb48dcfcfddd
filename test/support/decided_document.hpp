// SPDX-License-Identifier: BSL-1.0
//
// Asks a guard about a request of each route of a document: a document that the parser accepts
// must decide all of them.

#pragma once

#include <colimit/http_guard.hpp>
#include <support/http_message.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace colimit::test {

/// Returns the path of a request that the route matches: each variable segment is `x`.
[[nodiscard]] inline std::string path_of(const http::route& r) {
    auto out = std::string{};
    for (const char c : r.path())
        if (c == '}')
            out.replace(out.rfind('{'), std::string::npos, "x");
        else
            out += c == '*' ? 'x' : c;
    return out;
}

/// Returns what is wrong with the verdict on a request of a route of the document, or nullopt. The
/// store is in process, so no error is one of a server.
[[nodiscard]] inline std::optional<std::string> undecided_route(const policy_document& document) {
    auto context = boost::asio::io_context{1};
    auto settings = config{};
    settings.advanced.clock = [] { return time_point{std::chrono::seconds{1'000'000}}; };
    auto l = limiter{context.get_executor(), settings};
    const auto g = http::guard{l, document};
    auto wrong = std::optional<std::string>{};
    for (std::size_t i = 0; i < document.routes().size(); ++i) {
        const auto& route = document.routes()[i];
        const auto m =
            http_message{.method = route.methods().empty() ? "GET" : route.methods().front(),
                         .target = path_of(route)};
        auto is_done = false;
        g.check(m.view(), [&](error_code ec, const http::verdict& v) {
            is_done = true;
            if (ec || v.error)
                wrong = route.path() + ": " + (ec ? ec : v.error).message();
            else if (v.policies.empty() == v.decision.has_value())
                wrong = route.path() + ": not decided by the policies of the route";
        });
        context.restart();
        while (!is_done && context.run_one() != 0) {
        }
        if (!is_done)
            wrong = route.path() + ": no verdict";
    }
    l.close();
    context.restart();
    context.run();
    return wrong;
}

} // namespace colimit::test
