// SPDX-License-Identifier: BSL-1.0
//
// What lies between calls and the bytes of a connection, as the limiter sees it. Two kinds of it
// ask a server: the batcher by a script and the transactor with MULTI. This part is what they
// share: callers, their deadlines and how they come to their end.

#ifndef COLIMIT_REDIS_QUEUE_CALL_QUEUE_HPP
#define COLIMIT_REDIS_QUEUE_CALL_QUEUE_HPP

#include <async/operation_list.hpp>
#include <colimit/detail/operation.hpp>
#include <colimit/error.hpp>
#include <policy/policy_data.hpp>
#include <redis/connection/requests.hpp>
#include <redis/protocol/error_sink.hpp>
#include <redis/queue/call_batch.hpp>

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

class call_queue : public requests {
  public:
    /// Takes a call, until it comes back in `done`. Calls are submitted in the order of their
    /// deadlines. An error means that it was not taken.
    [[nodiscard]] virtual error_code submit(detail::operation& op, std::string_view key,
                                            const policy_pointer& policy) = 0;

    /// The same for `op.checks`, all or nothing; `errc::invalid_argument` where two of them ask for
    /// one key under one policy, or there are too many.
    [[nodiscard]] virtual error_code submit_checks(detail::operation& op) = 0;

    /// A caller gives up: the call comes back in `done` at once with this code. Where it was
    /// encoded already it may have been charged, and its reply will be read and dropped.
    void withdraw(detail::operation& op, error_code why);

    /// Whether the bytes of a call that was taken may have left.
    [[nodiscard]] static bool is_sent(const detail::operation& op) noexcept {
        return op.batch->encoded;
    }

    /// Another operation gets the answer, and the deadline, instead.
    void substitute(detail::operation& op, detail::operation& by) noexcept;

    bool expire(std::int64_t now, errc unsent) final;
    bool expire_unsent(std::int64_t now) final;
    [[nodiscard]] std::optional<std::int64_t> next_deadline() const noexcept final;
    [[nodiscard]] bool has_ended() const noexcept final { return !done.empty(); }

    /// Something has come to take no more calls since the last `write`: nothing is gained by
    /// waiting longer.
    [[nodiscard]] virtual bool is_full() const noexcept = 0;
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
