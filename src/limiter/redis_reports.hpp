// SPDX-License-Identifier: BSL-1.0
//
// The reports of a limiter with a server: its problems, and the events of `config::on_event`.

#pragma once

#include <colimit/config.hpp>
#include <colimit/diagnostics.hpp>
#include <limiter/event_sender.hpp>
#include <limiter/problem_log.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace colimit::detail {

class limiter_core;

/// The period in which the failure mode decides calls, for events: it begins with the first call
/// that the failure mode decides, and ends when the server decides calls again and the failure mode
/// has decided none for a second. Without this second, alternating failures and successes would be
/// two events each.
class fallback_period {
  public:
    /// Microseconds without a decision of the failure mode after which the period may end.
    static constexpr std::int64_t quiet_time = 1'000'000;
    static constexpr auto never = std::numeric_limits<std::int64_t>::max();

    /// Returns whether decisions that replace this error are part of the period. With too many
    /// calls in flight the server decides as many as it can.
    [[nodiscard]] static bool counts(error_code why) noexcept {
        return why != errc::too_many_in_flight;
    }

    /// Notes a decision of the failure mode. Returns true if it begins a period.
    [[nodiscard]] bool begin(std::int64_t now) noexcept {
        latest_ = now;
        is_server_back_ = false;
        return !std::exchange(is_open_, true);
    }

    /// Notes that the server has decided a call.
    void note_server() noexcept { is_server_back_ = true; }

    [[nodiscard]] std::int64_t ends_at() const noexcept {
        return is_open_ && is_server_back_ ? latest_ + quiet_time : never;
    }

    /// Returns true if the period ends now.
    [[nodiscard]] bool end(std::int64_t now) noexcept {
        if (now < ends_at())
            return false;
        is_open_ = false;
        return true;
    }

  private:
    std::int64_t latest_ = 0;
    bool is_open_ = false;
    bool is_server_back_ = false; ///< since the latest decision of the failure mode
};

class redis_reports {
  public:
    redis_reports(const limiter_core& core, const config& settings, std::string password);

    /// Returns the log of problems.
    [[nodiscard]] problem_log& problems() noexcept { return problems_; }
    [[nodiscard]] std::optional<problem> last() const { return problems_.last(); }

    /// @param is_lost whether the connection has been lost meanwhile: its problem is the newer one
    void on_ready(const std::string& denied_commands, bool is_lost) noexcept;
    void on_lost() noexcept;
    /// Notes that the server has decided a call.
    void on_decision(std::int64_t now) noexcept;

    struct fallback_decision {
        error_code why;        ///< the error of the call
        std::int64_t began_at; ///< the latest time at which the call can have begun
        std::int64_t now;
        phase reached; ///< the phase of the connection
    };
    /// Notes that the failure mode has decided a call.
    void on_fallback(const fallback_decision& d) noexcept;

    /// Returns whether there is a function for events.
    [[nodiscard]] bool sends_events() const noexcept { return static_cast<bool>(events_); }

    struct snapshot {
        std::int64_t now;
        std::uint64_t scripts_loaded;
        bool is_breaker_open;
    };
    /// Sends the events that follow from a comparison of the present state with the reported one.
    void send_due(const snapshot& p) noexcept;
    /// Returns when `send_due` has to be called even if nothing else happens.
    [[nodiscard]] std::int64_t next_event() const noexcept;

  private:
    [[nodiscard]] problem cause_of(const fallback_decision& d) const;
    void send(event_kind kind) const noexcept;
    template<class FindCause>
    void send(event_kind kind, FindCause find_cause) const noexcept;

    const limiter_core& core_;
    problem_log problems_;
    event_sender events_;
    bool is_breaker_open_ = false; ///< according to the last event
    std::uint64_t scripts_loaded_ = 0;
    fallback_period falling_back_;
    std::int64_t decided_at_ = 0; ///< when the server last decided a call
};

} // namespace colimit::detail
