// SPDX-License-Identifier: BSL-1.0
//
// Blocking commands to the server, with the library's codec.

#include <redis/protocol/resp.hpp>
#include <support/server.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace colimit::benchmark {

namespace asio = boost::asio;
namespace resp = redis::resp;

server::server(std::string socket) : socket_(std::move(socket)) {}

std::string server::ask(std::initializer_list<std::string_view> words) const {
    auto context = asio::io_context{1};
    auto socket = asio::local::stream_protocol::socket{context};
    socket.connect(asio::local::stream_protocol::endpoint{socket_});
    auto request = std::string{};
    resp::append_command(request, words);
    asio::write(socket, asio::buffer(request));

    auto received = std::string{};
    auto reply = resp::decoder{};
    auto chunk = std::array<char, 4096>{};
    while (reply.feed(received) == resp::progress::need_more) {
        const auto bytes = socket.read_some(asio::buffer(chunk));
        received.append(chunk.data(), bytes);
    }
    const auto& first = reply.nodes().front();
    auto text = std::string{reply.text(first, received)};
    if (first.kind == resp::kind::error)
        throw std::runtime_error{"the server answers: " + text};
    return text;
}

std::string server::info(std::string_view section, std::string_view field) const {
    const auto text = ask({"INFO", section});
    const auto begin = text.find("\n" + std::string{field} + ":");
    if (begin == std::string::npos)
        throw std::runtime_error{"INFO has no " + std::string{field}};
    const auto value = begin + field.size() + 2;
    return text.substr(value, text.find_first_of("\r\n", value) - value);
}

double server::cpu_seconds() const {
    return std::stod(info("cpu", "used_cpu_user")) + std::stod(info("cpu", "used_cpu_sys"));
}

double server::bytes_in_use() const {
    return std::stod(info("memory", "used_memory"));
}

std::string server::version() const {
    return info("server", "redis_version");
}

int server::process() const {
    return std::stoi(info("server", "process_id"));
}

void server::forget_keys() const {
    ask({"FLUSHALL", "SYNC"});
}

double server::bytes_of_each_key() const {
    const auto keys = std::stod(ask({"DBSIZE"}));
    const auto before = bytes_in_use();
    forget_keys();
    return (before - bytes_in_use()) / keys;
}

void server::load_functions() const {
    auto file = std::ifstream{COLIMIT_LIBRARY, std::ios::binary};
    const auto text = std::string{std::istreambuf_iterator<char>{file}, {}};
    ask({"FUNCTION", "LOAD", "REPLACE", text});
}

std::string server::load_script(std::string_view body) const {
    return ask({"SCRIPT", "LOAD", body});
}

} // namespace colimit::benchmark
