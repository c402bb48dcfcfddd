// SPDX-License-Identifier: BSL-1.0
//
// Two pumps for each connection, which cut what they read into messages before they pass it on.

#include <support/fault_proxy.hpp>

#include <redis/connection/address.hpp>
#include <redis/protocol/resp.hpp>
#include <support/child_process.hpp>
#include <support/command_decoder.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace colimit::test {

namespace asio = boost::asio;
namespace resp = redis::resp;
using boost::system::error_code;
using tcp = asio::ip::tcp;

namespace {

using any_stream = asio::generic::stream_protocol;

[[nodiscard]] any_stream::endpoint endpoint_of(const redis::address& where) {
    if (where.kind == redis::address::kind::unix_socket)
        return asio::local::stream_protocol::endpoint{where.path};
    if (where.kind == redis::address::kind::tcp)
        return tcp::endpoint{asio::ip::make_address(where.host), where.port};
    throw std::runtime_error{"memory: is no server"};
}

[[nodiscard]] constexpr std::size_t index_of(way w) noexcept {
    return static_cast<std::size_t>(w);
}

/// A client, the server, and what goes wrong between them.
class link : public std::enable_shared_from_this<link> {
  public:
    /// Changes a message of this connection.
    using translation = std::function<void(way w, std::size_t message, std::span<char> bytes)>;

    link(tcp::socket client, fault wrong, bool records, bool by_tls, any_stream::endpoint server,
         translation translate)
        : seen{}, client_(std::move(client)), server_(client_.get_executor()), wrong_(wrong),
          records_(records), by_tls_(by_tls), where_(std::move(server)),
          translate_(std::move(translate)), silence_(client_.get_executor()) {}

    void start() {
        spawn([](link& l) { return l.run(); });
    }

    void close() noexcept {
        auto ignored = error_code{};
        silence_.cancel();
        translate_ = {}; // whatever it refers to may end before what trickles
        (void)client_.close(ignored);
        (void)server_.close(ignored);
    }

    traffic seen;

  private:
    struct half {
        resp::decoder decoder = command_decoder();
        std::string pending;     ///< begins with the current message
        std::size_t passed = 0;  ///< bytes of it
        std::size_t message = 0; ///< its number
        std::string held;        ///< one that waits for the next to go first
        bool withheld = false;   ///< part of the current message was not passed on
        bool mute = false;
        bool slow = false;
        bool deaf = false;
    };

    /// The end of one direction ends the connection, when the data read has been passed on. But a
    /// client that was notified of the end closes by itself; closing first would reset data that it
    /// has not read.
    template<class Body>
    void spawn(Body body) {
        asio::co_spawn(
            client_.get_executor(),
            [self = shared_from_this(), body]() -> asio::awaitable<void> {
                auto running = body(*self);
                co_await std::move(running);
            },
            [self = shared_from_this()](const std::exception_ptr&) {
                const auto told = self->seen.struck && self->wrong_.kind == fault_kind::fin;
                if (!told || std::exchange(self->half_over_, true))
                    self->close();
            });
    }

    asio::awaitable<void> run() {
        auto ignored = error_code{};
        (void)client_.set_option(tcp::no_delay{true}, ignored);
        co_await server_.async_connect(where_, asio::use_awaitable);
        if (where_.protocol().family() == AF_INET)
            (void)server_.set_option(tcp::no_delay{true}, ignored);
        spawn([](link& l) { return l.pump(l.client_, way::to_server); });
        co_await pump(server_, way::to_client);
    }

    template<class Socket>
    asio::awaitable<void> pump(Socket& from, way w) {
        auto& h = halves_[index_of(w)];
        char piece[16 * 1024];
        for (;;) {
            auto ec = error_code{};
            const auto size = co_await from.async_read_some(
                asio::buffer(piece), asio::redirect_error(asio::use_awaitable, ec));
            if (ec)
                co_return;
            h.pending.append(piece, size);
            co_await pass_messages(h, w);
            if (h.deaf) {
                silence_.expires_after(std::chrono::hours{1});
                co_await silence_.async_wait(asio::use_awaitable);
            }
        }
    }

    asio::awaitable<void> sleep(std::chrono::microseconds time) {
        auto timer = asio::steady_timer{client_.get_executor(), time};
        co_await timer.async_wait(asio::use_awaitable);
    }

    asio::awaitable<void> pass_messages(half& h, way w) {
        while (!h.pending.empty()) {
            const auto whole = !by_tls_ && h.decoder.feed(h.pending) == resp::progress::complete;
            const auto size = whole ? h.decoder.consumed() : h.pending.size();
            if (translate_ && !whole)
                co_return;
            if (translate_)
                translate_(w, h.message, std::span{h.pending}.first(size));
            if (whole && records_) // before the receiver has it and goes on
                seen.messages[index_of(w)].push_back(h.pending.substr(0, size));
            co_await pass(h, w, size, whole);
            if (!whole)
                co_return;
            seen.passed[index_of(w)] += std::exchange(h.withheld, false) ? 0U : 1U;
            h.pending.erase(0, size);
            h.decoder.next();
            h.passed = 0;
            ++h.message;
        }
    }

    /// Goes on with the current message, of which `size` bytes are there.
    asio::awaitable<void> pass(half& h, way w, std::size_t size, bool whole) {
        const auto begin = std::exchange(h.passed, size);
        if (!seen.struck && wrong_.way == w && wrong_.message == h.message) {
            co_await strike(h, w, begin, size, whole);
            co_return;
        }
        co_await send(h, w, begin, size);
        if (whole && !h.held.empty()) {
            const auto held = std::exchange(h.held, {});
            co_await send(h, w, held);
        }
    }

    asio::awaitable<void> strike(half& h, way w, std::size_t begin, std::size_t size, bool whole) {
        const auto strikes_now = whole || size > wrong_.byte;
        switch (wrong_.kind) {
        case fault_kind::none:
            co_await send(h, w, begin, size);
            break;
        case fault_kind::flip: {
            auto bytes = h.pending.substr(begin, size - begin);
            if (wrong_.byte >= begin && wrong_.byte < size) {
                auto& struck = bytes[wrong_.byte - begin];
                struck = static_cast<char>(static_cast<unsigned char>(struck) ^ (1U << wrong_.bit));
            }
            seen.struck = strikes_now;
            co_await send(h, w, bytes);
            break;
        }
        case fault_kind::drop:
            seen.struck = whole;
            h.withheld = true;
            break;
        case fault_kind::duplicate:
            seen.struck = whole;
            co_await send(h, w, begin, size);
            if (whole)
                co_await send(h, w, 0, size);
            break;
        case fault_kind::swap:
            seen.struck = whole;
            if (whole)
                h.held = h.pending.substr(0, size);
            break;
        default: {
            const auto until = std::clamp(wrong_.byte, begin, size);
            co_await send(h, w, begin, until);
            if (!strikes_now)
                break;
            seen.struck = true;
            end(h, w);
            co_await send(h, w, until, size);
        }
        }
    }

    /// The action after the last byte that was passed on.
    void end(half& h, way w) noexcept {
        auto ignored = error_code{};
        const auto shut = [&](auto& socket) {
            (void)socket.shutdown(socket.shutdown_send, ignored);
        };
        h.mute = wrong_.kind != fault_kind::trickle;
        switch (wrong_.kind) {
        case fault_kind::trickle:
            h.slow = true;
            break;
        case fault_kind::deaf:
            h.deaf = true;
            break;
        case fault_kind::half_close:
            w == way::to_client ? shut(client_) : shut(server_);
            break;
        case fault_kind::fin:
            halves_[0].mute = halves_[1].mute = true;
            shut(client_);
            shut(server_);
            break;
        case fault_kind::reset:
            halves_[0].mute = halves_[1].mute = true;
            (void)client_.set_option(asio::socket_base::linger{true, 0}, ignored);
            close();
            break;
        default:
            break;
        }
    }

    asio::awaitable<void> send(half& h, way w, std::size_t begin, std::size_t end) {
        const auto bytes = h.pending.substr(begin, end - begin);
        co_await send(h, w, bytes);
    }

    asio::awaitable<void> send(half& h, way w, const std::string& bytes) {
        h.withheld = h.withheld || (h.mute && !bytes.empty());
        const auto step = h.slow ? wrong_.pieces : std::max<std::size_t>(bytes.size(), 1);
        for (std::size_t at = 0; at < bytes.size() && !h.mute; at += step) {
            if (h.slow)
                co_await sleep(wrong_.pace);
            const auto piece = asio::buffer(bytes.data() + at, std::min(step, bytes.size() - at));
            if (w == way::to_client)
                co_await asio::async_write(client_, piece, asio::use_awaitable);
            else
                co_await asio::async_write(server_, piece, asio::use_awaitable);
        }
    }

    tcp::socket client_;
    any_stream::socket server_;
    fault wrong_;
    bool records_;
    bool by_tls_;
    any_stream::endpoint where_;
    translation translate_;      ///< may be empty
    asio::steady_timer silence_; ///< of a way that is deaf
    bool half_over_ = false;
    std::array<half, 2> halves_{};
};

} // namespace

fault random_fault(std::mt19937_64& random) {
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    constexpr auto kinds =
        std::array{fault_kind::fin,   fault_kind::reset,     fault_kind::half_close,
                   fault_kind::stall, fault_kind::deaf,      fault_kind::trickle,
                   fault_kind::drop,  fault_kind::duplicate, fault_kind::swap};
    return {.kind = kinds[below(kinds.size())],
            .way = static_cast<way>(below(2)),
            .message = script_handshake + below(200),
            .byte = below(400),
            .bit = static_cast<unsigned>(below(8)),
            .pieces = 1 + below(50)};
}

struct fault_proxy::state : std::enable_shared_from_this<state> {
    state(asio::io_context& c, const std::string& address, plan f, bool keep)
        : context(c), by_tls(redis::parse_address(address).tls),
          server(endpoint_of(redis::parse_address(address))), each(std::move(f)), records(keep),
          acceptor(c), here(asio::ip::address_v4::loopback(), 0) {}

    /// Listens on a port that stays the same when it listens again.
    void choose_port() {
        for (auto left = 100; left > 0; --left) {
            here.port(free_port());
            const auto ec = listen();
            if (ec != asio::error::address_in_use)
                return serve_unless(ec);
            acceptor.close();
        }
        throw std::runtime_error{"every free port was taken before the proxy could listen on it"};
    }

    /// A process that is being started has the former socket for a moment.
    void open() {
        auto ec = listen();
        for (auto left = 10'000; left > 0 && ec == asio::error::address_in_use; --left) {
            acceptor.close();
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
            ec = listen();
        }
        serve_unless(ec);
    }

    error_code listen() {
        auto ec = error_code{};
        acceptor.open(here.protocol());
        acceptor.set_option(tcp::acceptor::reuse_address{true});
        if (!acceptor.bind(here, ec))
            (void)acceptor.listen(tcp::acceptor::max_listen_connections, ec);
        return ec;
    }

    void serve_unless(const error_code& ec) {
        if (ec)
            throw boost::system::system_error{ec, "port " + std::to_string(here.port())};
        asio::co_spawn(
            context, [self = shared_from_this()] { return self->serve(); }, asio::detached);
    }

    asio::awaitable<void> serve() {
        for (;;) {
            auto ec = error_code{};
            auto client =
                co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, ec));
            if (ec)
                co_return;
            const auto number = static_cast<int>(links.size()) + 1;
            auto changes = link::translation{};
            if (translate)
                changes = [how = translate, number](way w, std::size_t m, std::span<char> bytes) {
                    how(number, w, m, bytes);
                };
            links.push_back(std::make_shared<link>(std::move(client), each(number), records, by_tls,
                                                   server, std::move(changes)));
            links.back()->start();
        }
    }

    void close() noexcept {
        auto ignored = error_code{};
        (void)acceptor.close(ignored);
        for (const auto& l : links)
            l->close();
    }

    asio::io_context& context;
    bool by_tls;
    any_stream::endpoint server;
    plan each;
    translation translate;
    bool records;
    tcp::acceptor acceptor;
    tcp::endpoint here;
    std::vector<std::shared_ptr<link>> links;
};

fault_proxy::fault_proxy(asio::io_context& context, const std::string& server, plan each,
                         bool records)
    : state_(std::make_shared<state>(context, server, std::move(each), records)) {
    state_->choose_port();
}

fault_proxy::~fault_proxy() {
    state_->translate = {}; // a connection may be accepted even now
    state_->close();
}

void fault_proxy::translate(translation how) {
    state_->translate = std::move(how);
}

std::string fault_proxy::address() const {
    return (state_->by_tls ? "rediss://127.0.0.1:" : "redis://127.0.0.1:") + std::to_string(port());
}

std::uint16_t fault_proxy::port() const noexcept {
    return state_->here.port();
}

int fault_proxy::connections() const noexcept {
    return static_cast<int>(state_->links.size());
}

const traffic& fault_proxy::on(int connection) const {
    return state_->links.at(static_cast<std::size_t>(connection) - 1)->seen;
}

void fault_proxy::refuse() {
    state_->close();
}

void fault_proxy::accept() {
    state_->open();
}

} // namespace colimit::test
