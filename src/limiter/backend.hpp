// SPDX-License-Identifier: BSL-1.0
//
// A store behind a limiter, as the limiter's core sees it: it takes calls that are valid, and gives
// them back decided. All functions are called with the core's lock held.

#ifndef COLIMIT_LIMITER_BACKEND_HPP
#define COLIMIT_LIMITER_BACKEND_HPP

#include <colimit/detail/call_operation.hpp>
#include <colimit/diagnostics.hpp>
#include <colimit/error.hpp>
#include <colimit/statistics.hpp>

#include <cstdint>
#include <optional>

namespace colimit::detail {

class backend {
  public:
    backend() = default;
    backend(const backend&) = delete;
    backend& operator=(const backend&) = delete;
    virtual ~backend() = default;

    /// After construction of the core, which owns it.
    virtual void open() {}
    /// Takes a call for a key, the checks of an `allow_all` or a `ready`. It comes back through the
    /// core, with `ec` or `result` set.
    virtual void start(operation& op, const call& c) = 0;
    /// Gives up a call that it holds, which comes back with this code.
    virtual void cancel(operation& op, error_code why) = 0;
    /// Returns whether the request of a call that it holds may have been sent.
    [[nodiscard]] virtual bool is_sent(const operation& op) const noexcept = 0;
    /// Gives up all calls, and everything else that keeps the context running.
    virtual void shutdown(error_code why) noexcept = 0;

    /// The failure mode has decided a call that had ended with this error.
    virtual void on_fallback(const operation& /*op*/, error_code /*why*/) noexcept {}

    /// The clock of `operation::deadline`, as it was read last.
    [[nodiscard]] virtual std::int64_t now() const noexcept = 0;
    virtual void add_statistics(colimit::statistics& /*to*/) const {}
    [[nodiscard]] virtual std::optional<problem> last_problem() const = 0;
    [[nodiscard]] virtual health_state state() const noexcept = 0;
};

} // namespace colimit::detail

#endif
