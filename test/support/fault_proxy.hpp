// SPDX-License-Identifier: BSL-1.0
//
// A bad network on demand: it is between a limiter and a real server, passes on their data, and
// injects one fault on each connection that a test picks. It knows where messages begin and end, so
// a fault is named by the message and the byte of it at which it strikes:
//
//     auto proxy = fault_proxy{context, server.address(), [](int connection) {
//         return connection == 1 ? fault{.kind = fault_kind::reset, .way = way::to_client,
//                                        .message = 2, .byte = 17}
//                                : fault{};
//     }};
//     limiter l{context.get_executor(), proxy.address()};
//
// Over TLS the traffic is one long message each way, from the handshake on.

#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace colimit::test {

enum class way : std::uint8_t { to_server, to_client };

enum class fault_kind : std::uint8_t {
    none,
    // At a byte: what comes before it is passed on.
    fin,        ///< both sides are told that the other has ended
    reset,      ///< RST to the client, and the server is left
    half_close, ///< this way ends, the other goes on
    stall,      ///< nothing more this way; the sender does not notice
    deaf,       ///< nothing more is read this way, so that the sender's writes fill up
    trickle,    ///< from here on `fault::pieces` bytes at a time, `fault::pace` apart
    flip,       ///< one bit of this byte is another
    // Of a message.
    drop,
    duplicate,
    swap, ///< with the one behind it
};

struct fault {
    fault_kind kind = fault_kind::none;
    test::way way = way::to_client;
    /// Commands or replies of the connection, from 0.
    std::size_t message = 0;
    /// 0 strikes when the message's first byte comes, its size (or more) when all of it was passed.
    std::size_t byte = 0;
    unsigned bit = 0;
    std::size_t pieces = 1;
    std::chrono::microseconds pace = std::chrono::milliseconds{5};
};

/// Messages of the handshake, each way, where scripts are used: HELLO, the question for the server
/// module, SCRIPT LOAD of `check` and of the script that asks for permissions, and its EVALSHA.
inline constexpr std::size_t script_handshake = 5;
/// The same where the limiter uses no module.
inline constexpr std::size_t plain_handshake = script_handshake - 1;
/// The same where the server has the module: HELLO and that question.
inline constexpr std::size_t module_handshake = 2;

/// Anywhere in the first messages after a handshake. Never a flipped bit: a changed request is a
/// valid request, so no decision could be checked.
[[nodiscard]] fault random_fault(std::mt19937_64& random);

/// The messages of one connection.
struct traffic {
    /// Whole messages that were passed on, by way.
    std::array<std::size_t, 2> passed{};
    /// The messages as they came, if the proxy records.
    std::array<std::vector<std::string>, 2> messages;
    bool struck = false;
};

class fault_proxy {
  public:
    /// Says what goes wrong on a connection; they are counted from 1.
    using plan = std::function<fault(int connection)>;
    /// Changes a message in place, before a fault strikes it.
    using translation = std::function<void(int connection, test::way way, std::size_t message,
                                           std::span<char> bytes)>;

    /// Listens on a free port of 127.0.0.1.
    /// @param server as config::server
    fault_proxy(boost::asio::io_context& context, const std::string& server, plan each,
                bool records = false);
    ~fault_proxy();
    fault_proxy(const fault_proxy&) = delete;
    fault_proxy& operator=(const fault_proxy&) = delete;

    /// From now on each message is changed by this function, so no part of it is passed on before
    /// the whole is there: as a server names other servers by addresses that lead past the proxy.
    void translate(translation how);

    /// For config::server.
    [[nodiscard]] std::string address() const;
    [[nodiscard]] std::uint16_t port() const noexcept;
    [[nodiscard]] int connections() const noexcept;
    /// @param connection from 1
    [[nodiscard]] const traffic& on(int connection) const;

    /// From now on connections are refused, and those that are there end. `accept` ends that.
    void refuse();
    void accept();

  private:
    struct state;
    std::shared_ptr<state> state_;
};

} // namespace colimit::test
