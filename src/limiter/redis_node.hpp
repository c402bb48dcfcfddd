// SPDX-License-Identifier: BSL-1.0
//
// One server to which a limiter sends calls: their queue, and the connection on which they are
// sent.
//
// Calls made in one event-loop iteration are sent in one write. Only a full batch is sent at once,
// so that the server works on it while the callers fill the next one; otherwise all callers would
// wait for the server, and then the server for all of them.

#pragma once

#include <async/handler_memory.hpp>
#include <async/tick_watch.hpp>
#include <limiter/redis_settings.hpp>
#include <redis/connection/connection.hpp>
#include <redis/protocol/error_sink.hpp>
#include <redis/queue/call_queue.hpp>

#include <boost/core/noncopyable.hpp>

#include <cstdint>
#include <memory>
#include <string_view>

namespace colimit::detail {

class limiter_core;
class redis_node; // NOLINT(cppcoreguidelines-virtual-class-destructor): it is final

/// The user of nodes.
class node_owner : boost::noncopyable {
  public:
    virtual void on_ready(redis_node& node) = 0;
    /// Called when a connection was lost or not made.
    virtual void on_lost(redis_node& node, bool was_ready) = 0;
    /// Called when the server has decided calls whose callers were still waiting.
    virtual void on_decision(std::int64_t now) noexcept = 0;
    /// Called before a connection waits: its state may have changed.
    virtual void on_wait(const redis_node& node) noexcept = 0;
    /// Returns when `on_wait` has to be called even if nothing else happens.
    [[nodiscard]] virtual std::int64_t next_event() const noexcept = 0;

  protected:
    ~node_owner() = default;
};

struct node_settings {
    redis::connection_settings connection;
    std::unique_ptr<redis::call_queue> calls;
};

class redis_node final : private redis::connection_owner {
  public:
    /// All references outlive the node.
    /// @param now gets each reading of the clock
    redis_node(limiter_core& core, node_settings settings, redis::error_sink& problems,
               node_owner& owner, std::int64_t& now);

    [[nodiscard]] redis::connection& connection() noexcept { return connection_; }
    [[nodiscard]] const redis::connection& connection() const noexcept { return connection_; }
    /// Returns the state of the connection; `degraded` also if the server refuses to write.
    [[nodiscard]] health_state state() const noexcept;
    [[nodiscard]] redis::call_queue& calls() noexcept { return *calls_; }
    [[nodiscard]] const redis::call_queue& calls() const noexcept { return *calls_; }

    /// Takes a call, or returns the error with which it ends.
    [[nodiscard]] error_code submit(operation& op, std::string_view key,
                                    const policy_pointer* policy);
    /// Completes the calls that have ended.
    void complete_ended() noexcept;
    /// Sends what may be sent in the next iteration of the event loop.
    void schedule_flush() noexcept;
    /// Ends all calls and the connection. `now` is that of `connection::close`.
    void shutdown(error_code why, bool now) noexcept;

  private:
    [[nodiscard]] std::shared_ptr<void> keep_alive() override;
    void on_ready() override;
    void on_lost(bool was_ready) override;
    void on_answer() noexcept override;
    void on_ended() override;
    void on_expired() noexcept override { complete_ended(); }
    void on_wait() noexcept override { owner_.on_wait(*this); }
    [[nodiscard]] std::int64_t next_event() const noexcept override { return owner_.next_event(); }
    void flush();

    limiter_core& core_;
    node_owner& owner_;
    std::int64_t& now_;
    std::unique_ptr<redis::call_queue> calls_;
    std::int64_t timeout_;
    redis::connection connection_;

    handler_memory flush_memory_;
    bool refuses_writes_ = false; ///< according to the last reply to a call that had to write
    bool is_flush_scheduled_ = false;
    bool is_clock_read_ = false; ///< in this iteration
    tick_watch ticks_;
};

} // namespace colimit::detail
