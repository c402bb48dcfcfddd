// SPDX-License-Identifier: BSL-1.0
//
// Received bytes that have not been read yet: one block of memory in which replies are decoded in
// place. It grows with the largest reply, so it is bounded like the decoder. Bytes are moved to the
// front only when the space behind them is used up.

#pragma once

#include <boost/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace colimit::redis {

class read_buffer {
  public:
    /// The largest read: a reply to a full batch is about 6 KiB.
    static constexpr std::size_t usual_bytes = std::size_t{64} * 1024;

    read_buffer() : bytes_(usual_bytes) {}

    /// Returns the bytes that have not been consumed, valid until the next `prepare` or `erase`.
    [[nodiscard]] std::string_view unread() const noexcept {
        return {bytes_.data() + begin_, end_ - begin_};
    }
    /// Returns memory for at least half of `usual_bytes`.
    [[nodiscard]] std::span<char> prepare() {
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
    /// Called when this many bytes of the memory from `prepare` have been received.
    void commit(std::size_t count) noexcept {
        BOOST_ASSERT(count <= bytes_.size() - end_);
        end_ += count;
    }
    void consume(std::size_t count) noexcept {
        BOOST_ASSERT(count <= end_ - begin_);
        begin_ += count;
    }
    /// Removes up to `count` unread bytes behind the first `at`. Returns how many were removed.
    std::size_t erase(std::size_t at, std::size_t count) noexcept {
        const auto first = begin_ + at;
        const auto erased = std::min(count, end_ - first);
        std::memmove(bytes_.data() + first, bytes_.data() + first + erased, end_ - first - erased);
        end_ -= erased;
        return erased;
    }
    void clear() noexcept { begin_ = end_ = 0; }

  private:
    std::vector<char> bytes_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

} // namespace colimit::redis
