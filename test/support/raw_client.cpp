// SPDX-License-Identifier: BSL-1.0
//
// The blocking connection.

#include <support/raw_client.hpp>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace colimit::test {
namespace {

namespace resp = redis::resp;

constexpr int patience_ms = 30'000;

[[noreturn]] void fail(const std::string& what) {
    throw std::runtime_error{what + ": " + std::generic_category().message(errno)};
}

[[nodiscard]] int connect_unix(const std::string& path) {
    auto where = sockaddr_un{};
    where.sun_family = AF_UNIX;
    if (path.size() >= sizeof where.sun_path)
        throw std::runtime_error{"the path of the socket is too long: " + path};
    std::ranges::copy(path, where.sun_path);
    const auto made = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (made < 0)
        fail("socket");
    if (::connect(made, reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0) {
        const auto reason = errno;
        ::close(made);
        errno = reason;
        fail("connect to " + path);
    }
    return made;
}

[[nodiscard]] int connect_tcp(const std::string& host, std::uint16_t port) {
    auto wanted = addrinfo{};
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &list) != 0)
        throw std::runtime_error{"no address for " + host};
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner{list, &::freeaddrinfo};
    for (const auto* a = list; a != nullptr; a = a->ai_next) {
        const auto made = ::socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
        if (made < 0)
            continue;
        if (::connect(made, a->ai_addr, a->ai_addrlen) == 0) {
            const auto on = 1;
            (void)::setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            return made;
        }
        const auto reason = errno;
        ::close(made);
        errno = reason;
    }
    fail("connect to " + host + ":" + std::to_string(port));
}

[[nodiscard]] int connect(const redis::address& server) {
    switch (server.kind) {
    case redis::address::kind::tcp:
        return connect_tcp(server.host, server.port);
    case redis::address::kind::unix_socket:
        return connect_unix(server.path);
    case redis::address::kind::memory:
    case redis::address::kind::sentinel:
    case redis::address::kind::cluster:
        break;
    }
    throw std::runtime_error{"the address of no server"};
}

/// Takes one value with what it contains off the front of `nodes`.
[[nodiscard]] reply take(const resp::decoder& d, std::span<const resp::node>& nodes,
                         std::string_view bytes) {
    const auto n = nodes.front();
    nodes = nodes.subspan(1);
    auto out = reply{.kind = n.kind, .text = {}, .integer = n.integer, .elements = {}};
    if (!resp::is_container(n.kind)) {
        out.text = d.text(n, bytes);
        return out;
    }
    for (std::uint32_t i = 0; i < n.size; ++i)
        out.elements.push_back(take(d, nodes, bytes));
    return out;
}

} // namespace

raw_client::raw_client(const redis::address& server) : socket_(connect(server)) {
    if (!server.user.empty())
        must({"AUTH", server.user, server.password});
    else if (!server.password.empty())
        must({"AUTH", server.password});
    if (server.database != 0)
        must({"SELECT", std::to_string(server.database)});
}

raw_client::~raw_client() {
    if (socket_ >= 0)
        ::close(socket_);
}

raw_client::raw_client(raw_client&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), buffer_(std::move(other.buffer_)),
      begin_(other.begin_), decoder_(std::move(other.decoder_)) {}

void raw_client::send(std::string_view bytes) {
    while (!bytes.empty()) {
        const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            fail("send");
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
}

std::string_view raw_client::await_reply() {
    for (;;) {
        const auto bytes = std::string_view{buffer_}.substr(begin_);
        const auto state = decoder_.feed(bytes);
        if (state == resp::progress::complete)
            return bytes;
        if (state == resp::progress::malformed)
            throw std::runtime_error{"malformed reply: " + std::string{decoder_.violation()}};
        buffer_.erase(0, std::exchange(begin_, 0));
        auto wait = pollfd{.fd = socket_, .events = POLLIN, .revents = 0};
        if (::poll(&wait, 1, patience_ms) == 0)
            throw std::runtime_error{"no reply for half a minute"};
        char piece[32 * 1024];
        const auto size = ::recv(socket_, piece, sizeof piece, 0);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0)
            fail("recv");
        if (size == 0)
            throw std::runtime_error{"the server closed the connection"};
        buffer_.append(piece, static_cast<std::size_t>(size));
    }
}

void raw_client::skip_reply() noexcept {
    begin_ += decoder_.consumed();
    decoder_.next();
}

reply raw_client::receive() {
    return receive([](const resp::decoder& d, std::string_view bytes) {
        auto nodes = d.nodes();
        return take(d, nodes, bytes);
    });
}

std::optional<reply> raw_client::receive_within(std::chrono::milliseconds time) {
    auto wait = pollfd{.fd = socket_, .events = POLLIN, .revents = 0};
    if (begin_ == buffer_.size() && ::poll(&wait, 1, static_cast<int>(time.count())) == 0)
        return std::nullopt;
    return receive();
}

reply raw_client::operator()(std::initializer_list<std::string_view> words) {
    std::string out;
    resp::append_command(out, words);
    send(out);
    return receive();
}

reply raw_client::must(std::initializer_list<std::string_view> words) {
    auto answer = (*this)(words);
    if (answer.is_error())
        throw std::runtime_error{std::string{*words.begin()} + ": " + answer.text};
    return answer;
}

std::optional<std::string> raw_client::get(std::string_view key) {
    return must({"GET", key}).value();
}

std::optional<std::string> raw_client::dump(std::string_view key) {
    return must({"DUMP", key}).value();
}

std::int64_t raw_client::pttl(std::string_view key) {
    return must({"PTTL", key}).integer;
}

std::int64_t raw_client::dbsize() {
    return must({"DBSIZE"}).integer;
}

std::int64_t raw_client::time() {
    const auto answer = must({"TIME"});
    return std::stoll(answer.elements.at(0).text) * 1'000'000 +
           std::stoll(answer.elements.at(1).text);
}

std::vector<std::string> raw_client::keys() {
    std::vector<std::string> names;
    for (auto& e : must({"KEYS", "*"}).elements)
        names.push_back(std::move(e.text));
    std::ranges::sort(names);
    return names;
}

} // namespace colimit::test
