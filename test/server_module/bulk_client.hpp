// SPDX-License-Identifier: BSL-1.0
//
// A connection that takes replies of any size and only counts them.

#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace colimit::test {

struct reply_counts {
    std::size_t arrays = 0;
    std::size_t errors = 0;
    std::size_t others = 0;

    [[nodiscard]] std::size_t all() const noexcept { return arrays + errors + others; }
    reply_counts& operator+=(const reply_counts& more) noexcept {
        arrays += more.arrays;
        errors += more.errors;
        others += more.others;
        return *this;
    }
};

class bulk_client {
  public:
    /// @param path of a unix socket
    explicit bulk_client(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
        auto where = sockaddr_un{};
        where.sun_family = AF_UNIX;
        path.copy(where.sun_path, sizeof where.sun_path - 1);
        const auto* address = reinterpret_cast<const sockaddr*>(&where);
        if (socket_ < 0 || ::connect(socket_, address, sizeof where) != 0)
            throw std::runtime_error{"cannot connect to " + path};
        const auto longest = timeval{.tv_sec = 60, .tv_usec = 0};
        (void)::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest);
    }
    bulk_client(const bulk_client&) = delete;
    bulk_client& operator=(const bulk_client&) = delete;
    ~bulk_client() { ::close(socket_); }

    /// Sends commands, and counts the replies. @throws std::runtime_error if the server is gone
    [[nodiscard]] reply_counts run(std::string commands) {
        commands += "*2\r\n$4\r\nECHO\r\n$12\r\nend-of-batch\r\n";
        for (auto left = std::string_view{commands}; !left.empty();) {
            const auto sent = ::send(socket_, left.data(), left.size(), MSG_NOSIGNAL);
            if (sent <= 0)
                throw std::runtime_error{"the server has ended the connection"};
            left.remove_prefix(static_cast<std::size_t>(sent));
        }
        read_to_end();
        return count();
    }

  private:
    static constexpr std::string_view end = "$12\r\nend-of-batch\r\n";

    void read_to_end() {
        bytes_.clear();
        auto part = std::array<char, 65'536>{};
        while (!std::string_view{bytes_}.ends_with(end)) {
            const auto got = ::recv(socket_, part.data(), part.size(), 0);
            if (got < 0 && errno == EINTR) // this process was halted
                continue;
            if (got <= 0)
                throw std::runtime_error{"the server has ended the connection, or hangs"};
            bytes_.append(part.data(), static_cast<std::size_t>(got));
        }
    }

    [[nodiscard]] reply_counts count() const {
        auto counts = reply_counts{};
        auto rest = std::string_view{bytes_}.substr(0, bytes_.size() - end.size());
        while (!rest.empty()) {
            ++(rest[0] == '*' ? counts.arrays : rest[0] == '-' ? counts.errors : counts.others);
            skip(rest);
        }
        return counts;
    }

    /// Removes one reply.
    static void skip(std::string_view& rest) {
        const auto line = rest.find("\r\n");
        if (line == std::string_view::npos)
            throw std::runtime_error{"not a reply: " + std::string{rest.substr(0, 100)}};
        const auto kind = rest[0];
        const auto number = std::atoll(rest.data() + 1);
        rest.remove_prefix(line + 2);
        if (kind == '$' && number >= 0)
            rest.remove_prefix(static_cast<std::size_t>(number) + 2);
        if (kind == '*')
            for (auto left = number; left > 0; --left)
                skip(rest);
    }

    int socket_;
    std::string bytes_;
};

} // namespace colimit::test
