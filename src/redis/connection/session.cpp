// SPDX-License-Identifier: BSL-1.0
//
// The transitions of a session, and its question for the server module.

#include <redis/connection/session.hpp>
#include <redis/protocol/server_module.hpp>

#include <utility>

namespace colimit::redis {
namespace {

/// After so many silent losses in a row the server is tested for TLS, and again after every
/// sixteenth: a plain server does not reply to the test, so it costs the time of waiting for it.
constexpr int losses_before_tls_test = 3;
constexpr int losses_between_tls_tests = 16;
/// The fraction of `connect_timeout` within which the reply to this test must arrive.
constexpr int tls_test_part = 4;

} // namespace

session::session(session_settings settings)
    : settings_(std::move(settings)),
      login_({settings_.user, settings_.password}, settings_.credentials_source,
             settings_.role == server_role::sentinel ? "advanced.sentinel_credentials"
                                                     : "credentials"),
      protocol_(settings_.protocol), pause_(settings_.reconnect_delay_min),
      random_(settings_.seed) {}

std::optional<std::int64_t> session::wake_at() const noexcept {
    const auto is_timed = state_ == session_state::connecting ||
                          state_ == session_state::handshake || state_ == session_state::waiting;
    return is_timed ? std::optional{due_} : std::nullopt;
}

action session::start(std::int64_t now) {
    if (state_ != session_state::idle && state_ != session_state::waiting)
        return action::nothing;
    due_ = now + settings_.connect_timeout / (tests_for_tls() ? tls_test_part : 1);
    facts_.asked = now;
    if (connected_)
        return connected();
    if (!login_.renew(errors_))
        return lost(now, recovery::reconnect_late, errc::auth_failed);
    if (state_ == session_state::closed) // by the source of credentials
        return action::nothing;
    state_ = session_state::connecting;
    return action::connect;
}

action session::connected() {
    authenticated_ = false;
    facts_.is_cluster = false;
    facts_.server_module = module_state::absent;
    withheld_.clear();
    state_ = session_state::handshake;
    connected_ = true;
    return action::send;
}

action session::end_handshake(std::int64_t now) {
    switch (result_) {
    case handshake_result::fine:
        if (has_second_part() && !std::exchange(authenticated_, true)) {
            note_progress(now);
            return action::send;
        }
        state_ = session_state::ready;
        was_ready_ = true;
        error_ = errc::unavailable;
        return action::serve;
    case handshake_result::old_server:
        protocol_ = 2;
        facts_.asked = now;
        note_progress(now);
        return action::send;
    case handshake_result::not_yet:
        error_ = errc::unavailable;
        pause(now, false);
        return action::nothing;
    case handshake_result::refused:
        break;
    }
    return lost(now, refusal_, error_);
}

/// A server that expects TLS closes connections without a reply. Only the start of a TLS handshake
/// can show whether it is one.
bool session::tests_for_tls() const noexcept {
    return settings_.plain_tcp && !authenticated_ && !was_ready_ &&
           (speaks_tls_ || silent_losses_ % losses_between_tls_tests == losses_before_tls_test);
}

action session::read_garbage(std::int64_t now, std::string_view bytes) {
    if (!authenticated_ && steps_done_ == 0)
        return reject_server(now, bytes);
    report(errc::unavailable, "a malformed reply");
    return lost(now);
}

/// The first reply shows that this is not a Redis server, or that it uses another protocol.
action session::reject_server(std::int64_t now, std::string_view bytes) {
    constexpr auto is_record = [](char c) { return c == '\x15' || c == '\x16'; };
    speaks_tls_ = !bytes.empty() && is_record(bytes.front());
    if (speaks_tls_)
        report(errc::bad_reply, "the server speaks TLS; use a rediss:// address");
    else
        report(errc::bad_reply, "not a Redis server; it replied:", bytes);
    return lost(now, recovery::reconnect_late, errc::bad_reply);
}

action session::lost(std::int64_t now, error_code why) {
    // A server that refuses the first command may close before it replies to the others.
    if (state_ == session_state::handshake && result_ == handshake_result::refused)
        return lost(now, refusal_, error_);
    const auto code = connection_error(why);
    return lost(now, is_refusal(code) ? recovery::reconnect_late : recovery::reconnect, code);
}

action session::lost(std::int64_t now, recovery why, errc error) {
    if (state_ == session_state::closed)
        return action::nothing;
    const auto is_silent =
        state_ == session_state::handshake && steps_done_ == 0 && !authenticated_;
    silent_losses_ = is_silent && error == errc::unavailable ? silent_losses_ + 1 : 0;
    speaks_tls_ = speaks_tls_ && error == errc::bad_reply;
    writes_failed_ = writes_failed_ || why == recovery::leave_read_only;
    connected_ = false;
    protocol_ = settings_.protocol;
    error_ = error;
    pause(now, why == recovery::reconnect_late);
    return action::disconnect;
}

/// Resets what was learnt about the server, as the next one may be another. The nodes of a cluster
/// all expect TLS, or none does.
void session::forget_server() noexcept {
    if (settings_.role != server_role::node) {
        silent_losses_ = 0;
        speaks_tls_ = was_ready_ = false;
    }
    writes_failed_ = connected_ = false;
    protocol_ = settings_.protocol;
    error_ = errc::unavailable;
    pause_ = settings_.reconnect_delay_min;
}

action session::moved(std::int64_t now) {
    if (state_ == session_state::idle || state_ == session_state::closed)
        return action::nothing;
    const auto ends = has_connection();
    forget_server();
    due_ = now;
    state_ = session_state::waiting;
    return ends ? action::disconnect : action::nothing;
}

action session::suspend() noexcept {
    if (state_ == session_state::closed)
        return action::nothing;
    const auto ends = has_connection();
    forget_server();
    state_ = session_state::idle;
    return ends ? action::disconnect : action::nothing;
}

action session::wake(std::int64_t now) {
    const auto at = wake_at();
    if (!at || now < *at)
        return action::nothing;
    if (state_ == session_state::waiting)
        return start(now);
    const auto was_tested = state_ == session_state::handshake && tests_for_tls();
    const auto what = lost(now);
    // A server that hangs may expect TLS as well as one that replies.
    silent_losses_ = was_tested ? losses_before_tls_test + 1 : 0;
    return what;
}

/// Waits between half and all of the current pause; the next one will be twice as long.
void session::pause(std::int64_t now, bool refused) {
    const auto length = refused ? settings_.reconnect_delay_max : pause_;
    auto jitter = std::uniform_int_distribution<std::int64_t>{length - length / 2, length};
    due_ = now + jitter(random_);
    pause_ = std::min(2 * pause_, settings_.reconnect_delay_max);
    state_ = session_state::waiting;
}

void session::ask_for_module(std::string& out) {
    if (!runs_scripts() || settings_.server_module == module_use::never)
        return;
    append_module_question(out);
    expect(step::server_module);
}

/// Reads the reply to the question, unless an earlier reply has decided the handshake. A module
/// that is there but not used is reported.
void session::read_module(const resp::decoder& reply, std::string_view bytes) {
    if (result_ != handshake_result::fine)
        return;
    const auto is_required = settings_.server_module == module_use::required;
    const auto text = reply.text(reply.first(), bytes);
    facts_.server_module = read_module_state(reply, bytes);
    switch (facts_.server_module) {
    case module_state::usable:
        return use_module();
    case module_state::incompatible: {
        const auto problem = incompatible_module(reply, bytes);
        return is_required ? refuse(errc::invalid_config, problem)
                           : report(errc::invalid_config, problem);
    }
    case module_state::absent:
        if (is_required)
            refuse(
                errc::invalid_config,
                "config::advanced.server_module is required, but the server lacks the module: load "
                "colimit.so with MODULE LOAD; it replied:",
                text);
        return;
    case module_state::denied:
        return is_required ? record_error(step::server_module, text)
                           : report(errc::auth_failed, text);
    case module_state::withheld:
        withheld_ = text;
        return is_required ? record_error(step::server_module, text) : void();
    case module_state::unknown:
        return record_error(step::server_module, text);
    }
}

/// There are no scripts to load, and no permissions to test. The server accepts writes.
void session::use_module() noexcept {
    denied_.clear();
    writes_failed_ = false;
}

} // namespace colimit::redis
