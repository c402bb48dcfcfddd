// SPDX-License-Identifier: BSL-1.0
//
// A connection to one server for commands of the tool, which are not calls of a limiter: the
// library's connection, with its handshake and TLS.

#pragma once

#include <limiter/problem_log.hpp>
#include <redis/connection/connection.hpp>
#include <redis/connection/requests.hpp>
#include <redis/protocol/resp.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tool {

enum class reply_kind : std::uint8_t { nil, text, integer, array, error };

/// A reply of a server as a tree of values, which owns its bytes.
struct reply {
    reply_kind kind = reply_kind::nil;
    std::string text; ///< of a text, an error, and an integer as a text
    std::int64_t integer = 0;
    std::vector<reply> elements; ///< of a map: keys and values alternate
    std::string bytes;           ///< of a whole reply, as they were received

    [[nodiscard]] bool is_error() const noexcept { return kind == reply_kind::error; }
    [[nodiscard]] bool is_nil() const noexcept { return kind == reply_kind::nil; }
};

/// The words of a command.
using words = std::vector<std::string>;

class link final : public std::enable_shared_from_this<link>,
                   private colimit::redis::requests,
                   private colimit::redis::connection_user {
  public:
    link(const boost::asio::any_io_executor& executor,
         colimit::redis::connection_settings settings);

    /// Sends commands, connecting first if necessary. There are no other commands in flight.
    void send(const std::vector<words>& commands);
    /// Returns whether all replies have come, or the connection was lost.
    [[nodiscard]] bool has_ended() const noexcept override {
        return is_lost_ || (expected_ == answers_.size() && expected_ != 0);
    }
    [[nodiscard]] bool is_lost() const noexcept { return is_lost_; }
    /// Returns whether the server has said that it is a node of a cluster.
    [[nodiscard]] bool is_cluster() const noexcept { return is_cluster_; }
    /// Returns the replies in the order of the commands.
    [[nodiscard]] std::vector<reply> take();
    /// Returns why there is no reply, in words.
    [[nodiscard]] std::string problem() const;
    void close() noexcept { connection_.close(true); }

  private:
    // Requests of the connection.
    void begin_connection(const colimit::redis::server_facts& server) override {
        is_cluster_ = server.is_cluster;
    }
    void lose_connection(std::uint64_t /*sent*/) override {
        is_lost_ = is_lost_ || expected_ != 0;
        is_written_ = true;
    }
    [[nodiscard]] bool wants_to_write() const noexcept override { return !is_written_; }
    void write(std::string& out, std::uint64_t stream_position, std::int64_t now) override;
    [[nodiscard]] bool expects_reply() const noexcept override {
        return is_written_ && answers_.size() < expected_ && !is_lost_;
    }
    [[nodiscard]] std::int64_t oldest_sent_at() const noexcept override { return sent_at_; }
    [[nodiscard]] std::optional<colimit::redis::recovery>
    read_reply(const colimit::redis::resp::decoder& reply, std::string_view bytes) override;

    // Its user.
    void on_events() override;

    colimit::detail::thread_lock lock_{false};
    colimit::detail::problem_log problems_;
    std::weak_ptr<void> life_; ///< itself
    colimit::redis::connection connection_;
    bool is_open_ = false;
    bool is_lost_ = false;
    bool is_cluster_ = false;
    bool is_written_ = true;
    std::string request_;
    std::size_t expected_ = 0;
    std::int64_t sent_at_ = 0;
    std::vector<reply> answers_;
};

} // namespace tool
