// SPDX-License-Identifier: BSL-1.0
//
// Finds the master: a connection to each Sentinel, on which it is asked at the beginning, when a
// failover is published, once per second, and when the connection to the master is lost.
//
// All functions are called with the limiter's lock held, including those of the owner.

#pragma once

#include <colimit/error.hpp>
#include <redis/connection/connection.hpp>
#include <redis/sentinel/master_view.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace colimit::redis {

class finder_owner : boost::noncopyable {
  public:
    /// Called when the Sentinels name another master than before, or the first one.
    virtual void on_master(const host_port& master) = 0;
    /// Called when no master is known and most Sentinels refuse this client, are no Sentinels, or
    /// know no master with the name, until something changes: with the error that calls end with;
    /// and with `errc::unavailable` when that is over.
    virtual void on_no_master(errc why) = 0;

  protected:
    ~finder_owner() = default;
};

class master_finder {
  public:
    /// @param settings of the connections; their address has the Sentinels and the master's name
    /// @param problems outlives the finder, as `owner` and `life` do
    /// @param life of what owns the finder, as for `connection`
    master_finder(const connection::executor& own, detail::thread_lock& lock,
                  const connection_settings& settings, error_sink& problems, finder_owner& owner,
                  const std::weak_ptr<void>& life);
    ~master_finder();
    master_finder(const master_finder&) = delete;
    master_finder& operator=(const master_finder&) = delete;

    void open();
    /// Ends everything that keeps the context running. `now` is that of `connection::close`.
    void close(bool now) noexcept;
    /// Asks every Sentinel that is connected.
    void ask();

  private:
    class link; // NOLINT(cppcoreguidelines-virtual-class-destructor): it is final

    void note_statement(std::size_t sentinel, const master_statement& what, std::int64_t now);
    void lose(std::size_t sentinel);
    void update_error();
    [[nodiscard]] errc error() const noexcept;

    finder_owner& owner_;
    const std::weak_ptr<void>& life_;
    detail::logger log_;
    master_view view_;
    std::optional<host_port> announced_; ///< the master that the owner knows
    errc error_ = errc::unavailable;     ///< that the owner knows
    std::vector<std::unique_ptr<link>> links_;
};

} // namespace colimit::redis
