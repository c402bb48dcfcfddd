// SPDX-License-Identifier: BSL-1.0
//
// The handshake of a session: what it sends, and what the replies mean.

#include <redis/connection/session.hpp>
#include <redis/protocol/info_field.hpp>
#include <redis/protocol/known_replies.hpp>
#include <redis/protocol/script.hpp>

#include <array>
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
    const auto id = field_of(info, "run_id").value_or("").substr(0, run_id_characters);
    const auto end = id.find_first_not_of("0123456789abcdef");
    return end == std::string_view::npos && id.size() == run_id_characters ? id
                                                                           : std::string_view{};
}

/// Returns the mode in the reply to HELLO, a map, such as `standalone`; empty if it has none.
[[nodiscard]] std::string_view mode_in_hello(const resp::decoder& reply, std::string_view bytes) {
    const auto nodes = reply.nodes();
    for (std::size_t i = 1; i + 1 < nodes.size(); ++i)
        if (reply.text(nodes[i], bytes) == "mode")
            return reply.text(nodes[i + 1], bytes);
    return {};
}

/// Returns the mode in the reply of INFO; empty if it has none. Valkey has another name for it.
[[nodiscard]] std::string_view mode_in_info(std::string_view info) noexcept {
    const auto mode = field_of(info, "redis_mode");
    return mode ? *mode : field_of(info, "server_mode").value_or("");
}

/// The start of a TLS handshake with one cipher suite, to which a TLS server sends a record.
constexpr std::string_view client_hello{
    "\x16\x03\x01\x00\x2d\x01\x00\x00\x29\x03\x03"
    "colimit asks whether this is TLS\x00\x00\x02\xc0\x2f\x01\x00",
    50};

} // namespace

void session::append_handshake(std::string& out) {
    step_count_ = steps_done_ = 0;
    result_ = handshake_result::fine;
    if (tests_for_tls())
        return (void)out.append(client_hello);
    if (authenticated_) {
        if (settings_.command != script_command::fcall)
            append_script_loads(out);
        // With the command of calls; EVAL is only needed when a server has forgotten the script.
        const auto words = words_of(settings_.command, permissions_script);
        resp::append_command(out, {words.command, words.script, "0", settings_.probe_key});
        return expect(step::permissions);
    }
    if (protocol_ == 3) {
        login_.append_hello(out);
        expect(step::hello);
    } else if (login_.has_credentials()) {
        login_.append_auth(out);
        expect(step::auth);
    }
    if (settings_.role == server_role::sentinel)
        return;
    if (settings_.database != 0) {
        resp::append_command(out, {"SELECT", std::to_string(settings_.database)});
        expect(step::select);
    }
    if (settings_.role == server_role::master) {
        resp::append_command(out, {"ROLE"});
        expect(step::role);
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
    ask_for_module(out);
}

void session::append_script_loads(std::string& out) {
    for (const auto* s : {&check_script, &permissions_script}) {
        resp::append_command(out, {"SCRIPT", "LOAD", s->body});
        expect(step::load);
    }
    script_loads_ += 2;
    loads_ = 0;
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
    probe_.append(out, settings_.probe_key);
    for (auto i = transaction_probe::commands; i != 0; --i)
        expect(step::trial);
}

std::string_view session::expected_reply() const noexcept {
    constexpr auto names =
        std::array<std::string_view, 13>{"HELLO",
                                         "AUTH",
                                         "SELECT",
                                         "ROLE",
                                         "PING",
                                         "SCRIPT LOAD",
                                         "ECHO",
                                         "CLIENT ID",
                                         "INFO",
                                         "TIME",
                                         "permissions",
                                         "commands of MULTI",
                                         "COLIMIT.CHECK, which servers with the module have"};
    static_assert(static_cast<std::size_t>(step::server_module) + 1 == names.size());
    return steps_done_ == step_count_ ? "unexpected reply"
                                      : names[static_cast<std::size_t>(steps_[steps_done_])];
}

/// Returns false if it is not a valid reply to the command, such as an echo of the input.
bool session::record_fact(step s, const resp::decoder& reply, std::string_view bytes,
                          std::int64_t now) {
    const auto& first = reply.first();
    const auto text = reply.text(first, bytes);
    switch (s) {
    case step::hello:
        check_mode(mode_in_hello(reply, bytes));
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
    case step::role:
        read_role(reply, bytes);
        return true;
    case step::info:
        run_id_ = run_id_in(text);
        check_mode(mode_in_info(text));
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

/// Reports an error reply, with what to do if the reply does not say it.
void session::report_refusal(const reply_error& meaning, std::string_view text) {
    if (meaning.recovery == recovery::leave_unloaded)
        return report(meaning.code, missing_library(), text);
    if (authenticated_ && settings_.command == script_command::fcall &&
        text.starts_with("ERR unknown command"))
        return report(meaning.code,
                      "execution_mode::function needs FCALL, which Redis has since 7.0 and Valkey "
                      "since 7.2; the server replied:",
                      text);
    report(meaning.code, text);
}

void session::record_error(step s, std::string_view text) {
    if (s == step::info)
        return; // there are substitutes for commands that may be denied
    if (result_ == handshake_result::refused && error_ == errc::bad_reply)
        return; // the server does not know the commands because it is of another kind
    const auto is_old = s == step::hello &&
                        begins_with_any(text, {"NOPROTO", "ERR unknown command", "ERR Protocol"});
    if (is_old && protocol_ == 3 && settings_.role != server_role::sentinel) {
        result_ = handshake_result::old_server;
        return;
    }
    if (result_ == handshake_result::old_server)
        return; // the commands after HELLO were not meant for such a server
    // A user who may only run the module's commands waits until the server accepts writes.
    if (authenticated_ && !withheld_.empty() && is_refusal(classify(text).code))
        text = withheld_;
    const auto meaning = classify(text);
    const auto is_cluster = facts_.is_cluster || settings_.role == server_role::node;
    if (s == step::select && is_cluster && meaning.code == errc::server_error)
        return refuse_server("a cluster that does not have the database of the address; its "
                             "address is redis+cluster://host:port without /db");
    report_refusal(meaning, text);
    const auto passes = begins_with_any(text, {"LOADING", "BUSY", "MASTERDOWN"});
    result_ = std::max(result_, passes ? handshake_result::not_yet : handshake_result::refused);
    if (passes)
        return;
    const auto is_kept = meaning.code == errc::unavailable || is_refusal(meaning.code);
    error_ = is_kept ? meaning.code : errc::server_error;
    const auto is_late = meaning.recovery == recovery::reconnect_late ||
                         meaning.recovery == recovery::leave_read_only ||
                         error_ != errc::unavailable;
    refusal_ = is_late ? recovery::reconnect_late : recovery::reconnect;
}

/// A server that cannot run this script now may run others later, unless it replies that the user
/// has no permission, that it has no such function, or that it is busy. A function is not even
/// called while the server is read-only.
void session::record_permission_error(std::string_view text) {
    const auto meaning = classify(text);
    if (is_key_denial(text) || meaning.recovery == recovery::leave_read_only)
        return end_probe("", text);
    if (is_refusal(meaning.code) || meaning.recovery == recovery::server_busy)
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
    else if (s == step::server_module)
        read_module(reply, bytes);
    else if (is_error)
        record_error(s, reply.text(first, bytes));
    else if (!record_fact(s, reply, bytes, now))
        refuse_server("not a Redis server; it replied with a value of another type");
    return steps_done_ == step_count_ ? end_handshake(now) : action::nothing;
}

/// Ends the handshake with a server that limiter and configuration do not suit.
void session::refuse(errc code, std::string_view reason, std::string_view received) {
    report(code, reason, received);
    result_ = handshake_result::refused;
    error_ = code;
    refusal_ = recovery::reconnect_late;
}

/// Checks the mode that the server has reported, if it has.
void session::check_mode(std::string_view mode) {
    facts_.is_cluster = facts_.is_cluster || mode == "cluster";
    const auto must_be_sentinel = settings_.role == server_role::sentinel;
    if (mode.empty())
        return;
    if (must_be_sentinel && mode == "cluster")
        refuse_server("not a Sentinel but a node of a cluster, whose address is "
                      "redis+cluster://host:port");
    else if (must_be_sentinel && mode != "sentinel")
        refuse_server("not a Sentinel but a server, whose address is redis://host:port");
    else if (!must_be_sentinel && mode == "sentinel")
        refuse_server("a Sentinel, whose address is redis+sentinel://host:port/master");
    else if (settings_.role == server_role::node && mode != "cluster")
        refuse_server("a server that is in no cluster; its address is redis://host:port");
}

/// Reads the reply to ROLE. Sentinel may name a master before or after it is one.
void session::read_role(const resp::decoder& reply, std::string_view bytes) {
    const auto nodes = reply.nodes();
    if (nodes.size() > 1 && reply.text(nodes[1], bytes) == "master")
        return;
    if (result_ == handshake_result::refused)
        return; // for another reason, which counts
    report(errc::unavailable, "the server is not a master, although Sentinel has named it");
    result_ = handshake_result::refused;
    error_ = errc::unavailable;
    refusal_ = recovery::reconnect;
}

} // namespace colimit::redis
