// SPDX-License-Identifier: BSL-1.0
//
// The transitions of a session.

#include <redis/script.hpp>
#include <redis/session.hpp>

#include <algorithm>
#include <utility>

namespace colimit::redis {
namespace {

[[nodiscard]] bool begins_with_any(std::string_view text,
                                   std::initializer_list<std::string_view> beginnings) noexcept {
    return std::ranges::any_of(beginnings,
                               [text](std::string_view b) { return text.starts_with(b); });
}

} // namespace

session::session(session_settings settings)
    : settings_(std::move(settings)), protocol_(settings_.protocol),
      pause_(settings_.reconnect_least), random_(settings_.seed) {}

std::optional<std::int64_t> session::wake_at() const noexcept {
    switch (state_) {
    case session_state::connecting:
    case session_state::greeting:
    case session_state::waiting:
        return due_;
    default:
        return std::nullopt;
    }
}

std::int64_t session::not_ready_before() const noexcept {
    return state_ == session_state::waiting ? due_ : 0;
}

action session::start(std::int64_t now) {
    if (state_ != session_state::idle && state_ != session_state::waiting)
        return action::nothing;
    due_ = now + settings_.connect_timeout;
    if (connected_)
        return connected();
    state_ = session_state::connecting;
    return action::connect;
}

action session::connected() {
    state_ = session_state::greeting;
    connected_ = true;
    return action::send;
}

void session::greeting(std::string& out) {
    step_count_ = steps_done_ = 0;
    finding_ = finding::fine;
    const auto has_credentials = !settings_.user.empty() || !settings_.password.empty();
    const auto user = settings_.user.empty() ? std::string_view{"default"} : settings_.user;
    if (protocol_ == 3) {
        if (has_credentials)
            resp::append_command(out, {"HELLO", "3", "AUTH", user, settings_.password});
        else
            resp::append_command(out, {"HELLO", "3"});
        expect(step::hello);
    } else if (has_credentials) {
        resp::append_command(out, {"AUTH", user, settings_.password});
        expect(step::auth);
    }
    if (settings_.database != 0) {
        resp::append_command(out, {"SELECT", std::to_string(settings_.database)});
        expect(step::select);
    }
    resp::append_command(out, {"SCRIPT", "LOAD", bucket_script.body});
    expect(step::load);
}

void session::note_error(step s, std::string_view text) {
    const auto is_old = s == step::hello &&
                        begins_with_any(text, {"NOPROTO", "ERR unknown command", "ERR Protocol"});
    if (is_old && protocol_ == 3) {
        finding_ = finding::old_server;
        return;
    }
    if (finding_ == finding::old_server)
        return; // what followed the HELLO was not meant for such a server
    const auto meaning = classify(text);
    const auto passes = begins_with_any(text, {"LOADING", "BUSY", "MASTERDOWN"});
    finding_ = std::max(finding_, passes ? finding::not_yet : finding::refused);
    if (passes)
        return;
    trouble_ = meaning.code == errc::auth_failed || meaning.code == errc::unavailable
                   ? meaning.code
                   : errc::server_error;
    refusal_ = meaning.remedy == remedy::reconnect_late || trouble_ == errc::server_error
                   ? remedy::reconnect_late
                   : remedy::reconnect;
}

action session::read_reply(const resp::decoder& reply, std::string_view bytes, std::int64_t now) {
    const auto& first = reply.nodes().front();
    if (first.kind == resp::kind::push)
        return action::nothing;
    if (steps_done_ == step_count_)
        return lost(now);
    const auto s = steps_[steps_done_++];
    if (first.kind == resp::kind::error || first.kind == resp::kind::blob_error)
        note_error(s, reply.text(first, bytes));
    return steps_done_ == step_count_ ? end_greeting(now) : action::nothing;
}

action session::end_greeting(std::int64_t now) {
    switch (finding_) {
    case finding::fine:
        state_ = session_state::ready;
        trouble_ = errc::unavailable;
        return action::serve;
    case finding::old_server:
        protocol_ = 2;
        return action::send;
    case finding::not_yet:
        trouble_ = errc::unavailable;
        pause(now, false);
        return action::nothing;
    case finding::refused:
        break;
    }
    const auto reason = trouble_;
    const auto next = lost(now, refusal_);
    trouble_ = reason;
    return next;
}

action session::lost(std::int64_t now, remedy why) {
    if (state_ == session_state::closed)
        return action::nothing;
    connected_ = false;
    protocol_ = settings_.protocol;
    trouble_ = errc::unavailable;
    pause(now, why == remedy::reconnect_late);
    return action::disconnect;
}

action session::wake(std::int64_t now) {
    const auto at = wake_at();
    if (!at || now < *at)
        return action::nothing;
    return state_ == session_state::waiting ? start(now) : lost(now);
}

/// Waits between half and all of the present pause; the next one will be twice as long.
void session::pause(std::int64_t now, bool longest) {
    const auto length = longest ? settings_.reconnect_most : pause_;
    auto jitter = std::uniform_int_distribution<std::int64_t>{length - length / 2, length};
    due_ = now + jitter(random_);
    pause_ = std::min(2 * pause_, settings_.reconnect_most);
    state_ = session_state::waiting;
}

} // namespace colimit::redis
