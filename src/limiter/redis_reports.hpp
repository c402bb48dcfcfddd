// SPDX-License-Identifier: BSL-1.0
//
// What a limiter with a server reports: its problems, and the events of `config::on_event`.

#ifndef COLIMIT_LIMITER_REDIS_REPORTS_HPP
#define COLIMIT_LIMITER_REDIS_REPORTS_HPP

#include <colimit/config.hpp>
#include <colimit/diagnostics.hpp>
#include <limiter/event_sender.hpp>
#include <limiter/fallback_period.hpp>
#include <limiter/problem_log.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace colimit::detail {

class limiter_core;

class redis_reports {
  public:
    redis_reports(const limiter_core& core, const config& settings, std::string password);

    /// Where problems are reported.
    [[nodiscard]] problem_log& problems() noexcept { return problems_; }
    [[nodiscard]] std::optional<problem> last() const { return problems_.last(); }

    void on_ready(const std::string& denied_commands);
    void on_lost();
    /// The server has decided a call.
    void on_decision(std::int64_t now) noexcept;

    struct fallback_decision {
        error_code why;        ///< the error of the call
        std::int64_t began_at; ///< when the call did, at the latest
        std::int64_t now;
        phase reached; ///< by the connection
    };
    /// The failure mode has decided a call.
    void on_fallback(const fallback_decision& d) noexcept;

    struct present {
        std::int64_t now;
        std::uint64_t scripts_loaded;
        bool is_breaker_open;
    };
    /// Sends the events that are found by comparing the present with what was reported before.
    void send_due(const present& p) noexcept;
    /// When `send_due` has something to send though nothing else happens.
    [[nodiscard]] std::int64_t next_event() const noexcept;

  private:
    [[nodiscard]] problem cause_of(const fallback_decision& d) const;
    void send(event_kind kind) const noexcept;
    template<class FindCause>
    void send(event_kind kind, FindCause find_cause) const noexcept;

    const limiter_core& core_;
    problem_log problems_;
    event_sender events_;
    bool is_breaker_open_ = false; ///< what the last event said
    std::uint64_t scripts_loaded_ = 0;
    fallback_period falling_back_;
    std::int64_t decided_at_ = 0; ///< when the server last decided a call
};

} // namespace colimit::detail

#endif
