// SPDX-License-Identifier: BSL-1.0
//
// What lies between calls and the bytes of a connection, as the engine sees it: two kinds of it ask
// a server in two ways, the batcher by a script and the transactor by MULTI. Here is what they
// share: who waits, until when, and what has come to its end.

#ifndef COLIMIT_REDIS_QUEUE_CALL_QUEUE_HPP
#define COLIMIT_REDIS_QUEUE_CALL_QUEUE_HPP

#include <async/operation_list.hpp>
#include <colimit/detail/operation.hpp>
#include <colimit/error.hpp>
#include <policy/policy_data.hpp>
#include <redis/protocol/error_sink.hpp>
#include <redis/protocol/reply_error.hpp>
#include <redis/protocol/resp.hpp>
#include <redis/protocol/server_facts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace colimit::redis {

using detail::policy_pointer;

/// What was sent, as `colimit::statistics` explains.
struct batch_counters {
    std::uint64_t batches = 0;
    std::uint64_t calls = 0;
    std::uint64_t keys = 0;
    std::uint64_t largest = 0;
    std::uint64_t merged = 0;
    std::uint64_t script_loads = 0;
    std::uint64_t scripts_loaded = 0; ///< of these, the ones that the server has taken

    void add(std::uint64_t more_keys, std::uint64_t more_calls) noexcept {
        ++batches;
        calls += more_calls;
        keys += more_keys;
        largest = std::max(largest, more_keys);
    }
};

class call_queue {
  public:
    call_queue() = default;
    call_queue(const call_queue&) = delete;
    call_queue& operator=(const call_queue&) = delete;
    virtual ~call_queue() = default;

    /// Takes a call, until it comes back in `done`. Calls are submitted in the order of their
    /// deadlines. An error means that it was not taken.
    [[nodiscard]] virtual error_code submit(detail::operation& op, std::string_view key,
                                            const policy_pointer& policy) = 0;

    /// The same for `op.checks`, all or nothing; `errc::invalid_argument` where two of them ask for
    /// one key under one policy, or there are too many.
    [[nodiscard]] virtual error_code submit_checks(detail::operation& op) = 0;

    /// A caller gives up: the call comes back in `done` at once with this code. Where it was
    /// encoded already it may have been charged, and its reply will be read and dropped.
    virtual void withdraw(detail::operation& op, error_code why) = 0;

    /// Whether the bytes of a call that was taken may have left.
    [[nodiscard]] virtual bool is_sent(const detail::operation& op) const noexcept = 0;

    /// Another operation gets the answer, and the deadline, instead.
    virtual void substitute(detail::operation& op, detail::operation& by) noexcept = 0;

    /// Ends the calls whose deadline is at or before `now`: with `unsent` where they were not
    /// encoded, and as `errc::outcome_unknown` where their bytes may have left.
    void expire(std::int64_t now, errc unsent);

    /// Ends with `errc::deadline_exceeded` only those of them that were not encoded, so that a call
    /// whose deadline has passed is never sent. Returns whether there were any.
    bool expire_unsent(std::int64_t now);

    /// The deadline that passes next.
    [[nodiscard]] std::optional<std::int64_t> next_deadline() const noexcept;

    /// A connection begins, and this is what its greeting found out.
    virtual void begin_connection(const server_facts& /*server*/) {}

    [[nodiscard]] virtual bool wants_to_write() const noexcept = 0;
    /// Something has come to take no more calls since the last `write`: nothing is gained by
    /// waiting longer.
    [[nodiscard]] virtual bool is_full() const noexcept = 0;
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
    /// Takes the next reply of the connection. Nothing when it is not one that can stand here: the
    /// connection cannot be trusted any more.
    [[nodiscard]] virtual std::optional<remedy> read_reply(const resp::decoder& reply,
                                                           std::string_view bytes) = 0;

    /// The connection is gone after `sent` bytes: what had not begun to leave waits for the next
    /// connection, what had ends as `errc::outcome_unknown`, or as `errc::unavailable` where it
    /// only asked.
    virtual void lose_connection(std::uint64_t sent) = 0;

    /// Ends everything.
    virtual void fail_all(error_code why) = 0;

    /// Where error replies are reported. The sink outlives the queue.
    void report_to(error_sink& to) noexcept { errors_ = &to; }

    batch_counters counted;

    /// Calls that have come to their end, with `ec` or `result` set.
    detail::operation_list done;

  protected:
    void finish(detail::operation& op);
    void finish(detail::operation& op, error_code why);
    /// The connection was lost when part of the call's bytes had left.
    void finish_lost(detail::operation& op);

    /// Forgets what waits and nobody waits for any more, or a server that does not answer would let
    /// it pile up.
    virtual void drop_abandoned() = 0;

    /// Retires the abandoned ones of what waits: those at the front, and the others as soon as
    /// enough calls have been withdrawn from it that looking at each of them pays. `retire(place)`
    /// removes the one at `place`.
    template<class List, class Retire>
    void retire_abandoned(List& waiting, Retire retire) {
        constexpr std::size_t looks_per_withdrawal = 16;
        while (!waiting.empty() && waiting.front().is_abandoned())
            retire(waiting.begin());
        if (abandoned_ * looks_per_withdrawal < waiting.size())
            return;
        abandoned_ = 0;
        for (auto next = waiting.begin(); next != waiting.end();)
            if (const auto place = next++; place->is_abandoned())
                retire(place);
    }
    /// The last caller of something that waits has gone.
    void note_abandoned() noexcept { ++abandoned_; }

    void note(const error_report& what) noexcept {
        if (errors_ != nullptr)
            errors_->note(what);
    }
    void note_permitted(const detail::policy_data& p) noexcept {
        if (errors_ != nullptr)
            errors_->note_permitted(p.fingerprint);
    }

    detail::operation_list by_deadline_;

  private:
    std::size_t abandoned_ = 0; ///< at most so many of what waits, behind the front
    error_sink* errors_ = nullptr;
};

} // namespace colimit::redis

#endif
