// SPDX-License-Identifier: BSL-1.0
//
// Each event is sent once, with the problem that led to it.

#include <base/clocks.hpp>
#include <limiter/limiter_core.hpp>
#include <limiter/redis_reports.hpp>
#include <redis/connection/session.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace colimit::detail {

redis_reports::redis_reports(const limiter_core& core, const config& settings, std::string password)
    : core_(core), problems_(std::move(password), steady_now, logger{settings.log}),
      events_(core.own_executor(), settings.on_event) {}

template<class FindCause>
void redis_reports::send(event_kind kind, FindCause find_cause) const noexcept {
    if (!core_.is_closed()) // its context may be in destruction then, and nothing is posted
        events_.send(kind, find_cause);
}

void redis_reports::send(event_kind kind) const noexcept {
    send(kind, [] { return std::optional<problem>{}; });
}

void redis_reports::on_ready(const std::string& denied_commands, bool is_lost) noexcept {
    problems_.name_denied(denied_commands);
    if (!is_lost)
        problems_.note_ready();
    problems_.note_permitted(0);
    send(event_kind::connected);
}

void redis_reports::on_lost() noexcept {
    send(event_kind::disconnected, [this] { return problems_.unsolved(); });
}

void redis_reports::on_decision(std::int64_t now) noexcept {
    decided_at_ = now;
    falling_back_.note_server();
}

void redis_reports::on_fallback(const fallback_decision& d) noexcept {
    if (!events_ || !fallback_period::counts(d.why) || !falling_back_.begin(d.now))
        return;
    send(event_kind::fallback_started, [&] { return cause_of(d); });
}

/// Returns the last problem if it explains the error of the call: it is of this kind, and the
/// server has decided no call since, or the call began before it. Otherwise returns the error.
problem redis_reports::cause_of(const fallback_decision& d) const {
    const auto explains = [&](errc code) {
        return d.why == code || (d.why != errc::server_error && code == errc::unavailable);
    };
    if (auto known = problems_.last_since(std::min(d.began_at, decided_at_), explains))
        return *std::move(known);
    const auto now = std::chrono::system_clock::now();
    return {.code = static_cast<errc>(d.why.value()),
            .phase = d.reached,
            .text = {},
            .first = now,
            .last = now};
}

void redis_reports::send_due(const snapshot& p) noexcept {
    if (!events_)
        return;
    if (p.scripts_loaded != std::exchange(scripts_loaded_, p.scripts_loaded))
        send(event_kind::script_loaded);
    while (const auto* denial = problems_.denials().take(p.now))
        send(event_kind::permission_denied, [&] { return denial->as_problem(); });
    if (falling_back_.end(p.now))
        send(event_kind::fallback_ended);
    if (p.is_breaker_open == std::exchange(is_breaker_open_, p.is_breaker_open))
        return;
    if (!is_breaker_open_)
        return send(event_kind::breaker_closed);
    send(event_kind::breaker_opened, [this] {
        return problems_.last_since(decided_at_, [](errc code) {
            return code == errc::unavailable || code == errc::server_error ||
                   redis::is_refusal(code);
        });
    });
}

std::int64_t redis_reports::next_event() const noexcept {
    if (!events_)
        return std::numeric_limits<std::int64_t>::max();
    return std::min(problems_.denials().due_at().value_or(std::numeric_limits<std::int64_t>::max()),
                    falling_back_.ends_at());
}

} // namespace colimit::detail
