// SPDX-License-Identifier: BSL-1.0
//
// The network: TCP connections between sockets of the process and simulated hosts. Bytes arrive in
// order, but late; connections overtake each other, end, or fall silent; a host may be cut off.

#pragma once

#include "loopback.hpp"
#include "machine.hpp"
#include "socket.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::simulation {

class connection;

/// What a host keeps of a connection.
struct server_side {
    virtual ~server_side() = default;
};

/// A host with one port.
class host {
  public:
    host() = default;
    virtual ~host() = default;
    host(const host&) = delete;
    host& operator=(const host&) = delete;

    virtual void on_bytes(connection& from, std::string_view bytes) = 0;
    /// The client has closed.
    virtual void on_end(connection& of) = 0;
    /// Called when an attempt to connect has reached it, whether it is up or not.
    virtual void on_connect() {}

    bool is_up = true;
    std::int64_t cut_until = 0; ///< nothing passes until then
};

/// How the network behaves in a run; percentages.
struct weather {
    std::int64_t latency = 100; ///< in microseconds, one way, at least
    std::int64_t jitter = 50;   ///< and at most so much more
    std::size_t lost_connects = 0;
    std::size_t slow_connects = 0;
    std::size_t short_reads = 0;
    std::size_t spikes = 0; ///< a segment comes up to 50 ms late, and all behind it
    std::size_t buffer = std::size_t{256} * 1024;
};

class network {
  public:
    explicit network(machine& of) : machine_(of) {}

    void add(place at, host& what) { hosts_[at] = &what; }
    /// The host is destroyed. Its connections end without a sign of it.
    void remove(const host& what);
    [[nodiscard]] host* find(place at) const {
        const auto found = hosts_.find(at);
        return found == hosts_.end() ? nullptr : found->second;
    }
    [[nodiscard]] machine& os() noexcept { return machine_; }
    [[nodiscard]] std::int64_t delay();

    /// Returns the open connections of a host, in the order in which they were made.
    [[nodiscard]] std::vector<std::shared_ptr<connection>> connections_of(const host& of);
    [[nodiscard]] loopback& local() noexcept { return local_; }
    /// As the system call.
    [[nodiscard]] int connect(socket& from, const socket_name& to);

    simulation::weather weather;

  private:
    machine& machine_;
    loopback local_;
    std::map<place, host*> hosts_;
    std::vector<std::weak_ptr<connection>> connections_;
    std::uint64_t count_ = 0;
};

class connection final : public link, public std::enable_shared_from_this<connection> {
  public:
    connection(network& of, socket& client, simulation::host* server, std::uint64_t number);

    // The client
    void open() { push(to_server, {kind::connect, {}}); }
    long send(std::string_view bytes) override;
    [[nodiscard]] bool has_room() const noexcept override;
    void leave(bool is_reset) override;
    void set_user_timeout(std::int64_t time) noexcept override { user_timeout_ = time; }

    // The server
    void reply(std::string bytes, std::int64_t at);
    /// Ends at both sides; what is in flight is lost.
    void reset();
    /// From now on nothing passes, without a sign of it.
    void fall_silent();
    void delay_until(std::int64_t time) noexcept { stalled_until_ = time; }
    void forget(const simulation::host& h) noexcept {
        if (host_ == &h)
            host_ = server_ = nullptr;
    }

    [[nodiscard]] bool is_open() const noexcept { return server_ != nullptr && is_accepted_; }
    [[nodiscard]] bool is_of(const simulation::host& h) const noexcept { return server_ == &h; }
    [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

    std::unique_ptr<server_side> state;

  private:
    enum class kind : std::uint8_t { connect, accept, refuse, data, end, reset };
    struct segment {
        simulation::connection::kind kind;
        std::string bytes;
        std::int64_t at = 0;
    };
    enum direction : std::size_t { to_server, to_client };
    struct pipe {
        std::deque<segment> segments{};
        std::int64_t last = 0;
    };

    void push(direction d, segment s, std::int64_t earliest = 0);
    void pump(direction d);
    void pump_at(direction d, std::int64_t time);
    void deliver(direction d, segment s);
    void deliver_to_server(segment s);
    void deliver_to_client(segment s);

    network& network_;
    socket* client_;
    simulation::host* host_;
    simulation::host* server_; ///< null after its end there
    std::uint64_t number_;
    std::int64_t latency_;
    std::array<pipe, 2> pipes_;
    std::size_t in_flight_ = 0;
    std::int64_t stalled_until_ = 0;
    std::int64_t user_timeout_ = 0; ///< in microseconds, TCP_USER_TIMEOUT
    bool is_accepted_ = false;
    bool is_silent_ = false;
    bool is_acknowledged_ = false; ///< something on the way takes what is sent, and drops it
};

} // namespace colimit::simulation
