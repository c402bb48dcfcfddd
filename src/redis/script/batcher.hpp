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

#ifndef COLIMIT_REDIS_SCRIPT_BATCHER_HPP
#define COLIMIT_REDIS_SCRIPT_BATCHER_HPP

#include <colimit/detail/operation.hpp>
#include <colimit/error.hpp>
#include <redis/protocol/key.hpp>
#include <redis/protocol/reply_error.hpp>
#include <redis/protocol/resp.hpp>
#include <redis/queue/call_queue.hpp>
#include <redis/script/batch.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>

namespace colimit::redis {

struct batcher_settings {
    std::string prefix;
    std::size_t batch_size = 96;
    std::size_t batches_in_flight = 6;
    std::size_t max_in_flight = 65'536;
    std::int64_t minimum_ttl_ms = 0;
    std::uint64_t first_nonce = 1;
};

class batcher final : public call_queue {
  public:
    explicit batcher(batcher_settings settings);

    [[nodiscard]] error_code submit(detail::operation& op, std::string_view key,
                                    const policy_pointer& policy) override;
    [[nodiscard]] error_code submit_checks(detail::operation& op) override;

    void begin_connection(const server_facts& server) override;
    [[nodiscard]] bool wants_to_write() const noexcept override;
    [[nodiscard]] bool is_full() const noexcept override { return is_full_; }
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

    /// Ends the calls that wait and were not sent.
    void fail_waiting(error_code why);

    [[nodiscard]] std::size_t size() const noexcept { return calls_; }

  private:
    /// Batches move between these lists as list nodes, so that nothing is allocated in the steady
    /// state.
    using batches = std::list<batch>;

    [[nodiscard]] batch& batch_for(const policy_pointer& policy, std::int64_t clock,
                                   std::string_view key);
    [[nodiscard]] batch* waiting_with(const policy_pointer& policy, std::int64_t clock,
                                      std::string_view key);
    [[nodiscard]] batch& open_batch(const policy_pointer& policy, std::int64_t clock,
                                    std::size_t group);
    void regroup();
    void regroup(batch& b);
    void close_to_calls(const batch& b);
    void count(const batch& b) noexcept;
    void retire(batches& from, batches::iterator which);
    void retire(batches& from);
    void end_batch(batch& b, error_code why);
    void end_lost_batch(batch& b);
    void drop_abandoned() override;
    [[nodiscard]] bool learn_of_cluster(std::string_view text);
    [[nodiscard]] recovery fail_head(const resp::decoder& reply, std::string_view bytes);

    batcher_settings settings_;
    std::string minimum_ttl_;
    batches waiting_;
    batches in_flight_;
    batches spare_;
    bool is_cluster_ = false; ///< a batch may only have keys of one group
    /// The newest waiting batch of a policy, and of a group, that takes keys.
    boost::unordered_flat_map<std::uint64_t, batch*> open_;
    bool is_full_ = false;  ///< any waiting batch
    std::size_t calls_ = 0; ///< in all batches, including withdrawn ones
    std::uint64_t nonce_;
};

} // namespace colimit::redis

#endif
