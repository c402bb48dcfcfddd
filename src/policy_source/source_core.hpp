// SPDX-License-Identifier: BSL-1.0
//
// The implementation of a policy source: the document in force, the state, and the events. Where
// documents come from is an `origin`, which takes its turns on a strand.
//
// Two locks: `lock()` is held while an origin works, which may read and parse a document; another
// one, for the time of a few assignments, protects what callers of `current` and `status` read.
//
// A constructor cannot wait for a server, and a service without any policies would limit nothing.
// So a source has a document from its construction on, that of the copy or of the file, and
// `current` never returns null.

#pragma once

#include <base/thread_lock.hpp>
#include <colimit/error.hpp>
#include <colimit/policy_source.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/core/noncopyable.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace colimit::detail {

/// Where documents come from. All functions are called with the lock held.
class origin : boost::noncopyable {
  public:
    virtual ~origin() = default;
    virtual void open() = 0;
    virtual void reload() = 0;
    /// Ends everything that keeps the context running.
    virtual void close() noexcept = 0;
};

class source_core : public std::enable_shared_from_this<source_core> {
  public:
    source_core(boost::asio::any_io_executor executor, const policy_source_options& options);
    source_core(const source_core&) = delete;
    source_core& operator=(const source_core&) = delete;
    ~source_core() = default;

    /// Called before the following functions, once a shared_ptr owns the core.
    void open(std::unique_ptr<origin> from);
    void close() noexcept;
    void reload();
    [[nodiscard]] std::shared_ptr<const policy_document> current() const;
    [[nodiscard]] policy_status status() const;

    // For origins.

    [[nodiscard]] const boost::asio::any_io_executor& own_executor() const noexcept {
        return own_executor_;
    }
    [[nodiscard]] thread_lock& lock() noexcept { return lock_; }
    [[nodiscard]] bool is_closed() const noexcept { return is_closed_; }

    /// Puts a document in force, or does nothing without memory. The event has the remark, too.
    void take(policy_document fresh, std::string_view from, std::string_view remark = {});
    /// Reports a problem, unless it is the one that was reported last.
    void report(policy_event_kind kind, std::optional<std::int64_t> version, std::string_view text);
    /// Notes that the document in force is what the origin has, so that a problem is over.
    void solve();
    /// Notes that the copy is written.
    void solve_copy();

  private:
    void await_hangup();
    void send(policy_event what) noexcept;

    boost::asio::any_io_executor executor_;
    boost::asio::any_io_executor own_executor_;
    thread_lock lock_{true};
    std::shared_ptr<const std::function<void(const policy_event&)>> on_event_;
    std::optional<boost::asio::signal_set> hangups_;
    std::unique_ptr<origin> origin_;
    bool is_closed_ = false;
    std::atomic<bool> is_reload_due_ = false;

    mutable std::mutex mutex_; ///< of the following
    std::shared_ptr<const policy_document> in_force_;
    policy_status status_;
};

} // namespace colimit::detail
