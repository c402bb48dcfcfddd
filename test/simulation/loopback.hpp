// SPDX-License-Identifier: BSL-1.0
//
// Connections between sockets of the process: TCP on 127.0.0.0/8, and unix sockets. They add
// no latency: what is sent has arrived. So tests of deadlines can compare times exactly.

#pragma once

#include "socket.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace colimit::simulation {

class loopback {
  public:
    /// As the system calls of these names. Unix sockets appear in the real file system, so that
    /// folders and names are what they are without a simulation.
    [[nodiscard]] int bind(socket& what, socket_name to);
    [[nodiscard]] int listen(socket& what, std::size_t backlog);
    [[nodiscard]] int connect(socket& from, const socket_name& to);
    /// Called when a socket is closed, whether it was bound or not.
    void close(socket& what);

    [[nodiscard]] static bool has(place at) noexcept { return at.ip == any || at.ip >> 24U == 127; }

  private:
    class end;

    static constexpr std::uint32_t any = 0;
    static constexpr std::uint32_t first_address = 0x7f000001;
    static constexpr std::uint16_t first_port = 32'768;

    [[nodiscard]] static bool overlap(place a, place b) noexcept;
    [[nodiscard]] static bool is_full(const socket& listener) noexcept;
    [[nodiscard]] std::uint16_t free_port();
    [[nodiscard]] socket* listener_at(place at) const;
    void knock(socket& from, std::int64_t pause);
    static void join(socket& listener, socket& from);

    std::vector<socket*> bound_; ///< to a place
    std::map<std::string, socket*> paths_;
    std::uint16_t last_port_ = first_port - 1;
};

} // namespace colimit::simulation
