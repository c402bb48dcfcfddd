// SPDX-License-Identifier: BSL-1.0
//
// Keeps the map of a cluster up to date: asks the nodes for it, one after the other, whenever
// `map_refresh` says so, each on a connection of its own that ends with the answer.
//
// All functions are called with the limiter's lock held, including those of the owner.

#pragma once

#include <async/deadline_timer.hpp>
#include <base/thread_lock.hpp>
#include <colimit/error.hpp>
#include <redis/cluster/map_refresh.hpp>
#include <redis/cluster/map_requests.hpp>
#include <redis/connection/connection.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

namespace colimit::redis {

class map_owner : boost::noncopyable {
  public:
    /// Called when a node has sent a map that was taken, also if it is the same as before: calls
    /// that it leads nowhere may request the next one.
    virtual void on_map() = 0;
    /// Called when a node was asked in vain while no map is known: with the error that calls end
    /// with, if it refuses this client or is not in a cluster, or with `errc::unavailable`.
    virtual void on_no_map(errc why) = 0;

  protected:
    ~map_owner() = default;
};

struct map_finder_settings {
    map_refresh_settings refresh;
    connection_settings connection; ///< its address has the nodes that are asked first
    /// Returns whether connections to a node are allowed.
    std::function<bool(const host_port&)> may_connect;
};

class map_finder final : private connection_user {
  public:
    /// @param problems outlives the finder, as `owner` and `life` do
    /// @param life of what owns the finder, as for `connection`
    map_finder(const connection::executor& own, detail::thread_lock& lock,
               map_finder_settings settings, error_sink& problems, map_owner& owner,
               const std::weak_ptr<void>& life);

    /// Lets the executor ask the first node, at once.
    void open() { wait(); }
    /// Ends everything that keeps the context running. `now` is that of `connection::close`.
    void close(bool now) noexcept;

    [[nodiscard]] const slot_map& map() const noexcept { return refresh_.map(); }
    [[nodiscard]] bool has_map() const noexcept { return refresh_.has_map(); }

    /// Called when the map may be out of date.
    void request() noexcept;
    /// Returns whether a node may be connected to. If not, reports that, and requests a map:
    /// another node may serve its slots by now.
    [[nodiscard]] bool admit(const host_port& node);
    /// Called when a node replied MOVED: `owner.on_map` is not called. Returns whether the map has
    /// changed.
    bool apply_moved(std::uint16_t slot, const host_port& to);

  private:
    void on_events() override;
    void fail_query();
    void on_time();
    void wake();
    void ask(const map_refresh::query& query);
    void wait() noexcept;
    void end_query();
    void give_up();
    void take(map_requests::answer answer);
    void notify_owner(errc why);

    detail::thread_lock& lock_;
    error_sink& problems_;
    map_owner& owner_;
    const std::weak_ptr<void>& life_;
    detail::logger log_;
    address where_; ///< of any node
    std::function<bool(const host_port&)> may_connect_;
    map_refresh refresh_;
    map_requests requests_;
    connection connection_;
    std::uint64_t query_ = 0; ///< in progress, or 0
    bool is_closed_ = false;
    detail::deadline_timer timer_;
};

} // namespace colimit::redis
