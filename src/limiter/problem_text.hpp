// SPDX-License-Identifier: BSL-1.0
//
// The text of a problem, in memory of a fixed size, the filter for what a server has sent, and a
// recorded problem, without allocated memory, from which `colimit::problem` is made.

#pragma once

#include <colimit/diagnostics.hpp>
#include <colimit/limits.hpp>

#include <boost/static_string/static_string.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace colimit::detail {

using problem_text = boost::static_string<limits::max_problem_bytes>;

/// Returns false, and appends nothing, if it does not fit.
inline bool append_whole(problem_text& out, std::string_view part) noexcept {
    if (part.size() > out.max_size() - out.size())
        return false;
    out.append(part.data(), part.size());
    return true;
}

/// Makes texts printable, and removes the password from them. The password is searched for in the
/// whole text, before it is truncated: as it is, percent-encoded as in addresses, and with
/// backslashes as servers write characters that are not printable.
class text_filter {
  public:
    /// @param password outlives the filter
    explicit text_filter(std::string_view password) : password_(password) {}

    enum class origin : std::uint8_t {
        /// This process or the operating system.
        own,
        /// An error reply. The password is replaced by stars; also if the text ends within it,
        /// after at least four of its characters. If the password is shorter than that and occurs
        /// in the text, the reason is appended instead of the text.
        words,
        /// The first line of what was received, which may end anywhere, so also within the password
        /// after any number of its characters.
        received,
    };
    /// Appends a text, and truncates it so that `reserve` more bytes fit.
    void append(problem_text& out, std::string_view text, origin of,
                std::size_t reserve = 0) const noexcept;

  private:
    /// Returns how many bytes at the beginning of the text are the password, or, at the end of the
    /// text, at least so many bytes of its beginning.
    [[nodiscard]] std::size_t size_of_secret(std::string_view text,
                                             std::size_t least) const noexcept;

    std::string_view password_;
};

struct problem_record {
    using clock = std::chrono::system_clock;

    errc code{};
    colimit::phase phase{};
    problem_text text;
    clock::time_point first;
    clock::time_point last;
    std::uint64_t count = 0;

    [[nodiscard]] bool is_same(const problem_record& other) const noexcept {
        return code == other.code && phase == other.phase && text == other.text;
    }

    void repeat(clock::time_point now) noexcept {
        last = now;
        ++count;
    }

    [[nodiscard]] problem as_problem() const {
        return {code, phase, {text.begin(), text.end()}, first, last, count};
    }
};

} // namespace colimit::detail
