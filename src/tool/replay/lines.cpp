// SPDX-License-Identifier: BSL-1.0
//
// Lines are found in a buffer with room for two of the longest.

#include <tool/replay/lines.hpp>

#include <algorithm>
#include <span>
#include <utility>

namespace tool::replay {

line_source::line_source(const std::string& path) : file_(path), buffer_(2 * longest) {}

bool line_source::fill() {
    std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
              buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
    end_ -= begin_;
    begin_ = 0;
    const auto count = file_.read(std::span{buffer_}.subspan(end_));
    end_ += count;
    return count != 0;
}

void line_source::skip_rest_of_line() {
    while (is_in_cut_line_) {
        const auto at = unread().find('\n');
        is_in_cut_line_ = at == std::string_view::npos;
        begin_ = is_in_cut_line_ ? end_ : begin_ + at + 1;
        if (is_in_cut_line_ && !fill())
            return;
    }
}

/// Editors of Windows begin a file with this mark.
void line_source::skip_byte_order_mark() {
    constexpr std::string_view mark = "\xef\xbb\xbf";
    while (unread().size() < mark.size() && fill()) {
    }
    if (unread().starts_with(mark))
        begin_ += mark.size();
}

std::optional<text_line> line_source::next() {
    if (!std::exchange(has_begun_, true))
        skip_byte_order_mark();
    skip_rest_of_line();
    auto at = unread().find('\n');
    while (at == std::string_view::npos && unread().size() <= longest && fill())
        at = unread().find('\n');

    const auto size = std::min(at, unread().size());
    if (size == 0 && at == std::string_view::npos)
        return std::nullopt;
    is_in_cut_line_ = size > longest && at == std::string_view::npos;
    const text_line line{unread().substr(0, std::min(size, longest)), size > longest};
    begin_ += at == std::string_view::npos ? size : size + 1;
    return line;
}

} // namespace tool::replay
