// SPDX-License-Identifier: BSL-1.0
//
// The state machine of a connection: connect, handshake, serve, and after a loss wait and start
// again. It returns the next action and when to wake it; the connection with the socket performs
// the action. No sockets, no clock of its own: times are arguments, in microseconds.
//
//   idle -> connecting -> handshake -> ready
//              ^  |          | |        |        idle: again, when the server is not needed
//              |  v          v |        v
//             waiting  <---- loss ------+        closed: from any state, final
//
// The handshake is sent in two writes: HELLO with the credentials and SELECT; then SCRIPT LOAD,
// because a server disconnects clients that send more than 16 KB before they have authenticated. If
// scripts are functions, the second write loads nothing, and its reply shows whether the server has
// their library. The first write also asks for the server module; if calls are executed by that,
// there is no second one. If scripts are off, it is one write with the commands that transactions
// need: ECHO (which a server that is loading its dataset refuses, like a call), CLIENT ID, INFO
// server, TIME, and the probe of the user's permissions. A Sentinel gets only HELLO. If the server
// does not know HELLO, the handshake is repeated in RESP2; if it is loading its dataset, the
// handshake is repeated later, on the same connection.

#pragma once

#include <colimit/error.hpp>
#include <colimit/module_use.hpp>
#include <redis/connection/login.hpp>
#include <redis/connection/requests.hpp>
#include <redis/connection/transaction_probe.hpp>
#include <redis/protocol/error_sink.hpp>
#include <redis/protocol/reply_error.hpp>
#include <redis/protocol/resp.hpp>
#include <redis/protocol/script.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>

namespace colimit::redis {

/// What the server must be.
enum class server_role : std::uint8_t {
    any,      ///< it executes calls, whatever it is
    master,   ///< as Sentinel has named it; ROLE shows whether it is
    sentinel, ///< it is asked for a master, and executes no calls; RESP3 only
    node,     ///< of a cluster
};

struct session_settings {
    server_role role = server_role::any;
    std::string user = {};
    std::string password = {};
    std::function<credentials()> credentials_source = {}; ///< replaces user and password if given
    int database = 0;
    std::string probe_key = {}; ///< a key with the prefix, of no policy, for testing permissions
    int protocol = 3;
    bool transactions = false; ///< load no script, and test the commands that transactions need
    script_command command = script_command::evalsha; ///< what runs scripts; fcall: load none
    module_use server_module = module_use::never;     ///< whether that executes calls
    bool executes_calls = true; ///< else no script is loaded, and no permission tested
    std::int64_t connect_timeout = 1'000'000; ///< microseconds, as the following
    std::int64_t reconnect_delay_min = 10'000;
    std::int64_t reconnect_delay_max = 1'500'000; ///< also after each refusal of this client
    bool plain_tcp = false;                       ///< the port may expect TLS
    std::uint32_t seed = 1;                       ///< of the jitter
};

enum class session_state : std::uint8_t { idle, connecting, handshake, ready, waiting, closed };

/// What the connection has to do after an event.
enum class action : std::uint8_t {
    nothing,
    connect,    ///< open a connection to the server
    send,       ///< send the bytes that `append_handshake` appends
    serve,      ///< the connection is ready: send calls
    disconnect, ///< close the connection if there is one; the session waits
};

/// Returns whether server and limiter do not accept each other until the configuration changes.
[[nodiscard]] constexpr bool is_refusal(errc code) noexcept {
    return code == errc::auth_failed || code == errc::untrusted_server || code == errc::bad_reply ||
           code == errc::invalid_config;
}

/// Returns the error of calls whose connection ended with `why`: a refusal, or `unavailable`.
[[nodiscard]] inline errc connection_error(error_code why) noexcept {
    for (const auto code : {errc::auth_failed, errc::untrusted_server, errc::bad_reply})
        if (why == code)
            return code;
    return errc::unavailable;
}

class session {
  public:
    explicit session(session_settings settings);

    [[nodiscard]] session_state state() const noexcept { return state_; }
    /// Returns when `wake` is to be called, if at all.
    [[nodiscard]] std::optional<std::int64_t> wake_at() const noexcept;
    /// Returns why there is no ready connection: `unavailable`, `auth_failed`, `untrusted_server`,
    /// `bad_reply`, `server_error`, or what `set_error` has set.
    [[nodiscard]] errc error() const noexcept { return error_; }
    /// Returns whether authentication or verification failed, this is not a Redis server, or no
    /// Sentinel knows the master: retrying is useless until the configuration changes.
    [[nodiscard]] bool has_connection() const noexcept {
        return connected_ || state_ == session_state::connecting;
    }
    [[nodiscard]] bool is_refused() const noexcept { return is_refusal(error_); }
    /// Returns whether the server has refused a command of the current handshake, with a message.
    [[nodiscard]] bool has_error_reply() const noexcept {
        return state_ == session_state::handshake &&
               (result_ == handshake_result::not_yet || result_ == handshake_result::refused);
    }
    /// Returns whether `wake` will end the attempt to connect because it has taken too long. In the
    /// test for TLS, silence is a valid result and not a problem.
    [[nodiscard]] bool is_too_late(std::int64_t now) const noexcept {
        const auto tests_tls = state_ == session_state::handshake && tests_for_tls();
        return (state_ == session_state::connecting || state_ == session_state::handshake) &&
               now >= due_ && !tests_tls;
    }
    /// While connecting with TLS: returns when to test whether a silent server is a plain-text one.
    [[nodiscard]] std::int64_t plaintext_probe_at() const noexcept {
        return due_ - settings_.connect_timeout / 4;
    }
    /// Returns the time before which no connection will be ready (in the past during an attempt,
    /// and if the address is not known yet).
    [[nodiscard]] std::int64_t earliest_ready_at() const noexcept {
        if (state_ == session_state::idle && is_refused())
            return std::numeric_limits<std::int64_t>::max();
        return state_ == session_state::waiting ? due_ : 0;
    }
    /// Sets the error while the address is not known; if it is a refusal, calls do not wait.
    void set_error(errc why) noexcept {
        BOOST_ASSERT(state_ == session_state::idle);
        error_ = why;
    }

    /// Extends the attempt: it has at least a quarter of `connect_timeout` from now, however late
    /// this process has noticed its progress.
    void note_progress(std::int64_t now) noexcept {
        due_ = std::max(due_, now + settings_.connect_timeout / 4);
    }
    /// Called when the server is at another address now: connects there without a pause, unless
    /// this is `idle` or `closed`.
    [[nodiscard]] action moved(std::int64_t now);
    /// Leaves `idle`: `wake` starts the first attempt, so that the source of credentials is not
    /// called from here.
    void open(std::int64_t now) noexcept {
        BOOST_ASSERT(state_ == session_state::idle);
        state_ = session_state::waiting;
        due_ = now;
    }
    /// Begins an attempt.
    [[nodiscard]] action start(std::int64_t now);
    [[nodiscard]] action connected();
    void append_handshake(std::string& out);
    /// Reads the next reply of the handshake.
    [[nodiscard]] action read_reply(const resp::decoder& reply, std::string_view bytes,
                                    std::int64_t now);
    /// Reads bytes that are not a valid reply of the handshake. If they come first, this is not a
    /// Redis server.
    [[nodiscard]] action read_garbage(std::int64_t now, std::string_view bytes);
    /// Called when the server is not needed: back to `idle`, without an error.
    [[nodiscard]] action suspend() noexcept;
    /// Called when the connection is lost, could not be made, or cannot be used any more.
    [[nodiscard]] action lost(std::int64_t now, recovery why = recovery::reconnect,
                              errc error = errc::unavailable);
    /// Like `lost` above, with the error of the stream.
    [[nodiscard]] action lost(std::int64_t now, error_code why);
    [[nodiscard]] action wake(std::int64_t now);
    /// Called when a call was executed: after a loss of the connection, the pauses start small
    /// again. For a server that completes handshakes but executes no calls they do not.
    void served() noexcept { pause_ = settings_.reconnect_delay_min; }
    /// Returns the command whose reply is expected next in the handshake, for a log.
    [[nodiscard]] std::string_view expected_reply() const noexcept;
    /// The connection is ready.
    [[nodiscard]] const server_facts& facts() const noexcept { return facts_; }
    /// Returns commands that the user may not run, but that not all calls need, as far as the
    /// server reports them; separated by spaces.
    [[nodiscard]] const std::string& denied_commands() const noexcept { return denied_; }
    [[nodiscard]] std::uint64_t script_loads() const noexcept { return script_loads_; }
    /// Returns the number of handshakes in which the server has loaded all scripts.
    [[nodiscard]] std::uint64_t scripts_loaded() const noexcept { return scripts_loaded_; }
    /// Sets the receiver of problems of the handshake, which outlives the session.
    void report_to(error_sink& to) noexcept { errors_ = &to; }
    [[nodiscard]] server_role role() const noexcept { return settings_.role; }
    /// Returns the password of the current attempt.
    [[nodiscard]] std::string_view password() const noexcept { return login_.password(); }
    void close() noexcept { state_ = session_state::closed; }

  private:
    enum class step : std::uint8_t {
        hello,
        auth,
        select,
        role,
        ping,
        load,
        echo,
        identity,
        info,
        time,
        permissions,
        trial,
        server_module
    };

    void expect(step s) noexcept {
        BOOST_ASSERT(step_count_ < steps_.size());
        steps_[step_count_++] = s;
    }
    [[nodiscard]] bool runs_scripts() const noexcept {
        return !settings_.transactions && settings_.executes_calls;
    }
    /// Returns whether scripts are loaded after the first part of the handshake.
    [[nodiscard]] bool has_second_part() const noexcept {
        return runs_scripts() && facts_.server_module != module_state::usable;
    }
    void append_queries(std::string& out);
    void append_script_loads(std::string& out);
    void ask_for_module(std::string& out);
    void read_module(const resp::decoder& reply, std::string_view bytes);
    void use_module() noexcept;
    void report_refusal(const reply_error& meaning, std::string_view text);
    void record_error(step s, std::string_view text);
    void forget_server() noexcept;
    void record_permission_error(std::string_view text);
    void refuse_server(std::string_view reason) { refuse(errc::bad_reply, reason); }
    void refuse(errc code, std::string_view reason, std::string_view received = {});
    void read_permissions(const resp::decoder& reply, std::string_view bytes);
    void read_trial(std::string_view error);
    void end_probe(std::string_view refusal, std::string_view error);
    [[nodiscard]] bool record_fact(step s, const resp::decoder& reply, std::string_view bytes,
                                   std::int64_t now);
    [[nodiscard]] bool record_time(std::optional<std::int64_t> time, std::int64_t now);
    void check_mode(std::string_view mode);
    void read_role(const resp::decoder& reply, std::string_view bytes);
    [[nodiscard]] action reject_server(std::int64_t now, std::string_view bytes);
    [[nodiscard]] action end_handshake(std::int64_t now);
    void pause(std::int64_t now, bool refused);
    [[nodiscard]] bool tests_for_tls() const noexcept;

    void report(errc code, std::string_view text, std::string_view received = {}) noexcept {
        if (errors_ != nullptr)
            errors_->note({code, phase::handshake, text, received});
    }

    error_sink* errors_ = nullptr;
    int silent_losses_ = 0;   ///< connections in a row that ended before the first reply
    bool speaks_tls_ = false; ///< the server has replied to a TLS handshake
    bool was_ready_ = false;
    bool writes_failed_ = false; ///< the server of the previous connection was read-only
    std::string denied_;
    std::string withheld_; ///< the error with which the server has withheld the module
    session_settings settings_;
    login login_;
    session_state state_ = session_state::idle;
    errc error_ = errc::unavailable;
    int protocol_;
    bool authenticated_ = false; ///< the first part of the handshake was accepted
    bool connected_ = false;     ///< also while waiting for a server that is loading its dataset
    /// Expected replies: HELLO or AUTH, SELECT, ROLE, four facts about the server, and the probe;
    /// or fewer.
    std::array<step, 7 + transaction_probe::commands> steps_{};
    std::size_t step_count_ = 0;
    std::size_t steps_done_ = 0;
    /// The worst result of the handshake's replies.
    enum class handshake_result : std::uint8_t { fine, old_server, not_yet, refused } result_{};
    server_facts facts_;
    transaction_probe probe_;
    std::string run_id_; ///< its first half, if the server sent it
    std::int64_t client_id_ = 0;
    recovery refusal_ = recovery::reconnect;
    std::uint64_t script_loads_ = 0;
    std::uint64_t scripts_loaded_ = 0;
    int loads_ = 0; ///< in this handshake
    std::int64_t due_ = 0;
    std::int64_t pause_;
    std::minstd_rand random_;
};

} // namespace colimit::redis
