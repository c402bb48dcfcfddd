// SPDX-License-Identifier: BSL-1.0
//
// The queue of calls with scripts: which batch a call joins, which batches are in flight, and how
// each ends when a reply comes, the connection is lost, a deadline passes or a caller withdraws. A
// state machine: no sockets, no clock of its own.
//
//   submit ->  waiting batches  -> write ->  batches in flight  -> read_reply ->  done
//              (the newest of a policy           (first in,                       (a list of calls,
//               takes more keys, each of          first answered)                  to be completed)
//               them calls for its keys)
//
// While `batches_in_flight` batches are in flight, the next one fills: so the size of batches
// adapts to the load, and an idle limiter sends at once.
//
// A batch is sent in the form that its server takes when it is sent: as a command of the server
// module, or by the script's digest or function; and if the server has not executed it, as it lacks
// what that needs, again in another form.
//
// In a cluster each node has a queue, and batches move from one to another: those that wait, when
// their keys have moved; and those in flight, when a node replies that it does not serve them.

#pragma once

#include <redis/queue/batch_queue.hpp>
#include <redis/script/batch_router.hpp>
#include <redis/script/module_route.hpp>
#include <redis/script/script_batch.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace colimit::redis {

class script_queue final : public batch_queue<script_queue, script_batch> {
  public:
    explicit script_queue(queue_settings settings);

    [[nodiscard]] error_code submit(detail::operation& op, std::string_view key,
                                    const policy_pointer& policy) override;
    [[nodiscard]] error_code submit_checks(detail::operation& op) override;

    void begin_connection(const server_facts& server) override;
    [[nodiscard]] bool wants_to_write() const noexcept override { return may_send(); }
    [[nodiscard]] bool uses_module() const noexcept override { return module_.is_used(); }
    void write(std::string& out, std::uint64_t stream_position, std::int64_t now) override;
    void lose_connection(std::uint64_t sent) override;

    /// Lets this router, which outlives the queue, decide about batches that a node has rejected.
    void route_by(batch_router& router) noexcept { router_ = &router; }
    [[nodiscard]] bool has_waiting() const noexcept {
        return !waiting_.empty() || !parked_.empty();
    }
    /// Moves each batch that waits to the queue that `target(group, is_parked)` returns for it,
    /// which may be this one; if it returns null, its calls end as `errc::unavailable`.
    /// `move_deadlines` follows, to each of these queues.
    template<class Target>
    void hand_over(Target target) noexcept {
        for (auto* list : {&waiting_, &parked_})
            for (auto next = list->begin(); next != list->end();) {
                const auto b = next++;
                if (auto* to = target(b->group(), b->is_parked); to != this)
                    move_batch(*list, b, to);
            }
    }
    using batch_queue::move_deadlines;

  private:
    friend batch_queue;

    [[nodiscard]] std::optional<recovery>
    read_reply_of(script_batch& head, const resp::decoder& reply, std::string_view bytes);
    void close_to_calls(const script_batch& b);
    void move_batch(batches& list, batches::iterator b, script_queue* to) noexcept;
    [[nodiscard]] script_batch* waiting_with(const policy_pointer& policy, std::int64_t clock,
                                             std::string_view key, std::uint64_t hash);
    [[nodiscard]] script_batch& open_batch(const policy_pointer& policy, std::int64_t clock,
                                           std::size_t group, bool has_ids);
    void regroup();
    [[nodiscard]] bool try_divide_head(std::string_view text);
    [[nodiscard]] bool redirect_head(std::string_view error);
    void divide_head();
    void end_unserved(script_batch& b, errc why);
    [[nodiscard]] script_command form_of(const script_batch& b) const noexcept;
    [[nodiscard]] bool may_be_repeated(const script_batch& b, std::string_view error) const;
    void note_denied_asking(script_batch& b, std::string_view error);
    void read_reply_before(script_batch& b, const resp::decoder& reply, std::string_view bytes);
    [[nodiscard]] std::optional<recovery> leave_module(std::string_view error);
    [[nodiscard]] recovery fail_head(std::string_view text);

    std::string minimum_ttl_;
    std::string ttls_with_ids_;
    module_route module_;
    batch_router* router_ = nullptr; ///< null: not a node of a cluster that the limiter knows
    bool is_cluster_;                ///< a batch may only have keys of one group
    /// The newest waiting batch of a policy, and of a group, that takes keys.
    boost::unordered_flat_map<std::uint64_t, script_batch*> open_;
};

} // namespace colimit::redis
