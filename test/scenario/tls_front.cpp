// SPDX-License-Identifier: BSL-1.0
//
// Two connections for each client, and a coroutine for each direction between them.

#include <scenario/tls_front.hpp>

#include <support/coroutine_run.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <openssl/ssl.h>

#include <array>
#include <exception>
#include <utility>
#include <vector>

namespace colimit::scenario {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

struct link {
    link(tcp::socket socket, asio::ssl::context& tls)
        : client(std::move(socket), tls), server(client.get_executor()) {}

    void close() {
        auto ignored = boost::system::error_code{};
        (void)client.lowest_layer().close(ignored);
        (void)server.close(ignored);
    }

    asio::ssl::stream<tcp::socket> client;
    tcp::socket server;
};

/// Either end goes, or the test ends.
void ended(const std::exception_ptr& /*why*/) {}

[[nodiscard]] std::unique_ptr<asio::ssl::context> make_tls(const tls_front::options& of) {
    auto made = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_server);
    made->use_certificate_chain_file(of.own.certificate);
    made->use_private_key_file(of.own.key, asio::ssl::context::pem);
    SSL_CTX_set_min_proto_version(made->native_handle(), of.version);
    SSL_CTX_set_max_proto_version(made->native_handle(), of.version);
    if (!of.clients.empty()) {
        made->load_verify_file(of.clients);
        made->set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert);
    }
    return made;
}

} // namespace

struct tls_front::state : std::enable_shared_from_this<state> {
    state(asio::io_context& context, options o, const simulation::server& behind)
        : wanted(std::move(o)), tls(make_tls(wanted)),
          acceptor(context, {asio::ip::address_v4::loopback(), 0}),
          where(asio::ip::make_address(behind.address().host), behind.address().port) {}

    asio::awaitable<void> accept() {
        for (;;) {
            auto socket = co_await acceptor.async_accept(asio::use_awaitable);
            auto made = std::make_shared<link>(std::move(socket), *tls);
            links.push_back(made);
            asio::co_spawn(acceptor.get_executor(), serve(shared_from_this(), made), ended);
        }
    }

    static asio::awaitable<void> serve(std::shared_ptr<state> self, std::shared_ptr<link> l) {
        try {
            co_await self->until_running();
            co_await l->client.async_handshake(asio::ssl::stream_base::server, asio::use_awaitable);
            co_await l->server.async_connect(self->where, asio::use_awaitable);
            asio::co_spawn(self->acceptor.get_executor(), back(self, l), ended);
            co_await self->pump(l->client, l->server);
        } catch (const boost::system::system_error&) {
            l->close();
        }
    }

    static asio::awaitable<void> back(std::shared_ptr<state> self, std::shared_ptr<link> l) {
        try {
            co_await self->pump(l->server, l->client);
        } catch (const boost::system::system_error&) {
            l->close();
        }
    }

    template<class From, class To>
    asio::awaitable<void> pump(From& from, To& to) {
        for (auto bytes = std::array<char, 16'384>{};;) {
            const auto n = co_await from.async_read_some(asio::buffer(bytes), asio::use_awaitable);
            co_await until_running();
            co_await asio::async_write(to, asio::buffer(bytes.data(), n), asio::use_awaitable);
        }
    }

    asio::awaitable<void> until_running() {
        while (is_stopped)
            co_await test::pause_for(std::chrono::milliseconds{1});
    }

    void close_links() {
        for (const auto& weak : std::exchange(links, {}))
            if (const auto l = weak.lock())
                l->close();
    }

    options wanted;
    std::unique_ptr<asio::ssl::context> tls;
    tcp::acceptor acceptor;
    tcp::endpoint where;
    std::vector<std::weak_ptr<link>> links;
    bool is_stopped = false;
};

tls_front::tls_front(asio::io_context& context, options wanted, const simulation::server& behind)
    : state_(std::make_shared<state>(context, std::move(wanted), behind)) {
    asio::co_spawn(context, [self = state_] { return self->accept(); }, ended);
}

tls_front::~tls_front() {
    state_->is_stopped = false;
    state_->acceptor.close();
    state_->close_links();
}

std::uint16_t tls_front::port() const {
    return state_->acceptor.local_endpoint().port();
}

void tls_front::stop() {
    state_->is_stopped = true;
}

void tls_front::cont() {
    state_->is_stopped = false;
}

void tls_front::restart_as(const test::identity& own) {
    state_->wanted.own = own;
    state_->tls = make_tls(state_->wanted);
    state_->close_links();
}

} // namespace colimit::scenario
