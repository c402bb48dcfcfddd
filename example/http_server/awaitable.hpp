// SPDX-License-Identifier: BSL-1.0
//
// The completion token of all coroutines here: errors are values, because a client that disconnects
// is an ordinary event.

#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>

namespace http_server {

namespace asio = boost::asio;
inline constexpr auto quietly = asio::as_tuple(asio::deferred);

} // namespace http_server
