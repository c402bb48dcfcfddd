// SPDX-License-Identifier: BSL-1.0
//
// Stream sockets of the process. What they are connected with is a simulated host (network.hpp) or
// another socket of the process (loopback.hpp). Results are those of Linux, negative for errors.

#pragma once

#include "machine.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace colimit::simulation {

/// An IPv4 address and a port.
struct place {
    std::uint32_t ip = 0;
    std::uint16_t port = 0;

    auto operator<=>(const place&) const = default;
};

/// The name of a socket: a place, or the path of a unix socket.
struct socket_name {
    simulation::place place{};
    std::string path{};
};

/// A connection, as a socket sees it.
class link {
  public:
    link() = default;
    virtual ~link() = default;
    link(const link&) = delete;
    link& operator=(const link&) = delete;

    /// Returns how many bytes were taken; -EAGAIN if the buffers are full.
    virtual long send(std::string_view bytes) = 0;
    [[nodiscard]] virtual bool has_room() const noexcept = 0;
    /// Called when the process has read from a full buffer.
    virtual void on_room() {}
    /// The process sends nothing more.
    virtual void end_sending() {}
    /// The process has closed the socket.
    /// @param is_reset it has not read everything, or has set SO_LINGER to 0
    virtual void leave(bool is_reset) = 0;
    virtual void set_user_timeout(std::int64_t /*time*/) noexcept {}
};

class socket final : public descriptor {
  public:
    socket(network& of, bool is_unix) : network_(of), is_unix_(is_unix) {}

    [[nodiscard]] std::uint32_t ready() const noexcept override;
    void on_close() override;

    // As the system calls of these names.
    [[nodiscard]] int bind(socket_name to);
    [[nodiscard]] int listen(int backlog);
    [[nodiscard]] int connect(socket_name to);
    /// Returns null if no connection waits.
    [[nodiscard]] std::shared_ptr<socket> accept();
    [[nodiscard]] long send(std::string_view bytes);
    [[nodiscard]] long receive(char* into, std::size_t most);
    [[nodiscard]] int shutdown(int how);

    [[nodiscard]] bool is_unix() const noexcept { return is_unix_; }
    [[nodiscard]] bool is_listening() const noexcept { return state_ == state::listening; }
    [[nodiscard]] bool is_connected() const noexcept { return state_ == state::connected; }
    [[nodiscard]] const socket_name& name() const noexcept { return name_; }
    [[nodiscard]] const socket_name& peer_name() const noexcept { return peer_name_; }
    [[nodiscard]] int available() const noexcept { return static_cast<int>(in_.size() - read_); }
    [[nodiscard]] int take_error() noexcept { return std::exchange(error_, 0); }

    // Options
    void set_user_timeout(std::int64_t ms) noexcept;
    bool reuses_address = false;
    bool resets_on_close = false;       ///< SO_LINGER with a time of 0
    std::size_t receive_buffer = usual; ///< in bytes
    std::size_t send_buffer = 0;        ///< in addition to the receive buffer of the peer

    // Called by the link.
    void begin_connecting(std::shared_ptr<link> to);
    void on_connected();
    void on_data(std::string_view bytes);
    /// The peer sends nothing more.
    void on_end();
    /// The connection has ended.
    void on_failure(int error);
    /// The same, and what has arrived can be read.
    void on_reset(int error);
    void on_room();

  private:
    friend class loopback;
    enum class state : std::uint8_t { fresh, listening, connecting, connected, ended, failed };

    static constexpr std::size_t usual = std::size_t{128} * 1024;

    network& network_;
    bool is_unix_;
    socket_name name_{};
    socket_name peer_name_{};
    std::shared_ptr<link> link_;
    state state_ = state::fresh;
    bool has_end_ = false; ///< the peer sends nothing more
    bool has_sent_end_ = false;
    bool ignores_input_ = false; ///< reading was shut down
    std::string in_;
    std::size_t read_ = 0;
    int error_ = 0;
    // Of a listening one
    std::size_t backlog_ = 0;
    std::deque<std::shared_ptr<socket>> pending_;
};

} // namespace colimit::simulation
