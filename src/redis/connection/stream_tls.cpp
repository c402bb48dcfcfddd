// SPDX-License-Identifier: BSL-1.0
//
// The socket, with TLS: moves bytes between it and the TLS engine. There is one read and one write
// of the socket at a time, as without TLS; output of the engine during a write is sent next.
//
// No exception leaves through the event loop: a step that runs out of memory ends the connection.
//
// If a write fails after n encrypted bytes, at most n bytes of its text can have been sent, because
// encryption only adds. So the rule of what may be sent again is the same as without TLS. A server
// cannot read a partial record at all; the bound does not rely on that.
//
// The end of the TLS handshake is sent in one write with that of Redis: if the server rejects the
// client certificate, it says so in its reply, which later writes cannot hide.

#include <redis/connection/stream.hpp>
#include <redis/connection/tls_engine.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace colimit::redis {

namespace asio = boost::asio;

/// One connection. Its handlers own references to it: the socket may still be reading into it or
/// writing from it when the stream has closed it.
struct stream::secure_part {
    secure_part(const tls_context& context, const std::string& host) : engine(context, host) {}

    tls_engine engine;
    bool is_open = false;
    bool is_sending = false;
    std::size_t write_size = 0; ///< the size of the write whose completion is outstanding
    std::size_t bytes_sent = 0; ///< encrypted bytes that were sent since that write began
    std::string plaintext_probe;
};

namespace {

/// Redis and Valkey reject an unfinished line that is longer. (A line end alone does not help: they
/// search for it only up to the first zero byte.)
constexpr std::size_t longest_inline_command = std::size_t{64} * 1024;

} // namespace

void stream::begin_tls(const listener& to) {
    reached_ = phase::tls;
    const auto make = [this] { secure_ = std::make_shared<secure_part>(*tls_, where_.host); };
    if (const auto ec = guarded([&] { return make(), error_code{}; }))
        return to->on_connect(connection_, ec);
    handshake(to);
}

/// The end of the handshake is sent in one write with the first commands: if the server rejects
/// this client, it closes the connection after all of it, and its reason can be read.
void stream::handshake(const listener& to) {
    const auto ec = guarded([&] {
        auto failure = error_code{};
        secure_->is_open = secure_->engine.handshake(failure);
        if (!secure_->is_open && !failure) {
            send(to);
            receive_handshake(to);
        }
        // The reply to the plain-text probe says nothing about certificates.
        if (!secure_->plaintext_probe.empty() && failure && failure != errc::bad_reply)
            failure = asio::error::timed_out;
        return failure;
    });
    const auto id = connection_;
    if (ec || secure_->is_open)
        to->on_connect(id, ec);
    if (ec || id != connection_)
        return;
    if (const auto failure = guarded([&] { return send(to), error_code{}; }))
        to->on_write(id, failure, 0);
}

std::string_view stream::tls_failure() const noexcept {
    return secure_ ? secure_->engine.failure_text() : std::string_view{};
}

void stream::send_plaintext_probe(const listener& to) {
    if (!secure_ || secure_->is_open || secure_->is_sending || secure_->engine.has_received() ||
        !secure_->plaintext_probe.empty())
        return;
    secure_->plaintext_probe.assign(longest_inline_command, '\n');
    asio::async_write(
        socket_, asio::buffer(secure_->plaintext_probe),
        [to, with = secure_](error_code /*the read ends too*/, std::size_t /*bytes*/) {});
}

/// Reads from the socket into the engine, and then calls `next(to, error)` unless the connection
/// was closed meanwhile.
template<class Next>
void stream::receive(const listener& to, Next next) {
    const auto into = secure_->engine.prepare();
    socket_.async_read_some(
        asio::buffer(into.data(), into.size()),
        with_memory(read_memory_, [this, to, next, id = connection_,
                                   with = secure_](error_code ec, std::size_t n) {
            if (id != connection_)
                return;
            ++completions_;
            if (!ec)
                ec = guarded([&] { return with->engine.commit(n), error_code{}; });
            next(to, ec);
        }));
}

void stream::receive_handshake(const listener& to) {
    receive(to, [this](const listener& owner, error_code ec) {
        if (ec)
            return owner->on_connect(connection_, ec);
        handshake(owner);
    });
}

/// Data that was already received needs no socket, but must not be reported from within this
/// function; an empty read completes in the next event-loop iteration, with the memory for reads.
void stream::read_tls(const listener& to, std::span<char> into) {
    auto failure = error_code{};
    const auto n = secure_->engine.decrypt(into, failure);
    if (n == 0 && !failure)
        return receive_tls(to, into);
    socket_.async_read_some(
        asio::mutable_buffer{},
        with_memory(read_memory_, [this, to, id = connection_, failure, n](error_code /*none*/,
                                                                           std::size_t /*none*/) {
            ++completions_;
            to->on_read(id, failure, n);
        }));
}

void stream::receive_tls(const listener& to, std::span<char> into) {
    receive(to, [this, into](const listener& owner, error_code ec) {
        const auto id = connection_;
        auto got = std::size_t{0};
        auto is_waiting = false;
        if (!ec)
            ec = guarded([&] {
                auto failure = error_code{};
                got = secure_->engine.decrypt(into, failure);
                send(owner);
                is_waiting = got == 0 && !failure;
                if (is_waiting)
                    receive_tls(owner, into);
                return failure;
            });
        if (ec || !is_waiting)
            owner->on_read(id, ec, got);
    });
}

void stream::write_tls(const listener& to, std::string_view bytes) {
    BOOST_ASSERT(secure_->write_size == 0);
    secure_->engine.encrypt(bytes);
    secure_->write_size = bytes.size();
    secure_->bytes_sent = 0;
    send(to);
}

/// Sends the engine's output, unless a write is in progress.
void stream::send(const listener& to) {
    if (secure_->is_sending)
        return;
    const auto bytes = secure_->engine.output();
    if (bytes.empty())
        return;
    asio::async_write(socket_, asio::buffer(bytes.data(), bytes.size()),
                      with_memory(write_memory_, [this, to, id = connection_,
                                                  with = secure_](error_code ec, std::size_t n) {
                          if (id == connection_)
                              on_sent(to, *with, ec, n);
                      }));
    secure_->is_sending = true;
}

/// Encryption never shortens the text and keeps its order. So at most as many bytes of the text can
/// have been sent as encrypted bytes since.
void stream::on_sent(const listener& to, secure_part& with, error_code ec, std::size_t bytes) {
    with.is_sending = false;
    with.bytes_sent += bytes;
    if (!ec)
        ec = guarded([&] { return send(to), error_code{}; });
    if (with.is_sending)
        return;
    const auto write_size = std::exchange(with.write_size, 0);
    if (ec && !with.is_open)
        to->on_connect(connection_, ec);
    else if (ec)
        to->on_write(connection_, ec, std::min(write_size, with.bytes_sent));
    else if (write_size != 0)
        to->on_write(connection_, {}, write_size);
}

/// Sends the final alert, if that is possible without waiting.
void stream::end_tls() noexcept {
    const auto last = std::exchange(secure_, nullptr);
    if (last->is_sending)
        return;
    std::array<char, 256> bytes{};
    const auto size = last->engine.end(bytes);
    auto ignored = error_code{};
    (void)socket_.non_blocking(true, ignored);
    if (size != 0 && !ignored)
        (void)socket_.write_some(asio::buffer(bytes.data(), size), ignored);
}

} // namespace colimit::redis
