// SPDX-License-Identifier: BSL-1.0
//
// The last problem of a limiter. Recording allocates nothing and cannot fail: the text is bounded,
// made printable and freed of secrets when it is recorded.

#ifndef COLIMIT_ENGINE_PROBLEM_LOG_HPP
#define COLIMIT_ENGINE_PROBLEM_LOG_HPP

#include <colimit/diagnostics.hpp>
#include <colimit/limits.hpp>
#include <redis/error_sink.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace colimit::detail {

class problem_log final : public redis::error_sink {
  public:
    /// @param password does not appear in any text, if it has at least four characters
    explicit problem_log(std::string password) : password_(std::move(password)) {}

    void note(errc code, phase where, std::string_view text) noexcept override;

    [[nodiscard]] std::optional<problem> last() const;

    /// Whether a denied command or key has been noted since the last call, as a new problem.
    [[nodiscard]] bool take_denial() noexcept { return std::exchange(denial_, false); }

    /// Commands that the user could not run at the handshake; added to a denial that names none.
    void name_denied(std::string commands) { denied_ = std::move(commands); }

  private:
    using clock = std::chrono::system_clock;

    struct bounded_text {
        std::array<char, limits::problem_bytes> bytes{};
        std::size_t size = 0;

        [[nodiscard]] std::string_view view() const noexcept { return {bytes.data(), size}; }
        /// Returns false, and appends nothing, if it does not fit.
        bool append(std::string_view part) noexcept;
    };

    void append_printable(bounded_text& out, std::string_view text) const noexcept;

    std::string password_;
    std::string denied_;
    errc code_{};
    phase phase_{};
    bounded_text text_;
    clock::time_point first_;
    clock::time_point last_;
    std::uint64_t count_ = 0;
    bool denial_ = false;
};

} // namespace colimit::detail

#endif
