// SPDX-License-Identifier: BSL-1.0
//
// zlib's gzread reads both kinds of files. It reports only on request that a gzip file ended too
// early, so that is checked at the end.

#include <tool/replay/lines.hpp>

#include <tool/frame/format.hpp>
#include <tool/frame/input.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <zlib.h>

namespace tool::replay {

namespace {

[[noreturn]] void fail(const std::string& path, const std::string& why) {
    throw input_error{"cannot read " + without_addresses(escaped(path)) + ": " + why};
}

} // namespace

void line_source::closer::operator()(gzFile_s* file) const noexcept {
    gzclose(file);
}

line_source::line_source(const std::string& path) : path_(path), buffer_(2 * longest) {
    errno = 0;
    file_.reset(path == standard_input ? gzdopen(dup(STDIN_FILENO), "rb")
                                       : gzopen(path.c_str(), "rb"));
    if (!file_)
        fail(path, errno != 0 ? std::strerror(errno) : "out of memory");
    std::error_code ec;
    if (std::filesystem::is_regular_file(path, ec))
        size_ = std::filesystem::file_size(path, ec);
}

std::uint64_t line_source::position() const noexcept {
    return static_cast<std::uint64_t>(std::max<z_off_t>(gzoffset(file_.get()), 0));
}

bool line_source::fill() {
    std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
              buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
    end_ -= begin_;
    begin_ = 0;
    const auto room = static_cast<unsigned>(buffer_.size() - end_);
    const auto count = gzread(file_.get(), buffer_.data() + end_, room);
    if (count > 0) {
        end_ += static_cast<std::size_t>(count);
        return true;
    }
    auto code = Z_OK;
    const std::string why = gzerror(file_.get(), &code);
    if (code == Z_BUF_ERROR)
        fail(path_, "the gzip file is truncated");
    if (code == Z_ERRNO)
        fail(path_, std::strerror(errno));
    if (count < 0)
        fail(path_, "the gzip file is damaged (" + why.substr(why.rfind(':') + 2) + ")");
    return false;
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
