// SPDX-License-Identifier: BSL-1.0
//
// The last problem of a limiter, and the denials among its problems. Recording allocates nothing
// and cannot fail: the text is bounded, made printable, and rid of its secrets.
//
// A helper is a server that executes no calls: a Sentinel. Its problems are kept apart from those
// of the server, as a dead helper that others replace has new ones all the time, and these explain
// the errors of calls only as long as no server is known.

#pragma once

#include <base/logger.hpp>
#include <colimit/diagnostics.hpp>
#include <limiter/denial_log.hpp>
#include <limiter/problem_text.hpp>
#include <redis/protocol/error_sink.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace colimit::detail {

class problem_log final : public redis::error_sink {
  public:
    using steady_clock = std::int64_t (*)() noexcept;

    /// @param password does not appear in texts without one of their own, as `text_filter` explains
    /// @param clock microseconds of the limiter's steady clock
    /// @param log for each problem that differs from the last one
    problem_log(std::string password, steady_clock clock, logger log = {})
        : password_(std::move(password)), clock_(clock), log_(std::move(log)) {}

    void note(const redis::error_report& what) noexcept override;
    void note_permitted(std::uint64_t policy) noexcept override { denials_.permit(policy); }

    /// Notes that a connection to the server is ready, so that its problem is solved.
    void note_ready() noexcept { state_ = server_state::ready; }

    /// Returns the problem of the server if it is not solved, otherwise the last one of all.
    [[nodiscard]] std::optional<problem> last() const;

    /// Returns the problem of the server if it is not solved.
    [[nodiscard]] std::optional<problem> unsolved() const;

    /// Returns the last problem of the server, or of the helpers if no server is known yet, if it
    /// was recorded at or after this time of the steady clock and `explains(code)` is true for its
    /// code.
    template<class Predicate>
    [[nodiscard]] std::optional<problem> last_since(std::int64_t time, Predicate explains) const {
        const auto& from = state_ == server_state::unknown ? of_helpers_ : of_server_;
        return from.at >= time && explains(from.what.code) ? from.as_problem() : std::nullopt;
    }

    [[nodiscard]] denial_log& denials() noexcept { return denials_; }
    [[nodiscard]] const denial_log& denials() const noexcept { return denials_; }

    /// Sets the commands that the user could not run during the handshake; they are added to a
    /// denial that names none.
    void name_denied(const std::string& commands) noexcept {
        try {
            denied_ = commands;
        } catch (const std::bad_alloc&) {
            denied_.clear();
        }
    }

  private:
    enum class server_state : std::uint8_t { unknown, ready, failed };

    struct entry {
        [[nodiscard]] std::optional<problem> as_problem() const {
            return what.count == 0 ? std::nullopt : std::optional{what.as_problem()};
        }

        problem_record what; ///< of count 0: none
        std::int64_t at = 0;
    };

    std::string password_;
    steady_clock clock_;
    logger log_;
    std::string denied_;
    entry of_server_;
    entry of_helpers_;
    server_state state_ = server_state::unknown;
    denial_log denials_;
};

} // namespace colimit::detail
