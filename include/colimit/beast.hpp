// SPDX-License-Identifier: BSL-1.0
//
// `http::guard` for servers with Boost.Beast. Optional: the library does not include it, and it
// needs nothing but headers of Boost.Beast.
//
//     auto verdict = co_await guard.check(http::view_of(message, peer));
//     if (!verdict.allowed)
//         co_await beast::http::async_write(stream, http::denial_of(message, std::move(verdict)));
//     else { ... http::add_fields(response, verdict); ... }

#pragma once

#include <colimit/http_request.hpp>
#include <colimit/http_verdict.hpp>

#include <boost/asio/ip/address.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/verb.hpp>

#include <string_view>
#include <utility>

namespace colimit::http {

/// Returns views of a request, which must outlive them.
/// @param peer the address of the socket's other end
template<class Body, class Fields>
[[nodiscard]] request view_of(const boost::beast::http::request<Body, Fields>& message,
                              const boost::asio::ip::address& peer) {
    // Of a request's few fields most differ in length from the name: that is compared faster than
    // `equal_range` finds a name in its tree.
    const auto read = [](const Fields& fields, std::string_view name, field_visitor visit) {
        const auto wanted = boost::beast::string_view{name};
        for (const auto& field : fields)
            if (boost::beast::iequals(field.name_string(), wanted))
                visit(std::string_view{field.value().data(), field.value().size()});
    };
    const auto method = message.method_string();
    const auto target = message.target();
    return {.method = {method.data(), method.size()},
            .target = {target.data(), target.size()},
            .peer = peer,
            .fields = {static_cast<const Fields&>(message), read}};
}

/// Adds the fields of a verdict to a response, and removes existing ones with these names.
template<class Body, class Fields>
void add_fields(boost::beast::http::response<Body, Fields>& response, const verdict& v) {
    for (const auto& [name, value] : v.fields)
        response.set(boost::beast::string_view{name}, boost::beast::string_view{value});
}

/// Returns the response to a denied request, without the body for HEAD. The connection stays open
/// if the request allows it.
template<class Body, class Fields>
[[nodiscard]] boost::beast::http::response<boost::beast::http::string_body>
denial_of(const boost::beast::http::request<Body, Fields>& message, verdict v) {
    auto response = boost::beast::http::response<boost::beast::http::string_body>{};
    response.version(message.version());
    response.result(v.status);
    add_fields(response, v);
    response.keep_alive(message.keep_alive());
    response.body() = std::move(v.body);
    response.prepare_payload();
    if (message.method() == boost::beast::http::verb::head)
        response.body().clear();
    return response;
}

} // namespace colimit::http
