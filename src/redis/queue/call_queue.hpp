// SPDX-License-Identifier: BSL-1.0
//
// The queue between calls and the bytes of a connection, as the limiter uses it. There are two: the
// script queue, and the multi queue for servers without scripts. This part is common to them:
// callers, their deadlines and how they end.

#pragma once

#include <async/operation_list.hpp>
#include <colimit/detail/operation.hpp>
#include <colimit/error.hpp>
#include <policy/policy_data.hpp>
#include <redis/connection/requests.hpp>
#include <redis/queue/call_batch.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace colimit::redis {

/// Counters of what was sent, as `colimit::statistics` documents.
struct batch_counters {
    std::uint64_t batches = 0;
    std::uint64_t calls = 0;
    std::uint64_t keys = 0;
    std::uint64_t largest = 0;
    std::uint64_t merged = 0;
    std::uint64_t script_loads = 0;
    std::uint64_t scripts_loaded = 0; ///< of these, the ones that the server has loaded
    std::uint64_t module_calls = 0;   ///< of `calls`, those that were sent to the server module

    void add(std::uint64_t more_keys, std::uint64_t more_calls) noexcept {
        ++batches;
        calls += more_calls;
        keys += more_keys;
        largest = std::max(largest, more_keys);
    }
};

class call_queue : public requests {
  public:
    /// Takes a call until it is returned in `done`. Calls are submitted in the order of their
    /// deadlines. If it returns an error, the call was not taken.
    [[nodiscard]] virtual error_code submit(detail::operation& op, std::string_view key,
                                            const policy_pointer& policy) = 0;

    /// Takes `op.checks`, all or none; returns `errc::invalid_argument` if two of them have the
    /// same key and policy, or there are too many.
    [[nodiscard]] virtual error_code submit_checks(detail::operation& op) = 0;

    /// Returns a call in `done` with this code. If it was encoded already it may have been charged,
    /// and its reply will be read and ignored.
    void withdraw(detail::operation& op, error_code why);

    /// Returns whether the bytes of a call that was taken may have been sent.
    [[nodiscard]] static bool is_sent(const detail::operation& op) noexcept {
        return op.batch->encoded || op.may_be_executed;
    }

    /// Replaces an operation by another one, which gets its result and deadline.
    void substitute(detail::operation& op, detail::operation& by) noexcept;

    bool expire(std::int64_t now, errc unsent) final { return expire_calls(now, unsent, true); }
    bool expire_unsent(std::int64_t now) final {
        return expire_calls(now, errc::deadline_exceeded, false);
    }
    [[nodiscard]] std::optional<std::int64_t> next_deadline() const noexcept final;
    [[nodiscard]] bool has_ended() const noexcept final { return has_answered_; }

    /// Returns whether a batch has become full since the last `write`, so that waiting longer gains
    /// nothing.
    [[nodiscard]] bool is_full() const noexcept { return is_full_; }
    /// Returns whether the server module executes calls that are sent now.
    [[nodiscard]] virtual bool uses_module() const noexcept { return false; }
    /// Ends the calls that were not sent, except those that give slots back.
    void end_unsent(error_code why);
    /// Ends all calls.
    virtual void fail_all(error_code why) = 0;

    batch_counters counted;

    /// Calls that have ended, with `ec` or `result` set.
    detail::operation_list done;

  protected:
    void finish(detail::operation& op);
    void finish(detail::operation& op, error_code why);
    /// Ends a call some of whose bytes were sent when the connection was lost.
    void finish_lost(detail::operation& op);

    /// Moves the calls whose batches have moved to another queue, and are still held here.
    void move_deadlines(call_queue& to) noexcept;

    /// Removes waiting batches without callers, which would accumulate while no replies come.
    virtual void drop_abandoned() = 0;

    void report_permitted(const detail::policy_data& p) noexcept {
        if (errors_ != nullptr)
            errors_->note_permitted(p.fingerprint);
    }

    detail::operation_list by_deadline_;
    bool is_full_ = false;      ///< any waiting batch
    bool has_answered_ = false; ///< with the reply that was read last
    std::size_t abandoned_ = 0; ///< upper bound of abandoned batches that wait, except at the front

  private:
    bool expire_calls(std::int64_t now, errc unsent, bool also_sent);
};

} // namespace colimit::redis
