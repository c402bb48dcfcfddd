// SPDX-License-Identifier: BSL-1.0
//
// Redis or Valkey behind a limiter: what is the same for one server, for the master that Sentinels
// name, and for the nodes of a cluster. Each call goes to one node, which a derived class chooses.
//
// Calls made in one event-loop iteration are sent in one write. Only a full batch is sent at once,
// so that the server works on it while the callers fill the next one; otherwise all callers would
// wait for the server, and then the server for all of them.

#pragma once

#include <async/handler_memory.hpp>
#include <async/operation_list.hpp>
#include <async/tick_watch.hpp>
#include <colimit/config.hpp>
#include <limiter/backend.hpp>
#include <limiter/redis_reports.hpp>
#include <limiter/redis_settings.hpp>
#include <redis/cluster/retry_pauses.hpp>
#include <redis/connection/connection.hpp>
#include <redis/queue/call_queue.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace colimit::detail {

class limiter_core;
class redis_backend;

struct node_settings {
    redis::connection_settings connection;
    std::unique_ptr<redis::call_queue> calls;
};

/// A server to which a limiter sends calls: their queue, and the connection on which they are sent.
struct redis_node final : redis::connection_user {
    redis_node(redis_backend& of, node_settings settings);
    void on_events() override;

    /// Returns the state of the connection; `degraded` also if the server refuses to write.
    [[nodiscard]] health_state state() const noexcept;

    redis_backend& backend;
    std::unique_ptr<redis::call_queue> calls;
    redis::connection connection;
    handler_memory flush_memory;
    tick_watch ticks;
    health_state known_state = health_state::connecting; ///< by the core
    bool refuses_writes = false; ///< according to the last reply to a call that had to write
    bool is_flush_scheduled = false;
    bool is_running_handlers = false; ///< after which is a flush
    bool is_clock_read = false;       ///< in this iteration
};

class redis_backend : public backend {
  public:
    void cancel(operation& op, error_code why) final;
    [[nodiscard]] bool is_sent(const operation& op) const noexcept final {
        return op.kind != call_kind::ready && redis::call_queue::is_sent(op);
    }
    void shutdown(error_code why) noexcept final;
    void on_fallback(const operation& op, error_code why) noexcept final;
    void add_statistics(colimit::statistics& to) const final;
    [[nodiscard]] std::optional<problem> last_problem() const final { return reports_.last(); }

  protected:
    redis_backend(limiter_core& core, const config& settings, std::string password);

    /// Connects to the servers that `ready` waits for. Returns whether it completes.
    [[nodiscard]] virtual bool try_ready() = 0;
    /// Returns why no call can be decided until the configuration changes, if that is so.
    [[nodiscard]] virtual std::optional<errc> refusal() const noexcept = 0;
    /// Ends everything else that keeps the context running. `now` is that of `connection::close`.
    virtual void close(bool /*now*/) noexcept {}
    /// Called when a connection was lost or not made.
    virtual void on_loss(const redis_node& node) = 0;
    /// Called often while the breaker of a node is open.
    virtual void on_open_breaker(const redis_node& /*node*/) noexcept {}

    redis_node& add_node(node_settings settings) {
        return nodes_.emplace_back(*this, std::move(settings));
    }
    /// Starts a call of `ready`.
    [[nodiscard]] stage_result start_ready(operation& op);
    /// Starts any other call.
    [[nodiscard]] stage_result submit(redis_node& to, operation& op, std::string_view key,
                                      const policy_pointer* policy);
    /// Ends the calls of `ready` if they can be ended.
    void update_ready() noexcept;
    /// Sends what may be sent in the next iteration of the event loop.
    void schedule_flush(redis_node& to) noexcept;
    /// Acts on what has happened on a connection. Called after its functions that may lose it, and
    /// when calls have ended; their handlers run later.
    void take_events(redis_node& of);

    [[nodiscard]] limiter_core& core() const noexcept { return core_; }
    [[nodiscard]] redis_reports& reports() noexcept { return reports_; }
    [[nodiscard]] const std::weak_ptr<void>& life() const noexcept { return life_; }

    std::deque<redis_node> nodes_; ///< at least one
    /// What is known of batches that are rejected; null if no node rejects any.
    const redis::retry_pauses* rejections_ = nullptr;

  private:
    friend redis_node;

    void flush(redis_node& to);
    void serve(redis_node& of);
    void run_ended(redis_node& of);
    void note_answers(redis_node& of) noexcept;
    void note_events(redis_node& of);
    void wait(redis_node& of) noexcept;
    void send_reports(std::int64_t now) noexcept;
    void end_ready(error_code ec) noexcept;
    [[nodiscard]] bool leave_reservation_behind(operation& op) noexcept;

    limiter_core& core_;
    const std::weak_ptr<void> life_; ///< of the core
    redis_reports reports_;
    std::int64_t timeout_;
    operation_list waiting_for_ready_;
};

} // namespace colimit::detail
