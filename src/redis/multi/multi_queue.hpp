// SPDX-License-Identifier: BSL-1.0
//
// The queue of calls to a server without scripts, the counterpart of the script queue: in which
// write a call is sent, and how it ends. A state machine: no sockets, and the clock is a parameter.
//
//   submit ->  waiting batches  -> write ->  batches in flight  -> read_reply -> done
//                                 ^                               |
//                                 '--- cleanup: ZREM and such ----'
//
// The events of a denied call are removed in the next write, which does not wait for the calls in
// the queue.

#pragma once

#include <redis/multi/multi_batch.hpp>
#include <redis/queue/batch_queue.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace colimit::redis {

class multi_queue final : public batch_queue<multi_queue, multi_batch> {
  public:
    explicit multi_queue(queue_settings settings);

    [[nodiscard]] error_code submit(detail::operation& op, std::string_view key,
                                    const policy_pointer& policy) override;
    /// Returns an error: checks on several keys cannot be made together here.
    [[nodiscard]] error_code submit_checks(detail::operation& op) override;

    void begin_connection(const server_facts& server) override;
    [[nodiscard]] bool wants_to_write() const noexcept override;
    void write(std::string& out, std::uint64_t stream_position, std::int64_t now) override;
    void lose_connection(std::uint64_t sent) override;

  private:
    friend batch_queue;

    [[nodiscard]] std::optional<recovery>
    read_reply_of(multi_batch& head, const resp::decoder& reply, std::string_view bytes);
    void retire(batches& from, batches::iterator which);
    [[nodiscard]] bool may_clean_up() const noexcept;
    void make_room(std::string& out) const noexcept;
    void write_cleanup(std::string& out, std::uint64_t stream_position);

    multi_context context_;
    /// Batches of cleanup commands are separate, or memory for calls would grow in all of them.
    batches spare_cleanups_;
    std::size_t cleanups_in_flight_ = 0;
};

} // namespace colimit::redis
