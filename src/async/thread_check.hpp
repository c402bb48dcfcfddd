// SPDX-License-Identifier: BSL-1.0
//
// Whether a limiter that is confined to its executor is used from there: for an assertion, because
// a second thread would corrupt memory long before anyone sees why.
//
// Whether a thread runs an executor is known for an `io_context` and its strands; for others, which
// are rare without `thread_safe`, nothing is said. So a debug build finds most such programs, and
// never blames a correct one.

#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>

#include <atomic>
#include <thread>
#include <utility>

namespace colimit::detail {

class thread_check {
  public:
    thread_check(boost::asio::any_io_executor executor, bool serves_threads)
        : executor_(std::move(executor)), serves_threads_(serves_threads) {}

    /// Called by functions that the executor runs.
    void note_this_thread() noexcept { last_ = std::this_thread::get_id(); }

    /// Returns whether this thread may use the limiter: it runs the executor, as far as that can be
    /// known, or it did so last, or no thread has done so yet, or none does so now.
    [[nodiscard]] bool allows_this_thread() const noexcept {
        using io_executor = boost::asio::io_context::executor_type;
        const auto last = last_.load();
        if (serves_threads_ || last == std::thread::id{} || last == std::this_thread::get_id())
            return true;
        if (const auto* context = executor_.target<io_executor>())
            return context->running_in_this_thread() || context->context().stopped();
        if (const auto* strand = executor_.target<boost::asio::strand<io_executor>>())
            return strand->running_in_this_thread() ||
                   strand->get_inner_executor().context().stopped();
        return true;
    }

  private:
    boost::asio::any_io_executor executor_;
    bool serves_threads_;
    std::atomic<std::thread::id> last_{};
};

} // namespace colimit::detail
