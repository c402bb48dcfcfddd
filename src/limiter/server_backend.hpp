// SPDX-License-Identifier: BSL-1.0
//
// One Redis or Valkey server behind a limiter. With Sentinel, it is the master that Sentinels name.

#pragma once

#include <limiter/redis_backend.hpp>
#include <redis/sentinel/master_finder.hpp>

#include <optional>
#include <string_view>

namespace colimit::detail {

class server_backend final : public redis_backend, private redis::finder_owner {
  public:
    server_backend(limiter_core& core, const config& settings, const redis::address& where);

    void open() override { finder_ ? finder_->open() : connection().open(); }
    [[nodiscard]] stage_result start(operation& op, std::string_view key,
                                     const policy_pointer* policy) override {
        return op.kind == call_kind::ready ? start_ready(op)
                                           : submit(nodes_.front(), op, key, policy);
    }
    [[nodiscard]] health_state state() const noexcept override { return nodes_.front().state(); }

  private:
    [[nodiscard]] bool try_ready() override { return connection().is_ready(); }
    [[nodiscard]] std::optional<errc> refusal() const noexcept override;
    void close(bool now) noexcept override;
    void on_loss(const redis_node& node) override;

    void on_master(const redis::host_port& master) override {
        connection().move_to(where_.at(master));
        take_events(nodes_.front());
    }
    void on_no_master(errc why) override {
        connection().await_address(why);
        take_events(nodes_.front());
    }

    [[nodiscard]] redis::connection& connection() noexcept { return nodes_.front().connection; }

    redis::address where_;
    std::optional<redis::master_finder> finder_; ///< nullopt without Sentinel
};

} // namespace colimit::detail
