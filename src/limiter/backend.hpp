// SPDX-License-Identifier: BSL-1.0
//
// The interface of a store behind a limiter: it takes valid calls and completes them with a
// decision or an error. All functions are called with the core's lock held.

#pragma once

#include <colimit/detail/call_operation.hpp>
#include <colimit/diagnostics.hpp>
#include <colimit/error.hpp>
#include <colimit/statistics.hpp>
#include <policy/policy_data.hpp>

#include <boost/core/noncopyable.hpp>

#include <cstdint>
#include <optional>

namespace colimit::detail {

/// What a stage has done with a call.
enum class stage_result : std::uint8_t {
    ended, ///< it has an error or a result, and is to be completed
    kept,  ///< the stage completes it later, through the core
};

[[nodiscard]] inline stage_result ended(operation& op, error_code why) noexcept {
    op.ec = why;
    return stage_result::ended;
}

class backend : boost::noncopyable {
  public:
    virtual ~backend() = default;

    /// Called once the core, which owns the backend, is constructed.
    virtual void open() {}
    /// Takes a call for a key, the checks of an `allow_all` or a `ready`, which have neither key
    /// nor policy.
    [[nodiscard]] virtual stage_result start(operation& op, std::string_view key,
                                             const policy_pointer* policy) = 0;
    /// Ends a call that it holds, which is returned with this code.
    virtual void cancel(operation& op, error_code why) = 0;
    /// Returns whether the request of a call that it holds may have been sent.
    [[nodiscard]] virtual bool is_sent(const operation& op) const noexcept = 0;
    /// Ends all calls, and everything else that keeps the context running.
    virtual void shutdown(error_code why) noexcept = 0;

    /// Notes that the failure mode has decided a call that had ended with this error.
    virtual void on_fallback(const operation& /*op*/, error_code /*why*/) noexcept {}

    /// Returns the latest reading of the clock of `operation::deadline`; 0 if calls have none.
    [[nodiscard]] std::int64_t now() const noexcept { return now_; }
    virtual void add_statistics(colimit::statistics& /*to*/) const {}
    [[nodiscard]] virtual std::optional<problem> last_problem() const = 0;
    [[nodiscard]] virtual health_state state() const noexcept = 0;

  protected:
    std::int64_t now_ = 0;
};

} // namespace colimit::detail
