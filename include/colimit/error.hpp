// SPDX-License-Identifier: BSL-1.0
//
// Error codes (errc) and the reactions to them (condition). A denial is not an error: it is a
// decision, a value. Errors say that there is no decision. `limiter::last_error` has the server's
// message and its time; the events of `config::on_event` report them immediately (diagnostics.hpp).

#pragma once

#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>
#include <string>
#include <type_traits>
#include <utility>

namespace colimit {

using boost::system::error_code;

/// What happened.
enum class errc {
    /// No connection can be made before the deadline, or the circuit breaker is open. Nothing was
    /// charged.
    unavailable = 1,
    /// The deadline passed before the request left this process. Nothing was charged.
    deadline_exceeded,
    /// The request may have reached the server, and no reply came. The quota may or may not have
    /// been charged; the request is never sent again, unless the call has an id: then it was sent
    /// again until the deadline, and may be made again with the same id.
    outcome_unknown,
    /// `config::advanced.max_in_flight` calls, or `config::advanced.max_waiting` calls of `wait`
    /// and `acquire` that
    /// may wait, are incomplete. Nothing was charged.
    too_many_in_flight,
    /// The server refused the command: out of memory, not enough replicas; or the store in this
    /// process has no room to remember one more call with an id, or one more slot. Nothing was
    /// charged.
    server_error,
    /// The server is not a Redis server or uses another protocol: an HTTP server, a TLS server at a
    /// `redis://` address, or a plain one at `rediss://`; or it is a Sentinel and the address that
    /// of a server, or the other way round. Nothing was charged.
    bad_reply,
    /// The key holds a value that colimit did not write. It was not changed.
    key_conflict,
    /// The server's reply and the arithmetic of this process disagree about the same state.
    corrupt_state,
    /// The server rejected the user name or password, does not let the user run the commands or
    /// access the keys that colimit needs, or does not know such a command because it was renamed
    /// or the server is not fully compatible with Redis. With TLS also: it requires a client
    /// certificate, rejects the configured one, or rejects the TLS handshake.
    auth_failed,
    /// The server's certificate is not trusted according to `config::tls`: signed by another CA,
    /// for another name, or not valid at present. No credentials were sent.
    untrusted_server,
    /// The limiter was closed or destroyed. A request that had not been sent charged nothing.
    closed,
    /// A cost, a clock or another argument of a call is out of range, or the policy does not
    /// support the verb (`invalid_policy` if that is so because of a `concurrent` rule).
    /// `message()` of the code that the call ends with says which argument or
    /// rule, what is wrong and what is allowed.
    invalid_argument,
    /// A policy, rule or rule text is not valid, or the execution mode does not support the rule;
    /// the exception, or `message()` of the code that the call ends with, says which rule and why.
    invalid_policy,
    /// A key is longer than `limits::max_key_bytes`.
    invalid_key,
    /// A configuration or server address is not valid; the exception says what and where. Calls end
    /// with it if the Sentinels know no master with the name in the address, and none was known
    /// before; `limiter::last_error` has the names that they know. They also end with it if the
    /// server lacks the library that `execution_mode::function` needs, or the module that
    /// `config::advanced.server_module` requires. Nothing was charged.
    invalid_config,
    /// The server at a `redis://` address is a node of a cluster that does not serve the key's hash
    /// slot: the reply was MOVED, ASK or CROSSSLOT, or no node serves the slot. With a
    /// `redis+cluster://` address redirections are followed. Nothing was charged.
    wrong_node,
};

/// The reaction to an error: `ec == condition::transient` tests for all codes of that kind.
enum class condition {
    /// Nothing was charged, and the same call may succeed later: retry.
    transient = 1,
    /// The call may have been charged: do not repeat it if a double charge matters.
    maybe_charged,
    /// The call, the configuration or the server's setup must be changed first.
    permanent,
    /// The limiter was closed or destroyed.
    closed,
};

/// The category of `errc`. Calls may end with codes of `invalid_argument` and `invalid_policy` that
/// have a specific message, so there are several objects of this category. They are equal, and so
/// are `ec == errc::invalid_argument` and the like. Converted to `std::error_code` they are not:
/// Boost.System makes a standard category of each object. So compare before the conversion, or
/// compare with a `condition`, which works with both.
[[nodiscard]] const boost::system::error_category& error_category() noexcept;
[[nodiscard]] const boost::system::error_category& condition_category() noexcept;

[[nodiscard]] inline error_code make_error_code(errc e) noexcept {
    return {static_cast<int>(e), error_category()};
}

[[nodiscard]] inline boost::system::error_condition make_error_condition(condition c) noexcept {
    return {static_cast<int>(c), condition_category()};
}

/// The exception of constructors and parsers: a code, and in `what()` the problem, its position and
/// the allowed values. Passwords never appear in it.
class error : public boost::system::system_error {
  public:
    error(errc code, std::string reason)
        : boost::system::system_error(make_error_code(code)), reason_(std::move(reason)) {}

    /// Returns the reason alone, without the message of the code.
    [[nodiscard]] const std::string& reason() const noexcept { return reason_; }
    [[nodiscard]] const char* what() const noexcept override { return reason_.c_str(); }

  private:
    std::string reason_;
};

} // namespace colimit

namespace boost::system {

template<>
struct is_error_code_enum<colimit::errc> : std::true_type {};
template<>
struct is_error_condition_enum<colimit::condition> : std::true_type {};

} // namespace boost::system
