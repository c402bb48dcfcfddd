// SPDX-License-Identifier: BSL-1.0
//
// Redis or Valkey behind a limiter: what is the same for one server, for the master that Sentinels
// name, and for the nodes of a cluster. Each call goes to one node, which a derived class chooses.

#pragma once

#include <async/operation_list.hpp>
#include <colimit/config.hpp>
#include <limiter/backend.hpp>
#include <limiter/redis_node.hpp>
#include <limiter/redis_reports.hpp>
#include <redis/cluster/retry_pauses.hpp>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace colimit::detail {

class limiter_core;

class redis_backend : public backend, protected node_owner {
  public:
    void cancel(operation& op, error_code why) final;
    [[nodiscard]] bool is_sent(const operation& op) const noexcept final {
        return op.kind != call_kind::ready && redis::call_queue::is_sent(op);
    }
    void shutdown(error_code why) noexcept final;
    void on_fallback(const operation& op, error_code why) noexcept final;
    [[nodiscard]] std::int64_t now() const noexcept final { return now_; }
    void add_statistics(colimit::statistics& to) const final;
    [[nodiscard]] std::optional<problem> last_problem() const final { return reports_.last(); }

  protected:
    redis_backend(limiter_core& core, const config& settings, std::string password);

    /// Returns whether `ready` completes.
    [[nodiscard]] virtual bool is_ready() = 0;
    /// Returns why no call can be decided until the configuration changes, if that is so.
    [[nodiscard]] virtual std::optional<errc> refusal() const noexcept = 0;
    /// Ends everything else that keeps the context running. `now` is that of `connection::close`.
    virtual void close(bool /*now*/) noexcept {}
    /// Returns what is known of batches that are rejected; null if no node rejects any.
    [[nodiscard]] virtual const redis::retry_pauses* retries() const noexcept { return nullptr; }
    /// Called when a connection was lost or not made.
    virtual void on_loss(const redis_node& node) = 0;
    /// Called often while the breaker of a node is open.
    virtual void on_open_breaker(const redis_node& /*node*/) noexcept {}

    redis_node& add_node(node_settings settings, redis::error_sink& problems) {
        return nodes_.emplace_back(core_, std::move(settings), problems,
                                   static_cast<node_owner&>(*this), now_);
    }
    /// Starts a call of `ready`.
    void start_ready(operation& op);
    /// Starts any other call.
    void start_on(redis_node& node, operation& op, std::string_view key,
                  const policy_pointer* policy);
    /// Ends the calls of `ready` if they can be ended.
    void update_ready() noexcept;

    [[nodiscard]] limiter_core& core() const noexcept { return core_; }
    [[nodiscard]] redis_reports& reports() noexcept { return reports_; }

    std::deque<redis_node> nodes_; ///< at least one

  private:
    void on_ready(redis_node& node) final;
    void on_lost(redis_node& node, bool was_ready) final;
    void on_decision(std::int64_t now) noexcept final { reports_.on_decision(now); }
    void on_wait(const redis_node& node) noexcept final;
    [[nodiscard]] std::int64_t next_event() const noexcept final { return reports_.next_event(); }

    void end_ready(error_code ec) noexcept;
    [[nodiscard]] bool leave_reservation_behind(operation& op) noexcept;

    limiter_core& core_;
    redis_reports reports_;
    std::int64_t timeout_;
    std::int64_t now_ = 0; ///< the latest reading of the clock of any node
    operation_list waiting_for_ready_;
};

} // namespace colimit::detail
