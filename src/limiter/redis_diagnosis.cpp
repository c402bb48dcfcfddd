// SPDX-License-Identifier: BSL-1.0
//
// What the engine reports of its connection: why it could not be made, why it was lost, and the
// state that follows from it.

#include <limiter/redis_engine.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>

namespace colimit::detail {
namespace {

/// The server as a message names it. The port of a host that has no address is not named: in
/// `redis://user:12345`, where `@host` was forgotten, it is a password.
[[nodiscard]] std::string name_of(const redis::address& where, phase reached) {
    if (where.kind == redis::address::kind::unix_socket)
        return where.path;
    if (reached == phase::resolve)
        return where.host;
    return where.host + ":" + std::to_string(where.port);
}

/// Makes a text and records it, if there is memory for it.
template<class Text>
void note(problem_log& to, errc code, phase where, Text text) noexcept {
    try {
        to.note_own(code, where, text());
    } catch (const std::exception&) {
        to.note_own(code, where, "out of memory");
    }
}

/// The code of a refusal, else `unavailable`.
[[nodiscard]] errc code_of(error_code why) noexcept {
    for (const auto refusal : {errc::auth_failed, errc::untrusted_server, errc::bad_reply})
        if (why == refusal)
            return refusal;
    return errc::unavailable;
}

} // namespace

void redis_engine::report(colimit::statistics& into) const {
    const auto& sent = calls_->counted;
    into.batches = sent.batches;
    into.batch_calls = sent.calls;
    into.batch_keys = sent.keys;
    into.largest_batch = sent.largest;
    into.merged = sent.merged;
    into.script_loads = sent.script_loads + session_.script_loads();
    into.bytes_out = bytes_out_;
    into.bytes_in = bytes_in_;
    into.cached_denials = denials_ ? denials_->size() : 0;
    into.reconnects = std::max<std::uint64_t>(served_, 1) - 1;
    into.breaker_openings = breaker_.openings();
}

health_state redis_engine::find_state() const noexcept {
    if (session_.is_refused())
        return health_state::refused;
    if (breaker_.is_open())
        return health_state::degraded;
    return session_.state() == redis::session_state::ready ? health_state::ready
                                                           : health_state::connecting;
}

void redis_engine::note_connect_failure(error_code why) noexcept {
    note(problems_, code_of(why), stream_.reached(), [&] {
        const auto tls = stream_.tls_failure();
        return name_of(stream_.where(), stream_.reached()) + ": " +
               (tls.empty() ? why.message() : std::string{tls});
    });
}

void redis_engine::note_late_connection() noexcept {
    const auto is_greeting = session_.state() == redis::session_state::greeting;
    const auto where = is_greeting ? phase::handshake : stream_.reached();
    note(problems_, errc::unavailable, where, [&] {
        return name_of(stream_.where(), stream_.reached()) +
               (is_greeting ? ": no reply within config::connect_timeout"
                            : ": no connection within config::connect_timeout");
    });
}

void redis_engine::note_lost_connection(error_code why) noexcept {
    const auto is_ready = session_.state() == redis::session_state::ready;
    note(problems_, code_of(why), is_ready ? phase::reply : phase::handshake, [&] {
        const auto tls = stream_.tls_failure();
        return "the connection was lost: " + (tls.empty() ? why.message() : std::string{tls});
    });
}

/// What a step of a connection threw: memory was missing, or a thread to resolve the host.
void redis_engine::note_failed_step(const std::exception& why) noexcept {
    problems_.note_own(errc::unavailable, reached(), "the connection was given up:", why.what());
}

/// The phase in which the connection is.
phase redis_engine::reached() const noexcept {
    switch (session_.state()) {
    case redis::session_state::ready:
        return phase::reply;
    case redis::session_state::greeting:
        return phase::handshake;
    default:
        return stream_.reached();
    }
}

void redis_engine::note_timeout(std::string_view text) noexcept {
    problems_.note_own(errc::unavailable, phase::reply, text);
}

void redis_engine::lose_to_malformed_reply(std::string_view bytes) {
    if (session_.state() != redis::session_state::ready)
        return obey(session_.read_garbage(now_, bytes));
    problems_.note_own(errc::unavailable, phase::reply, "a malformed reply");
    lose_connection(redis::remedy::reconnect);
}

/// When it is looked into whether a server that should speak TLS is silent, once per connection.
std::int64_t redis_engine::provoke_at() const noexcept {
    const auto may_provoke = session_.state() == redis::session_state::connecting &&
                             stream_.where().tls && !silence_checked_;
    return may_provoke ? session_.suspicious_at() : no_time;
}

void redis_engine::check_silence() {
    silence_checked_ = true;
    if (stream_.is_silent_in_tls())
        stream_.provoke(self());
}

// Events

void redis_engine::send_event(event_kind kind) const noexcept {
    send_event(kind, [] { return std::optional<problem>{}; });
}

void redis_engine::answer_instead(operation& op) noexcept {
    const auto why = op.ec;
    fallback_.answer(op);
    if (!events_ || !why || op.ec || !fallback_period::counts(why) || !falling_back_.begin(now_))
        return;
    send_event(event_kind::fallback_started, [&] { return cause_of(op, why); });
}

/// The last problem, if it explains the error of a call: it is of this kind, and the server has
/// decided no call since, or the call began before it. Otherwise the error itself.
problem redis_engine::cause_of(const operation& op, error_code why) const {
    const auto began_at = op.deadline != 0 ? op.deadline - timeout_ : now_;
    const auto explains = [&](errc code) {
        return why == code || (why != errc::server_error && code == errc::unavailable);
    };
    if (auto known = problems_.last_since(std::min(began_at, decided_at_), explains))
        return *std::move(known);
    const auto now = std::chrono::system_clock::now();
    return {.code = static_cast<errc>(why.value()),
            .phase = reached(),
            .text = {},
            .first = now,
            .last = now};
}

/// Those that are found by looking, at the end of each event-loop iteration.
void redis_engine::send_events() noexcept {
    const auto loads = calls_->counted.scripts_loaded + session_.scripts_loaded();
    if (loads != std::exchange(loads_reported_, loads))
        send_event(event_kind::script_loaded);
    while (const auto* denial = problems_.denials().take(now_))
        send_event(event_kind::permission_denied, [&] { return denial->as_problem(); });
    if (falling_back_.end(now_))
        send_event(event_kind::fallback_ended);
    if (breaker_.is_open() == std::exchange(is_breaker_open_, breaker_.is_open()))
        return;
    if (!is_breaker_open_)
        return send_event(event_kind::breaker_closed);
    send_event(event_kind::breaker_opened, [this] {
        return problems_.last_since(decided_at_, [](errc code) { return code == code_of(code); });
    });
}

/// When an event has to be sent though nothing else happens.
std::int64_t redis_engine::event_due() const noexcept {
    if (!events_)
        return no_time;
    return std::min(problems_.denials().due_at().value_or(no_time), falling_back_.ends_at());
}

} // namespace colimit::detail
