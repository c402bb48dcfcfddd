// SPDX-License-Identifier: BSL-1.0
//
// The lines of a file, plain or gzip. Memory is bounded: of a line that is too long only the
// beginning is kept.

#pragma once

#include <tool/replay/unpacked_file.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tool::replay {

struct text_line {
    std::string_view text; ///< without its end; valid until the next line is read
    bool is_cut = false;   ///< there is more of it than `line_source::longest`
};

class line_source {
  public:
    static constexpr std::size_t longest = 65'536;

    /// @throws input_error
    explicit line_source(const std::string& path);

    /// Returns the next line, or nullopt after the last. @throws input_error
    [[nodiscard]] std::optional<text_line> next();

    /// Return the bytes of the file that have been read, and its size (0 if that is not known).
    [[nodiscard]] std::uint64_t position() const noexcept { return file_.position(); }
    [[nodiscard]] std::uint64_t size() const noexcept { return file_.size(); }

  private:
    /// Reads more; returns false at the end of the file.
    bool fill();
    void skip_rest_of_line();
    void skip_byte_order_mark();
    [[nodiscard]] std::string_view unread() const noexcept {
        return {buffer_.data() + begin_, end_ - begin_};
    }

    unpacked_file file_;
    std::vector<char> buffer_;
    std::size_t begin_ = 0; // of the data that was read and not returned yet
    std::size_t end_ = 0;
    bool has_begun_ = false;
    bool is_in_cut_line_ = false;
};

} // namespace tool::replay
