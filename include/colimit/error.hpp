// SPDX-License-Identifier: BSL-1.0
//
// What can go wrong (errc), and what to do about it (condition). A refusal by a limit is not here:
// that is a decision, a value. Errors say that there is no decision. What the server said, and
// when, is in `limiter::last_error`; the events of `config::on_event` tell it at once
// (diagnostics.hpp).

#ifndef COLIMIT_ERROR_HPP
#define COLIMIT_ERROR_HPP

#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>
#include <string>
#include <type_traits>
#include <utility>

namespace colimit {

using boost::system::error_code;

/// What happened.
enum class errc {
    /// No connection to the store, and no hope of one before the deadline. Nothing was charged.
    unavailable = 1,
    /// The deadline passed before the request left this process. Nothing was charged.
    deadline_exceeded,
    /// The request may have reached the server and its reply did not come. The quota may or may not
    /// have been charged; the request is never sent again.
    outcome_unknown,
    /// `config::max_in_flight` calls, or `config::max_waiting` calls of `wait`, are incomplete.
    /// Nothing was charged.
    too_many_in_flight,
    /// The server refused the command: out of memory, not enough replicas. Nothing was charged.
    server_error,
    /// Not a Redis server, or not in this protocol: an HTTP server, a TLS server behind a
    /// `redis://` address or a plain one behind `rediss://`. Nothing was charged.
    bad_reply,
    /// Under this key the server holds something that is not colimit's. It was not touched.
    key_conflict,
    /// The answer of the server and the arithmetic of this process disagree about the same state.
    corrupt_state,
    /// The server did not accept the user name or password, does not let the user run the commands
    /// or touch the keys that colimit needs, or does not know such a command, as it was renamed or
    /// the server is not quite Redis. With TLS also: it wants a client certificate,
    /// does not accept ours, or refuses to speak TLS with us.
    auth_failed,
    /// The server's certificate is not one that `config::tls` trusts: of another authority, for
    /// another name, or not valid today. It was told nothing.
    untrusted_server,
    /// The limiter was closed or destroyed. A request that had not left charged nothing.
    closed,
    /// A cost, a clock or another argument of a call is out of its range, or the policy has no such
    /// verb. `message()` of the code that the call ends with says which argument or rule, what is
    /// wrong and what is allowed.
    invalid_argument,
    /// A policy, rule or rule text makes no sense, or the mode has no such rule; the exception, or
    /// `message()` of the code that the call ends with, says which rule and why.
    invalid_policy,
    /// A key is longer than `limits::max_key_bytes`.
    invalid_key,
    /// A configuration or server address makes no sense; the exception says what and where.
    invalid_config,
    /// The server is a node of a cluster that does not serve the key's hash slot: the reply was
    /// MOVED, ASK or CROSSSLOT, or no node serves the slot. Nothing was charged.
    wrong_node,
};

/// What to do about it. `ec == condition::transient` asks the question for every code at once.
enum class condition {
    /// Nothing was charged, and the same call may succeed later.
    transient = 1,
    /// The call may have been charged: do not repeat it if that matters.
    maybe_charged,
    /// The call, the configuration or the server's set-up must change first.
    permanent,
    /// The limiter is gone.
    closed,
};

/// The category of `errc`. Calls end with codes of `invalid_argument` and `invalid_policy` that
/// have a message of their own, so there are several objects of this category. They are equal, and
/// so are `ec == errc::invalid_argument` and the like. Converted to `std::error_code` they are not:
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

/// What constructors and parsers throw: a code, and in `what()` what was wrong, where, and what is
/// allowed. Passwords never appear in it.
class error : public boost::system::system_error {
  public:
    error(errc code, std::string reason)
        : boost::system::system_error(make_error_code(code)), reason_(std::move(reason)) {}

    /// The reason alone, without the code's own text.
    [[nodiscard]] const std::string& reason() const noexcept { return reason_; }
    [[nodiscard]] const char* what() const noexcept override { return reason_.c_str(); }

  private:
    std::string reason_;
};

} // namespace colimit

template<>
struct boost::system::is_error_code_enum<colimit::errc> : std::true_type {};
template<>
struct boost::system::is_error_condition_enum<colimit::condition> : std::true_type {};

#endif
