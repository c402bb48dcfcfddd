// SPDX-License-Identifier: BSL-1.0
//
// Responses that depend on the request alone.

#pragma once

#include "session.hpp"

#include <boost/beast/http/status.hpp>

#include <string>
#include <string_view>

namespace http_server {

/// Returns a response with a body that is left out for HEAD.
[[nodiscard]] session::response make_response(const session::request& to,
                                              boost::beast::http::status status,
                                              std::string_view type, std::string body);

/// Returns a file of the page, or says that there is no such path.
[[nodiscard]] session::response page_response(const session::request& to, std::string_view path);

/// Returns a response to something that is not an acceptable request, after which the connection
/// ends.
[[nodiscard]] session::response rejection(boost::beast::http::status status,
                                          std::string_view reason);

/// Writes a response as it is sent. (Beast's serializer keeps each field as a buffer of its own,
/// and goes through all of them several times: it would take more time than the rest of a
/// response.)
void to_text(const session::response& r, std::string& text);

} // namespace http_server
