// SPDX-License-Identifier: BSL-1.0
//
// The text of a problem, in memory of a fixed size, and the filter for what a server has sent.

#pragma once

#include <colimit/limits.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace colimit::detail {

class problem_text {
  public:
    [[nodiscard]] std::string_view view() const noexcept { return {bytes_.data(), size_}; }

    /// Returns how many more bytes fit.
    [[nodiscard]] std::size_t room() const noexcept { return bytes_.size() - size_; }

    /// Returns false, and appends nothing, if it does not fit.
    bool append(std::string_view part) noexcept {
        if (part.size() > room())
            return false;
        std::ranges::copy(part, bytes_.begin() + static_cast<std::ptrdiff_t>(size_));
        size_ += part.size();
        return true;
    }

    /// Keeps only the first `size` bytes.
    void cut(std::size_t size) noexcept { size_ = size; }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }

  private:
    std::array<char, limits::max_problem_bytes> bytes_{};
    std::size_t size_ = 0;
};

/// Makes texts printable, and removes the password from them. The password is searched for in the
/// whole text, before it is truncated: as it is, percent-encoded as in addresses, and with
/// backslashes as servers write characters that are not printable.
class text_filter {
  public:
    explicit text_filter(std::string password) : password_(std::move(password)) {}

    /// Appends a text of this process or of the operating system: at most `room` bytes.
    void append_own(problem_text& out, std::string_view text, std::size_t room) const noexcept;

    /// Appends the message of an error reply. The password is replaced by stars; also if the text
    /// ends within it, after at least four of its characters. If the password is shorter than that
    /// and occurs in the text, the reason is appended instead of the text.
    void append_words(problem_text& out, std::string_view text, std::size_t room) const noexcept;

    /// Appends the first line of what was received, which may end anywhere, so also within the
    /// password after any number of its characters.
    void append_received(problem_text& out, std::string_view bytes,
                         std::size_t room) const noexcept;

  private:
    struct kind;

    /// Returns how many bytes at the beginning of the text are the password, or its beginning.
    [[nodiscard]] std::size_t size_of_secret(std::string_view text,
                                             std::size_t least) const noexcept;
    void append(problem_text& out, std::string_view text, std::size_t room,
                const kind& of) const noexcept;

    std::string password_;
};

} // namespace colimit::detail
