// SPDX-License-Identifier: BSL-1.0
//
// A coroutine per reader, which sleeps until there is another event.

#include "event_stream.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

#include <utility>

namespace http_server {

namespace {

constexpr std::string_view stream_header = "HTTP/1.1 200 OK\r\n"
                                           "Content-Type: text/event-stream\r\n"
                                           "Cache-Control: no-store\r\n"
                                           "X-Content-Type-Options: nosniff\r\n"
                                           "Connection: close\r\n\r\n"
                                           "retry: 1000\n\n";

} // namespace

void event_stream::publish(std::string_view data) {
    std::string text = "data: ";
    text.append(data).append("\n\n");
    latest_ = std::make_shared<const std::string>(std::move(text));
    ++number_;
    for (auto* news : readers_)
        news->cancel();
}

asio::awaitable<void> event_stream::serve(boost::beast::tcp_stream& client) {
    timer news{client.get_executor(), timer::time_point::max()};
    // The system would keep megabytes for a slow reader, also after the connection has been closed.
    boost::system::error_code ignored;
    ignored = client.socket().set_option(asio::socket_base::send_buffer_size{32 * 1024}, ignored);
    ignored = client.socket().set_option(asio::socket_base::linger{true, 0}, ignored);
    readers_.insert(&news);
    client.expires_after(patience);
    const auto [ec, size] =
        co_await asio::async_write(client, asio::buffer(stream_header), quietly);
    if (!ec)
        co_await send_events(client, news);
    readers_.erase(&news);
}

asio::awaitable<void> event_stream::send_events(boost::beast::tcp_stream& client, timer& news) {
    auto sent = number_; // the latest event may be old: none are published without a reader
    while (is_open_) {
        if (sent == number_) {
            client.expires_never();
            co_await news.async_wait(quietly);
            continue;
        }
        const auto event = latest_;
        sent = number_;
        client.expires_after(patience);
        const auto [ec, size] = co_await asio::async_write(client, asio::buffer(*event), quietly);
        if (ec)
            co_return;
    }
}

void event_stream::close() {
    is_open_ = false;
    for (auto* news : readers_)
        news->cancel();
}

} // namespace http_server
