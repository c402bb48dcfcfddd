// SPDX-License-Identifier: BSL-1.0
//
// The socket, without TLS.

#include <redis/stream.hpp>

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include <string>
#include <utility>

namespace colimit::redis {

namespace asio = boost::asio;

stream::stream(const executor& ex, redis::address where, std::unique_ptr<const tls_context> tls)
    : where_(std::move(where)), tls_(std::move(tls)), socket_(ex) {}

void stream::connect(listener to) {
    if (where_.kind == address::kind::unix_socket)
        connect_unix(std::move(to));
    else
        connect_tcp(std::move(to));
}

void stream::connect_unix(listener to) {
    // Longer paths than the system takes are refused when the address is read.
    const auto endpoint = asio::local::stream_protocol::endpoint{where_.path};
    socket_.async_connect(endpoint, [to = std::move(to), id = connection_](error_code ec) {
        to->on_connect(id, ec);
    });
}

void stream::connect_tcp(listener to) {
    auto ec = error_code{};
    const auto literal = asio::ip::make_address(where_.host, ec);
    if (!ec)
        return connect_to(tcp::resolver::results_type::create(tcp::endpoint{literal, where_.port},
                                                              where_.host, ""),
                          std::move(to));
    resolver_.emplace(socket_.get_executor());
    resolver_->async_resolve(
        where_.host, std::to_string(where_.port),
        [this, to = std::move(to),
         id = connection_](error_code failure, const tcp::resolver::results_type& found) mutable {
            if (id != connection_ || failure)
                return to->on_connect(id, failure);
            connect_to(found, std::move(to));
        });
}

void stream::connect_to(const tcp::resolver::results_type& endpoints, listener to) {
    connecting_ = std::make_shared<tcp::socket>(socket_.get_executor());
    asio::async_connect(*connecting_, endpoints,
                        [this, to = std::move(to), id = connection_,
                         open = connecting_](error_code ec, const tcp::endpoint& /*which*/) {
                            if (id == connection_ && !ec) {
                                auto ignored = error_code{};
                                (void)open->set_option(tcp::no_delay{true}, ignored);
                                socket_ = std::move(*open);
                                connecting_.reset();
                                if (tls_)
                                    return begin_tls(to);
                            }
                            to->on_connect(id, ec);
                        });
}

void stream::read_some(listener to, std::span<char> into) {
    if (secure_)
        return read_tls(std::move(to), into);
    socket_.async_read_some(asio::buffer(into.data(), into.size()),
                            asio::bind_allocator(handler_allocator<char>{read_memory_},
                                                 [this, to = std::move(to),
                                                  id = connection_](error_code ec, std::size_t n) {
                                                     ++completions_;
                                                     to->on_read(id, ec, n);
                                                 }));
}

void stream::write(listener to, std::string_view bytes) {
    if (secure_)
        return write_tls(to, bytes);
    asio::async_write(
        socket_, asio::buffer(bytes.data(), bytes.size()),
        asio::bind_allocator(handler_allocator<char>{write_memory_},
                             [to = std::move(to), id = connection_](error_code ec, std::size_t n) {
                                 to->on_write(id, ec, n);
                             }));
}

bool stream::has_unread() const noexcept {
    auto ec = error_code{};
    return socket_.available(ec) != 0 && !ec;
}

void stream::close() noexcept {
    ++connection_;
    auto ignored = error_code{};
    resolver_.reset(); // to cancel it would take memory
    if (connecting_)
        (void)connecting_->close(ignored);
    connecting_.reset();
    if (secure_)
        end_tls();
    (void)socket_.close(ignored);
}

} // namespace colimit::redis
