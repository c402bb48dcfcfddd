// SPDX-License-Identifier: BSL-1.0
//
// The transitions of a session.

#include <redis/connection/session.hpp>
#include <redis/protocol/known_replies.hpp>
#include <redis/protocol/script.hpp>

#include <algorithm>
#include <utility>

namespace colimit::redis {
namespace {

[[nodiscard]] bool begins_with_any(std::string_view text,
                                   std::initializer_list<std::string_view> beginnings) noexcept {
    return std::ranges::any_of(beginnings,
                               [text](std::string_view b) { return text.starts_with(b); });
}

/// The number of characters of a run id that are used: 64 of its 160 bits. With a client id, which
/// is unique within a run, they distinguish all runs that a server will ever have.
constexpr std::size_t run_id_characters = 16;

/// Returns the run id in the reply of INFO; empty if it is not there.
[[nodiscard]] std::string_view run_id_in(std::string_view info) noexcept {
    constexpr std::string_view field = "\nrun_id:";
    const auto at = info.find(field);
    if (at == std::string_view::npos)
        return {};
    const auto id = info.substr(at + field.size(), run_id_characters);
    const auto end = id.find_first_not_of("0123456789abcdef");
    return end == std::string_view::npos && id.size() == run_id_characters ? id
                                                                           : std::string_view{};
}

/// Returns whether the reply to HELLO, a map, has the mode of a cluster.
[[nodiscard]] bool is_cluster_in_hello(const resp::decoder& reply, std::string_view bytes) {
    const auto nodes = reply.nodes();
    for (std::size_t i = 1; i + 1 < nodes.size(); ++i)
        if (reply.text(nodes[i], bytes) == "mode" && reply.text(nodes[i + 1], bytes) == "cluster")
            return true;
    return false;
}

/// The start of a TLS handshake with one cipher suite, to which a TLS server sends a record.
constexpr std::string_view client_hello{
    "\x16\x03\x01\x00\x2d\x01\x00\x00\x29\x03\x03"
    "colimit asks whether this is TLS\x00\x00\x02\xc0\x2f\x01\x00",
    50};

/// After so many silent losses in a row the server is tested for TLS, and again after every
/// sixteenth: a plain server does not reply to the test, so it costs the time of waiting for it.
constexpr int losses_before_tls_test = 3;
constexpr int losses_between_tls_tests = 16;
/// The fraction of `connect_timeout` within which the reply to this test must arrive.
constexpr int tls_test_part = 4;

} // namespace

session::session(session_settings settings)
    : settings_(std::move(settings)), protocol_(settings_.protocol),
      pause_(settings_.reconnect_delay_min), random_(settings_.seed) {}

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
    state_ = session_state::connecting;
    return action::connect;
}

action session::connected() {
    authenticated_ = false;
    facts_.is_cluster = false;
    state_ = session_state::handshake;
    connected_ = true;
    return action::send;
}

void session::append_handshake(std::string& out) {
    step_count_ = steps_done_ = 0;
    result_ = handshake_result::fine;
    if (tests_for_tls())
        return (void)out.append(client_hello);
    if (authenticated_) {
        resp::append_command(out, {"SCRIPT", "LOAD", check_script.body});
        expect(step::load);
        // With EVALSHA, as calls are; EVAL is only needed when a server has forgotten the script.
        resp::append_command(out, {"SCRIPT", "LOAD", permissions_script.body});
        expect(step::load);
        script_loads_ += 2;
        loads_ = 0;
        resp::append_command(out, {"EVALSHA", permissions_script.sha1, "0", settings_.probe_key});
        return expect(step::permissions);
    }
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
    if (settings_.transactions)
        return append_queries(out);
    if (step_count_ == 0) { // so that a missing password is reported before the script is sent
        resp::append_command(out, {"PING"});
        expect(step::ping);
    }
    if (protocol_ == 2) { // the reply to HELLO would have the mode of a cluster
        resp::append_command(out, {"INFO", "server"});
        expect(step::info);
    }
}

void session::append_queries(std::string& out) {
    run_id_.clear();
    resp::append_command(out, {"ECHO", "colimit"});
    expect(step::echo);
    resp::append_command(out, {"CLIENT", "ID"});
    expect(step::identity);
    resp::append_command(out, {"INFO", "server"});
    expect(step::info);
    resp::append_command(out, {"TIME"});
    expect(step::time);
    for (auto i = probe_.append(out, settings_.probe_key); i != 0; --i)
        expect(step::trial);
}

/// Returns false if it is not a valid reply to the command, such as an echo of the input.
bool session::record_fact(step s, const resp::decoder& reply, std::string_view bytes,
                          std::int64_t now) {
    const auto& first = reply.first();
    const auto text = reply.text(first, bytes);
    switch (s) {
    case step::hello:
        facts_.is_cluster = is_cluster_in_hello(reply, bytes);
        return first.kind == resp::kind::map;
    case step::auth:
    case step::select:
    case step::ping:
        return first.kind == resp::kind::simple;
    case step::load:
        scripts_loaded_ += ++loads_ == 2 ? 1U : 0U;
        return text.size() == check_script.sha1.size();
    case step::identity:
        client_id_ = first.integer;
        return first.kind == resp::kind::integer;
    case step::info:
        run_id_ = run_id_in(text);
        facts_.is_cluster =
            facts_.is_cluster || text.find("\nredis_mode:cluster") != std::string_view::npos;
        return true;
    case step::time:
        return record_time(read_time(reply, bytes), now);
    default:
        return true;
    }
}

bool session::record_time(std::optional<std::int64_t> time, std::int64_t now) {
    facts_.time = time.value_or(0);
    facts_.answered = now;
    // Without INFO the time of this handshake identifies the run.
    facts_.origin = run_id_.empty() ? "t" + std::to_string(facts_.time) : run_id_;
    facts_.origin += '.' + std::to_string(client_id_) + '.';
    return time.has_value();
}

void session::record_error(step s, std::string_view text) {
    if (s == step::info)
        return; // there are substitutes for commands that may be denied
    const auto is_old = s == step::hello &&
                        begins_with_any(text, {"NOPROTO", "ERR unknown command", "ERR Protocol"});
    if (is_old && protocol_ == 3) {
        result_ = handshake_result::old_server;
        return;
    }
    if (result_ == handshake_result::old_server)
        return; // the commands after HELLO were not meant for such a server
    const auto meaning = classify(text);
    report(meaning.code, text);
    const auto passes = begins_with_any(text, {"LOADING", "BUSY", "MASTERDOWN"});
    result_ = std::max(result_, passes ? handshake_result::not_yet : handshake_result::refused);
    if (passes)
        return;
    error_ = meaning.code == errc::auth_failed || meaning.code == errc::unavailable
                 ? meaning.code
                 : errc::server_error;
    const auto is_late = meaning.recovery == recovery::reconnect_late ||
                         meaning.recovery == recovery::leave_read_only ||
                         error_ != errc::unavailable;
    refusal_ = is_late ? recovery::reconnect_late : recovery::reconnect;
}

/// A server that cannot run this script now may run others later, unless it replies that the user
/// has no permission, or that it is busy.
void session::record_permission_error(std::string_view text) {
    if (is_key_denial(text))
        return end_probe("", text);
    const auto meaning = classify(text);
    if (meaning.code == errc::auth_failed || meaning.recovery == recovery::server_busy)
        record_error(step::permissions, text);
}

/// Ends the check of the user's permissions. Refuses a server on which no check of a rule can be
/// made. If an earlier call found the server read-only, it must be writable again; otherwise `peek`
/// may still work. If the user may not access the probe's key, other keys may be allowed, which
/// only calls can show.
/// @param refusal of a command, and `error`, which is about the key or a write; or empty
void session::end_probe(std::string_view refusal, std::string_view error) {
    if (is_key_denial(error))
        report(errc::auth_failed, "the user may not access the key " + settings_.probe_key +
                                      "; only calls can show which other keys are allowed");
    if (!refusal.empty())
        record_error(step::permissions, refusal);
    if (classify(error).recovery != recovery::leave_read_only)
        writes_failed_ = false;
    else if (writes_failed_)
        record_error(step::permissions, error);
}

void session::read_permissions(const resp::decoder& reply, std::string_view bytes) {
    const auto nodes = reply.nodes();
    if (nodes.size() != 4)
        return;
    const auto needed = reply.text(nodes[1], bytes);
    denied_ = reply.text(nodes[2], bytes);
    end_probe(needed.empty() ? ""
                             : "NOPERM the user has no permissions to run " + std::string{needed} +
                                   (denied_.empty() ? "" : ", nor " + denied_),
              reply.text(nodes[3], bytes));
}

/// Reads the next reply to the probe for transactions. If the handshake has failed before, the
/// probe was refused for another reason.
void session::read_trial(std::string_view error) {
    if (!probe_.read_reply(error) || result_ != handshake_result::fine)
        return;
    denied_ = probe_.denied_optional();
    end_probe(probe_.refusal(), probe_.error());
}

action session::read_reply(const resp::decoder& reply, std::string_view bytes, std::int64_t now) {
    const auto& first = reply.first();
    if (first.kind == resp::kind::push)
        return action::nothing;
    if (steps_done_ == step_count_) {
        report(errc::unavailable, "a reply to no command");
        return lost(now);
    }
    const auto s = steps_[steps_done_++];
    if (s == step::hello && first.kind == resp::kind::simple)
        return reject_server(now, bytes); // such as an e-mail server
    const auto is_error = resp::is_error(first.kind);
    if (s == step::permissions)
        is_error ? record_permission_error(reply.text(first, bytes))
                 : read_permissions(reply, bytes);
    else if (s == step::trial)
        read_trial(is_error ? reply.text(first, bytes) : std::string_view{});
    else if (is_error)
        record_error(s, reply.text(first, bytes));
    else if (!record_fact(s, reply, bytes, now))
        reject_reply();
    return steps_done_ == step_count_ ? end_handshake(now) : action::nothing;
}

/// Called when a reply has another type than the command's: the server is not Redis.
void session::reject_reply() {
    report(errc::bad_reply, "not a Redis server; it replied with a value of another type");
    result_ = handshake_result::refused;
    error_ = errc::bad_reply;
    refusal_ = recovery::reconnect_late;
}

action session::end_handshake(std::int64_t now) {
    switch (result_) {
    case handshake_result::fine:
        if (!settings_.transactions && !std::exchange(authenticated_, true)) {
            came_further(now);
            return action::send;
        }
        state_ = session_state::ready;
        was_ready_ = true;
        error_ = errc::unavailable;
        return action::serve;
    case handshake_result::old_server:
        protocol_ = 2;
        facts_.asked = now;
        came_further(now);
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
    const auto length = refused ? settings_.refused_pause : pause_;
    auto jitter = std::uniform_int_distribution<std::int64_t>{length - length / 2, length};
    due_ = now + jitter(random_);
    pause_ = std::min(2 * pause_, settings_.reconnect_delay_max);
    state_ = session_state::waiting;
}

} // namespace colimit::redis
