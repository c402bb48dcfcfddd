// SPDX-License-Identifier: BSL-1.0
//
// Policies that change while the program runs: a source keeps the current version of a document,
// from a file or from Redis. A document is checked as a whole before any of it is used, and one
// that is not valid leaves the previous one in force. Policies that keep their names keep their
// state, as `policy` documents.

#pragma once

#include <colimit/config.hpp>
#include <colimit/policy_document.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace colimit {

namespace detail {
class source_core;
}

/// The kinds of events of a source. A problem is reported once, when it begins.
enum class policy_event_kind : std::uint8_t {
    /// A document is in force; the text says where it is from, and if it limits less than it seems
    /// to: if no route has a policy that may deny, so that no request is limited, though an
    /// application may use its policies by their names; or if a route matches hardly any request.
    /// See `policy_status::limiting_routes` and `unlikely_routes`.
    loaded,
    /// A document is not valid, or Redis has another one under the version in force; the text has
    /// the path in it and the reason.
    refused,
    older, ///< Redis has a lower version than the one in force, which stays
    /// There is no document: the file cannot be read, the server cannot be reached or denies the
    /// command, or the key does not exist; the text says why.
    unavailable,
    /// The file `policy_source_options::copy` cannot be written, or is not valid; the text says
    /// why.
    copy_failed,
    /// A problem is over, and the document in force is what the file or Redis has, so it was not
    /// loaded again; the text says where it is from.
    recovered,
};

/// An event of a source.
struct policy_event {
    policy_event_kind kind = policy_event_kind::loaded;
    std::chrono::system_clock::time_point at{};
    /// The version that it is about, if it has one.
    std::optional<std::int64_t> version;
    /// One line, in which control characters are escaped, without passwords.
    std::string text;
};

/// Returns the name of the enumerator with spaces, such as `copy failed`.
[[nodiscard]] std::string_view to_string(policy_event_kind k) noexcept;
/// Returns one line, such as `refused: policies.json: routes[2].path is missing`.
[[nodiscard]] std::string to_string(const policy_event& e);
std::ostream& operator<<(std::ostream& out, policy_event_kind k);
std::ostream& operator<<(std::ostream& out, const policy_event& e);

/// The state of a source.
struct policy_status {
    /// Where the document in force is from: `file policies.json`, `Redis` or `copy policies.copy`.
    std::string origin;
    std::optional<std::int64_t> version; ///< of this document
    std::chrono::system_clock::time_point since{};
    std::uint64_t loads = 0; ///< documents that were in force so far, with this one
    /// The routes of this document with a policy that may deny, which one in shadow mode does not,
    /// except the following ones. If there are none, no request is limited by its route.
    std::size_t limiting_routes = 0;
    /// The routes with such a policy whose path or methods hardly any request has, so that they
    /// probably limit nothing: the path is written for another router (`/users/:id`), or has
    /// control characters or blanks around a segment, or no method is a registered one (`ANY`). It
    /// is a guess by what is usual, which `colimit lint` explains; characters that are meant are
    /// percent-encoded (`%3A`).
    std::size_t unlikely_routes = 0;
    /// The last event `refused`, `older` or `unavailable`, while its cause lasts: the reason why
    /// the document in force may not be the one that operators want.
    std::optional<policy_event> problem;
    /// The last event `copy_failed`, until a document is written to the copy.
    std::optional<policy_event> copy_problem;
};

/// If a value is out of range, the constructor of the source throws.
struct policy_source_options {
    /// The time between two looks at the file, or at the version in Redis: 10 ms to 1 h. A change
    /// is in force after one such time, and a Redis server that was away is connected to again
    /// within `config::advanced.reconnect_delay_max`.
    std::chrono::milliseconds poll_interval{250};

    /// Whether the source calls `reload` on SIGHUP, which does not end the process then.
    bool reload_on_hangup = false;

    /// Called for each event, for a log; empty by default. It is posted to the executor of the
    /// source, and events arrive one after another in their order. It may call any function of the
    /// source, which may be closed or gone by then. An exception that it throws leaves the
    /// context's `run`.
    std::function<void(const policy_event&)> on_event{};

    /// For documents in Redis: a file to which each document that comes into force from there is
    /// written, with its version, so that a process that starts while Redis is away begins with it.
    /// It is replaced as a whole (by rename), so processes may share one; it must be another file
    /// than the one that the source begins with. Empty by default: none.
    std::string copy{};
};

/// A document that is replaced while it is used.
///
/// @par Threads Every function except moving and destroying may be called from any thread. The
/// source does its work, such as reading and checking a document, on the executor, on a strand of
/// its own. If a strand of Asio itself lacks memory, the process may end.
///
/// @par Lifetimes A source must not outlive its context. It keeps `context.run()` from returning
/// until it is closed or destroyed.
class policy_source {
  public:
    using executor_type = boost::asio::any_io_executor;

    /// A document in a file. It is read here, and again when it has changed, however that was done:
    /// by writing it or renaming another over it, or by exchanging a symbolic link in its path. So
    /// that a file which is being written is not taken for an error, an event reports one that is
    /// not valid, or does not exist, only if it is still the same at the next look.
    /// @throws colimit::error with `errc::invalid_config` if the file cannot be read or is longer
    /// than `limits::max_json_bytes`, or for options that are not valid; with
    /// `errc::invalid_policy` if it is not a valid document. `what()` begins with its path.
    policy_source(executor_type executor, std::string file,
                  const policy_source_options& options = {});

    /// A document in Redis or Valkey: the fields `version` and `document` of the hash
    /// `PREFIX:policies`, with `config::prefix`. One command publishes both:
    ///
    ///     redis-cli -x HSET colimit:policies version 8 document < policies.json
    ///
    /// Every process takes it with its next poll. A lower version than the one in force is not
    /// taken, and another document under the same version is refused, since processes that start
    /// later would have it; so publish each change with a higher version, and an earlier document
    /// under a new version, too. If the document has a `version` itself, it must be the same. One
    /// that is not valid is refused by every process.
    ///
    /// Whether a version still has the document that was read is looked at about once a second, and
    /// for large documents less often, so that a process reads 64 KiB per second on average. One
    /// that was refused is read again after the poll interval, then after twice that, up to a
    /// minute: a correction under the same version is taken then, one under a higher version with
    /// the next poll, and both at once by `reload`.
    ///
    /// Until Redis has replied, the document of `policy_source_options::copy` is in force, or that
    /// of `file` if it has a higher version or there is no valid copy. Neither is watched.
    ///
    /// The connection is the source's own, with the address, the credentials, TLS, and the times of
    /// `server`; its user needs `+hmget` for the key. On a cluster it is to the node that serves
    /// the key; while its slot moves, the document in force stays.
    /// @throws colimit::error as above, and with `errc::invalid_config` for a configuration that is
    /// not valid, or has the address `memory:`
    policy_source(executor_type executor, std::string file, const config& server,
                  const policy_source_options& options = {});

    /// As `close`.
    ~policy_source();
    policy_source(policy_source&&) noexcept = default;
    policy_source& operator=(policy_source&& other) noexcept;
    policy_source(const policy_source&) = delete;
    policy_source& operator=(const policy_source&) = delete;

    /// Returns the document in force, never null. Costs a lock and a reference count.
    [[nodiscard]] std::shared_ptr<const policy_document> current() const;

    [[nodiscard]] policy_status status() const;

    /// Looks at the file, or at Redis, as soon as the executor runs, and reports a file that is not
    /// valid at once.
    void reload();

    /// Ends the polls and the connection; the document stays. A second call does nothing.
    void close() noexcept;

  private:
    std::shared_ptr<detail::source_core> core_;
};

} // namespace colimit
