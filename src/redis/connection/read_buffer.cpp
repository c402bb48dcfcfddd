// SPDX-License-Identifier: BSL-1.0
//
// Bytes are moved to the front only when the space behind them is used up.

#include <redis/connection/read_buffer.hpp>

#include <algorithm>
#include <cstring>

namespace colimit::redis {

std::span<char> read_buffer::prepare() {
    if (begin_ == end_)
        clear();
    if (bytes_.size() - end_ < usual_bytes / 2) {
        std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    if (bytes_.size() - end_ < usual_bytes / 2)
        bytes_.resize(2 * bytes_.size()); // at most twice the largest reply
    return std::span{bytes_}.subspan(end_);
}

std::size_t read_buffer::erase(std::size_t at, std::size_t count) noexcept {
    const auto first = begin_ + at;
    const auto erased = std::min(count, end_ - first);
    std::memmove(bytes_.data() + first, bytes_.data() + first + erased, end_ - first - erased);
    end_ -= erased;
    return erased;
}

} // namespace colimit::redis
