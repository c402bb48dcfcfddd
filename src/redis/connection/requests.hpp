// SPDX-License-Identifier: BSL-1.0
//
// The interface of a connection to its requests: bytes to write, outstanding replies, deadlines. It
// does not depend on what the requests mean.

#pragma once

#include <colimit/error.hpp>
#include <redis/protocol/error_sink.hpp>
#include <redis/protocol/reply_error.hpp>
#include <redis/protocol/resp.hpp>
#include <redis/protocol/server_module.hpp>

#include <boost/core/noncopyable.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace colimit::redis {

/// The results of a handshake.
struct server_facts {
    bool is_cluster = false;                           ///< it is a node of a cluster
    module_state server_module = module_state::absent; ///< `absent` also if it is not to be used
    // For transactions:
    /// The first part of the names of this connection's events, unique in all runs of all servers:
    /// the server's run id, or the time of the handshake if INFO is not allowed, and the client id.
    std::string origin;
    std::int64_t time = 0;     ///< of the server, when it executed TIME
    std::int64_t asked = 0;    ///< of this process, before TIME was sent
    std::int64_t answered = 0; ///< and after the reply arrived
};

class requests : boost::noncopyable {
  public:
    virtual ~requests() = default;

    /// Sets the receiver of error replies, which is the connection: so their problems are those of
    /// its server.
    void report_to(error_sink& to) noexcept { errors_ = &to; }

    /// Called when a connection begins, with the results of its handshake.
    virtual void begin_connection(const server_facts& /*server*/) {}
    /// Called when the connection is lost after `sent` bytes: requests of which no byte was sent
    /// wait for the next connection, and so do calls with ids; others end as
    /// `errc::outcome_unknown`, or as `errc::unavailable` if they were read-only.
    virtual void lose_connection(std::uint64_t sent) = 0;

    [[nodiscard]] virtual bool wants_to_write() const noexcept = 0;
    /// Returns whether more than one batch waits: the server can get work as soon as it replies.
    [[nodiscard]] virtual bool has_backlog() const noexcept { return false; }
    /// Appends the requests that may be in flight now; `stream_position` is the position of the
    /// first byte appended, and `now` not after it is sent. If it throws (bad_alloc), calls count
    /// as sent only if lose_connection says so.
    virtual void write(std::string& out, std::uint64_t stream_position, std::int64_t now) = 0;

    /// Returns whether replies are outstanding.
    [[nodiscard]] virtual bool expects_reply() const noexcept = 0;
    /// If replies are outstanding, returns the time at which the oldest request was written.
    [[nodiscard]] virtual std::int64_t oldest_sent_at() const noexcept = 0;
    /// Reads the next reply. Returns nullopt if it is not a valid reply to the request: the
    /// connection cannot be used any more.
    [[nodiscard]] virtual std::optional<recovery> read_reply(const resp::decoder& reply,
                                                             std::string_view bytes) = 0;

    /// Reads a message that is not a reply.
    virtual void read_push(const resp::decoder& /*message*/, std::string_view /*bytes*/) {}

    /// Returns the earliest deadline; nullopt if there is none, as for requests that leave it to
    /// the connection to give up a server.
    [[nodiscard]] virtual std::optional<std::int64_t> next_deadline() const noexcept {
        return std::nullopt;
    }
    /// Ends the calls whose deadline is at or before `now`: with `unsent` if they were not encoded,
    /// and as `errc::outcome_unknown` if they may have been sent. Returns whether there were any.
    virtual bool expire(std::int64_t /*now*/, errc /*unsent*/) { return false; }
    /// Ends only those of them that are not in flight, with `errc::deadline_exceeded` if they were
    /// never sent: so a call whose deadline has passed is not sent. Returns whether there were any.
    virtual bool expire_unsent(std::int64_t /*now*/) { return false; }
    /// Returns whether the reply that was read last has ended calls: they were still waiting for
    /// it, so it came in time.
    [[nodiscard]] virtual bool has_ended() const noexcept = 0;

  protected:
    void report(const error_report& what) noexcept {
        if (errors_ != nullptr)
            errors_->note(what);
    }
    error_sink* errors_ = nullptr;
};

} // namespace colimit::redis
