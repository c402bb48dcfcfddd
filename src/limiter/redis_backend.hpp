// SPDX-License-Identifier: BSL-1.0
//
// One Redis or Valkey server behind a limiter: a queue of calls, the connection on which they are
// sent, and the reports about both. With Sentinel, the server is the master that it names.
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
#include <redis/connection/connection.hpp>
#include <redis/queue/call_queue.hpp>
#include <redis/sentinel/master_finder.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

namespace colimit::detail {

class limiter_core;

class redis_backend final : public backend,
                            private redis::connection_owner,
                            private redis::finder_owner {
  public:
    redis_backend(limiter_core& core, const config& settings, const redis::address& where);

    void open() override { finder_ ? finder_->open() : connection_.open(); }
    void start(operation& op, std::string_view key, const policy_pointer* policy) override;
    void cancel(operation& op, error_code why) override;
    [[nodiscard]] bool is_sent(const operation& op) const noexcept override {
        return op.kind != call_kind::ready && redis::call_queue::is_sent(op);
    }
    void shutdown(error_code why) noexcept override;
    void on_fallback(const operation& op, error_code why) noexcept override;
    [[nodiscard]] std::int64_t now() const noexcept override { return connection_.now(); }
    void add_statistics(colimit::statistics& to) const override;
    [[nodiscard]] std::optional<problem> last_problem() const override { return reports_.last(); }
    [[nodiscard]] health_state state() const noexcept override { return connection_.state(); }

  private:
    redis_backend(limiter_core& core, const config& settings, const redis::address& where,
                  const shared_tls& tls);
    [[nodiscard]] std::shared_ptr<void> keep_alive() override;
    void on_ready() override;
    void on_lost(bool was_ready) override;
    void on_answer() noexcept override;
    void on_ended() override;
    void on_expired() noexcept override { complete_ended(); }
    void on_wait() noexcept override;
    void on_master(const redis::host_port& master) override {
        connection_.move_to(where_.at(master));
    }
    void on_no_master(errc why) override { connection_.await_address(why); }
    [[nodiscard]] std::int64_t next_event() const noexcept override {
        return reports_.next_event();
    }

    [[nodiscard]] std::unique_ptr<redis::master_finder> make_finder(const config& settings,
                                                                    const shared_tls& tls);
    [[nodiscard]] error_code submit(operation& op, std::string_view key,
                                    const policy_pointer* policy);
    void start_ready(operation& op);
    void end_ready(error_code ec) noexcept;
    [[nodiscard]] bool leave_reservation_behind(operation& op) noexcept;
    void complete_ended() noexcept;
    void schedule_flush() noexcept;
    void flush();

    limiter_core& core_;
    redis::address where_;
    redis_reports reports_;
    std::unique_ptr<redis::call_queue> calls_;
    redis::connection connection_;
    std::deque<problem_source> sentinels_;         ///< their names, and their problems
    std::unique_ptr<redis::master_finder> finder_; ///< null without Sentinel
    std::int64_t timeout_;

    handler_memory flush_memory_;
    bool is_flush_scheduled_ = false;
    bool is_clock_read_ = false; ///< in this iteration
    tick_watch ticks_;

    operation_list waiting_for_ready_;
};

} // namespace colimit::detail
