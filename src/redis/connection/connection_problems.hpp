// SPDX-License-Identifier: BSL-1.0
//
// Composes and reports the reasons why a connection could not be made or was lost.

#pragma once

#include <colimit/diagnostics.hpp>
#include <colimit/error.hpp>
#include <redis/connection/session.hpp>
#include <redis/connection/stream.hpp>
#include <redis/protocol/error_sink.hpp>

#include <exception>
#include <string>
#include <string_view>

namespace colimit::redis {

class connection_problems {
  public:
    /// All of them outlive this object.
    /// @param is_named `to` names the server
    connection_problems(error_sink& to, const session& s, const stream& io, bool is_named) noexcept
        : to_(to), session_(s), stream_(io), is_named_(is_named) {}

    [[nodiscard]] phase reached() const noexcept;

    /// Reports that no connection could be made.
    void report_failure(error_code why) noexcept;
    /// Reports that it was not made, or the handshake not complete, in
    /// `config::advanced.connect_timeout`.
    void report_late() noexcept;
    void report_loss(error_code why) noexcept;
    /// Reports an exception of a step: out of memory, or no thread to resolve the host.
    void report_failed_step(const std::exception& why) noexcept {
        to_.note_own(errc::unavailable, reached(), "the connection was closed:", why.what());
    }
    /// Reports a missing or malformed reply.
    void report_reply(std::string_view text) noexcept {
        to_.note_own(errc::unavailable, phase::reply, text, {});
    }
    /// Reports an error reply to a command of the connection itself.
    void report_error(errc code, std::string_view text) noexcept {
        to_.note({.code = code, .phase = phase::reply, .text = text});
    }

  private:
    [[nodiscard]] std::string name() const;

    error_sink& to_;
    const session& session_;
    const stream& stream_;
    bool is_named_;
};

} // namespace colimit::redis
