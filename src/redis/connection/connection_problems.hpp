// SPDX-License-Identifier: BSL-1.0
//
// Composes and reports the reasons why a connection could not be made or was lost. What its session
// and its requests report passes through here, too: only the connection knows which server it is
// about, and which password no text may show, so that no user of a connection has to say it.

#pragma once

#include <colimit/diagnostics.hpp>
#include <colimit/error.hpp>
#include <redis/connection/address.hpp>
#include <redis/connection/session.hpp>
#include <redis/connection/stream.hpp>
#include <redis/protocol/error_sink.hpp>

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

namespace colimit::redis {

/// Returns the name of the server for messages, with a colon. The port is omitted as long as the
/// address of the host is not known: in `redis://user:12345`, where `@host` was forgotten, it is a
/// password.
[[nodiscard]] std::string server_name(const stream& s);

/// Which problems are reported with the name of the server.
enum class naming : std::uint8_t {
    failures, ///< to connect: the others are of the only server
    all,      ///< it is one of several
    none,     ///< the receiver names it
};

/// Completes the problems of the connection, and of its requests.
class connection_problems final : public error_sink {
  public:
    /// All of them outlive this object.
    /// @param next the address that the connection has from the next attempt on, if it changes
    connection_problems(error_sink& to, const session& s, const stream& io,
                        const std::optional<address>& next, naming names) noexcept
        : to_(to), session_(s), stream_(io), next_(next), naming_(names) {}

    void note(const error_report& what) noexcept override;
    void note_permitted(std::uint64_t policy) noexcept override { to_.note_permitted(policy); }

    [[nodiscard]] phase reached() const noexcept;

    /// Reports that no connection could be made.
    void report_failure(error_code why) noexcept;
    /// Reports that it was not made, or the handshake not complete, in
    /// `config::advanced.connect_timeout`.
    void report_late() noexcept;
    void report_loss(error_code why) noexcept;
    /// Reports an exception of a step: out of memory, or no thread to resolve the host.
    void report_failed_step(const std::exception& why) noexcept {
        note_own(errc::unavailable, reached(), "the connection was closed:", why.what());
    }
    /// Reports a missing or malformed reply.
    void report_reply(std::string_view text) noexcept {
        note_own(errc::unavailable, phase::reply, text, {});
    }
    /// Reports an error reply to a command of the connection itself.
    void report_error(errc code, std::string_view text) noexcept {
        note({.code = code, .phase = phase::reply, .text = text});
    }

  private:
    [[nodiscard]] std::string name() const {
        return naming_ == naming::failures ? server_name(stream_) : std::string{};
    }

    error_sink& to_;
    const session& session_;
    const stream& stream_;
    const std::optional<address>& next_;
    naming naming_;
};

} // namespace colimit::redis
