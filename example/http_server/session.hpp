// SPDX-License-Identifier: BSL-1.0
//
// One connection: requests and their responses one after another, until the client closes it, is
// silent for too long, or sends something that is not HTTP.

#pragma once

#include "awaitable.hpp"
#include "service.hpp"

#include <colimit/http_verdict.hpp>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace http_server {

class session {
  public:
    using request = boost::beast::http::request<boost::beast::http::string_body>;
    using response = boost::beast::http::response<boost::beast::http::string_body>;

    /// For a whole request, also for the first byte of the next one; and for taking a response.
    static constexpr std::chrono::seconds patience{30};
    static constexpr std::uint32_t max_header_bytes = 8 * 1024;
    static constexpr std::uint64_t max_body_bytes = 16 * 1024;

    /// @param peer as `accept` gave it: a socket whose client has left does not know it
    session(asio::ip::tcp::socket client, const asio::ip::address& peer, service& shared);

    /// Serves requests until the connection ends.
    [[nodiscard]] asio::awaitable<void> run();

    /// Ends `run` after the response that is being made.
    void stop();
    /// Ends `run` now.
    void drop() { client_.close(); }

  private:
    using parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

    /// A reason to refuse a request before its body is read; no status: none.
    struct refusal {
        boost::beast::http::status status{};
        std::string_view reason{};
    };

    [[nodiscard]] refusal refusal_of(const request& r) const;
    [[nodiscard]] bool has_own_name(std::string_view host) const;
    [[nodiscard]] bool is_for_own_name(std::string_view target) const;
    [[nodiscard]] response respond(const request& r, std::string_view path) const;
    [[nodiscard]] response metrics_response(const request& r) const;
    void add_time(const colimit::http::verdict& v, std::chrono::steady_clock::duration time);
    [[nodiscard]] asio::awaitable<void> serve_events();
    [[nodiscard]] asio::awaitable<void> reject(boost::system::error_code why);
    [[nodiscard]] asio::awaitable<void> reject(refusal why);
    [[nodiscard]] asio::awaitable<void> send(response r);
    [[nodiscard]] asio::awaitable<void> linger();

    boost::beast::tcp_stream client_;
    boost::beast::flat_buffer received_;
    std::string sent_; ///< the last response; its memory serves the next one
    service& service_;
    asio::ip::address peer_;
};

} // namespace http_server
