// SPDX-License-Identifier: BSL-1.0
//
// Received bytes that have not been read yet: one block of memory in which replies are decoded in
// place. It grows with the largest reply, so it is bounded like the decoder.

#ifndef COLIMIT_REDIS_CONNECTION_READ_BUFFER_HPP
#define COLIMIT_REDIS_CONNECTION_READ_BUFFER_HPP

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace colimit::redis {

class read_buffer {
  public:
    /// The largest read: a reply to a full batch is about 6 KiB.
    static constexpr std::size_t usual_bytes = std::size_t{64} * 1024;

    read_buffer() : bytes_(usual_bytes) {}

    /// Returns the bytes that have not been consumed. Valid until the next call of `prepare` or
    /// `erase`.
    [[nodiscard]] std::string_view unread() const noexcept {
        return {bytes_.data() + begin_, end_ - begin_};
    }
    /// Returns memory for at least half of `usual_bytes`.
    [[nodiscard]] std::span<char> prepare();
    /// Notes that this many bytes of the memory from `prepare` have been received.
    void commit(std::size_t count) noexcept { end_ += count; }
    void consume(std::size_t count) noexcept { begin_ += count; }
    /// Removes up to `count` unread bytes behind the first `at`. Returns how many were removed.
    std::size_t erase(std::size_t at, std::size_t count) noexcept;
    void clear() noexcept { begin_ = end_ = 0; }

  private:
    std::vector<char> bytes_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

} // namespace colimit::redis

#endif
