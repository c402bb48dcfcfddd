// SPDX-License-Identifier: BSL-1.0
//
// The body of a limiter: takes calls, checks their arguments, hands them to a store and runs their
// handlers when they are done. One engine for each store derives from it.
//
// Completions: finished calls go into one row, and one posted function runs all their handlers. So
// a handler never runs within its own initiating function, and a thousand completions cost one
// post.

#ifndef COLIMIT_ENGINE_HPP
#define COLIMIT_ENGINE_HPP

#include <colimit/detail/call_operation.hpp>
#include <colimit/error.hpp>
#include <engine/node_pool.hpp>
#include <engine/waiting_line.hpp>
#include <operation_list.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace colimit::detail {

class engine : public std::enable_shared_from_this<engine> {
  public:
    explicit engine(asio::any_io_executor executor);
    engine(const engine&) = delete;
    engine& operator=(const engine&) = delete;
    virtual ~engine();

    /// After construction, when it is owned by a shared_ptr.
    virtual void open();
    /// Ends every call with `errc::closed`. Twice does nothing.
    void close() noexcept;
    /// The context goes away: every call is dropped without its handler being called.
    void abandon() noexcept;

    /// Takes the operation; it is finished later.
    void start(operation& op, const call& c) noexcept;
    void cancel(operation& op) noexcept;

    /// For an operation that stands for others, when these are done.
    void complete_from_children(operation& op, error_code ec) noexcept { complete(op, ec); }
    /// Asks the store to take a place back; nobody waits for the answer.
    void give_back(const reservation& place, std::int64_t cost, std::int64_t end) noexcept;

    [[nodiscard]] const asio::any_io_executor& executor() const noexcept { return executor_; }
    [[nodiscard]] node_pool& pool() noexcept { return pool_; }

  protected:
    /// Takes a checked call; it comes back through `complete`.
    virtual void begin(operation& op, const call& c) = 0;
    /// Takes `op.checks`, which are valid: all or nothing.
    virtual void begin_together(operation& op) = 0;
    /// Completes with void(error_code) when the store answers.
    virtual void begin_ready(operation& op) = 0;
    /// Gives up a call that the store holds: it comes back through `complete`.
    virtual void withdraw(operation& op, error_code why) = 0;
    /// Gives up all calls that the store holds, and everything else that keeps the context running.
    virtual void shut(error_code why) = 0;

    void complete(operation& op, error_code ec) noexcept {
        op.ec = ec;
        complete(op);
    }
    void complete(operation& op) noexcept;
    /// Completes a whole row.
    void complete_all(operation_list& row) noexcept;
    /// Runs the handlers of completed calls, from within a function that the executor runs. They
    /// may start calls, close the limiter or destroy it: the caller keeps the engine alive.
    void run(operation_list& row);

    [[nodiscard]] bool is_closed() const noexcept { return closed_; }

  private:
    class registration;

    void start_one(operation& op, const call& c);
    void start_checks(operation& op, const call& c);
    [[nodiscard]] bool keeps_waiting(operation& op);
    void serve_line();
    void schedule() noexcept;
    void drop_completed() noexcept;

    asio::any_io_executor executor_;
    node_pool pool_;
    operation_list completed_;
    bool scheduled_ = false;
    bool closed_ = false;
    waiting_line line_;
    std::unique_ptr<registration> registration_;
};

} // namespace colimit::detail

#endif
