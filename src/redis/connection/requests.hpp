// SPDX-License-Identifier: BSL-1.0
//
// What is sent on a connection, as the connection sees it: bytes to write, replies that are owed,
// deadlines. What the requests are about is not its concern.

#ifndef COLIMIT_REDIS_CONNECTION_REQUESTS_HPP
#define COLIMIT_REDIS_CONNECTION_REQUESTS_HPP

#include <colimit/error.hpp>
#include <redis/protocol/reply_error.hpp>
#include <redis/protocol/resp.hpp>
#include <redis/protocol/server_facts.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace colimit::redis {

class requests {
  public:
    requests() = default;
    requests(const requests&) = delete;
    requests& operator=(const requests&) = delete;
    virtual ~requests() = default;

    /// A connection begins, and this is what its handshake found out.
    virtual void begin_connection(const server_facts& /*server*/) {}
    /// The connection is gone after `sent` bytes: what had not begun to leave waits for the next
    /// connection, what had ends as `errc::outcome_unknown`, or as `errc::unavailable` where it
    /// only asked.
    virtual void lose_connection(std::uint64_t sent) = 0;

    [[nodiscard]] virtual bool wants_to_write() const noexcept = 0;
    /// More waits than one batch: there is work for the server as soon as it has room for it.
    [[nodiscard]] virtual bool has_backlog() const noexcept = 0;
    /// Appends what may fly now; `stream_position` is that of the first byte appended, and `now`
    /// not later than it leaves. What it throws (bad_alloc) leaves calls that may be taken to have
    /// been sent only where lose_connection says so.
    virtual void write(std::string& out, std::uint64_t stream_position, std::int64_t now) = 0;

    /// Replies are owed.
    [[nodiscard]] virtual bool expects_reply() const noexcept = 0;
    /// If replies are owed, the time at which the oldest request among them was written.
    [[nodiscard]] virtual std::int64_t oldest_sent_at() const noexcept = 0;
    /// Takes the next reply. Returns nullopt if it is not one that can stand here: the connection
    /// cannot be trusted any more.
    [[nodiscard]] virtual std::optional<remedy> read_reply(const resp::decoder& reply,
                                                           std::string_view bytes) = 0;

    /// The deadline that passes next.
    [[nodiscard]] virtual std::optional<std::int64_t> next_deadline() const noexcept = 0;
    /// Ends the calls whose deadline is at or before `now`: with `unsent` where they were not
    /// encoded, and as `errc::outcome_unknown` where their bytes may have left. Returns whether
    /// there were any.
    virtual bool expire(std::int64_t now, errc unsent) = 0;
    /// Ends with `errc::deadline_exceeded` only those of them that were not encoded, so that a call
    /// whose deadline has passed is never sent. Returns whether there were any.
    virtual bool expire_unsent(std::int64_t now) = 0;
    /// Whether calls have come to their end that the owner of the connection has not taken yet.
    [[nodiscard]] virtual bool has_ended() const noexcept = 0;
};

} // namespace colimit::redis

#endif
