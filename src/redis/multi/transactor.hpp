// SPDX-License-Identifier: BSL-1.0
//
// The queue of calls to a server without scripts, the counterpart of the batcher: in which write a
// call is sent, and how it ends. A state machine: no sockets, and the clock is a parameter.
//
//   submit ->  waiting batches  -> write ->  batches in flight  -> read_reply -> done
//                                 ^                               |
//                                 '--- repairs: ZREM and such ----'
//
// The events of a denied call are removed in the next write, which does not wait for the calls in
// the queue.

#ifndef COLIMIT_REDIS_MULTI_TRANSACTOR_HPP
#define COLIMIT_REDIS_MULTI_TRANSACTOR_HPP

#include <redis/multi/transaction.hpp>
#include <redis/queue/call_queue.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <string_view>

namespace colimit::redis {

struct transactor_settings {
    std::string prefix;
    std::size_t batch_size = 96;
    std::size_t batches_in_flight = 6;
    std::size_t max_in_flight = 65'536;
    std::int64_t minimum_ttl_ms = 0;
    /// Microseconds for which calls may be in flight and still be counted correctly: events are
    /// kept that much longer than they count.
    std::int64_t grace = 0;
    std::uint64_t first_nonce = 1;
    /// This process's steady clock, in microseconds.
    std::function<std::int64_t()> clock;
};

class transactor final : public call_queue {
  public:
    explicit transactor(transactor_settings settings);

    [[nodiscard]] error_code submit(detail::operation& op, std::string_view key,
                                    const policy_pointer& policy) override;
    /// Returns an error: checks on several keys cannot be made together here.
    [[nodiscard]] error_code submit_checks(detail::operation& op) override;

    void begin_connection(const server_facts& server) override;
    [[nodiscard]] bool wants_to_write() const noexcept override;
    [[nodiscard]] bool is_full() const noexcept override;
    [[nodiscard]] bool has_backlog() const noexcept override { return waiting_.size() > 1; }
    void write(std::string& out, std::uint64_t stream_position, std::int64_t now) override;
    [[nodiscard]] bool expects_reply() const noexcept override { return !in_flight_.empty(); }
    [[nodiscard]] std::int64_t oldest_sent_at() const noexcept override {
        return in_flight_.front().sent_at;
    }
    [[nodiscard]] std::optional<recovery> read_reply(const resp::decoder& reply,
                                                     std::string_view bytes) override;
    void lose_connection(std::uint64_t sent) override;
    void fail_all(error_code why) override;

    [[nodiscard]] std::size_t size() const noexcept { return calls_; }

  private:
    /// Batches move between these lists as list nodes, so that nothing is allocated in the steady
    /// state.
    using batches = std::list<transaction>;

    void drop_abandoned() override;
    [[nodiscard]] transaction& row_for_call();
    [[nodiscard]] batches take_spare(batches& from);
    [[nodiscard]] bool may_repair() const noexcept;
    void write_repairs(std::string& out, std::uint64_t stream_position);
    void retire(batches& from, batches::iterator which);
    void retire(batches& from);

    transactor_settings settings_;
    transaction_context context_;
    batches waiting_;
    batches in_flight_;
    batches spare_;
    batches spare_without_calls_;
    std::size_t flying_ = 0; ///< batches in flight that have calls
    std::size_t calls_ = 0;  ///< in all batches, including withdrawn ones
    std::uint64_t nonce_;
};

} // namespace colimit::redis

#endif
