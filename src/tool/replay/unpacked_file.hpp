// SPDX-License-Identifier: BSL-1.0
//
// The bytes of a file, plain or gzip, which is detected from the first bytes, not from the name.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

struct z_stream_s; // NOLINT(readability-identifier-naming): the name is zlib's

namespace tool::replay {

/// The file cannot be read, or is not valid; `what()` is a message for the user.
struct input_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A gzip file has one member or several, as `cat` joins them, and zero bytes behind them.
class unpacked_file {
  public:
    /// @throws input_error
    explicit unpacked_file(const std::string& path);

    /// Returns how many bytes were read, 0 at the end. @throws input_error
    [[nodiscard]] std::size_t read(std::span<char> room);

    /// Return the bytes of the file that have been read, and its size (0 if that is not known).
    [[nodiscard]] std::uint64_t position() const noexcept { return position_; }
    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  private:
    struct closer {
        void operator()(std::FILE* file) const noexcept;
    };
    struct ender {
        void operator()(z_stream_s* stream) const noexcept;
    };

    [[noreturn]] void fail(const std::string& why) const;
    /// Reads more of the file, once there is nothing ahead; returns false at its end.
    bool fill();
    std::size_t read_plain(std::span<char> room);
    /// Goes to the next member of a gzip file; returns false at its end.
    bool begin_member();
    /// Unpacks what is ahead. Returns how many bytes that gave, perhaps none.
    std::size_t unpack(std::span<char> room);

    std::string path_;
    std::unique_ptr<std::FILE, closer> file_;
    std::uint64_t position_ = 0;
    std::uint64_t size_ = 0;
    std::vector<unsigned char> buffer_;
    std::span<unsigned char> ahead_;            // of the buffer
    std::unique_ptr<z_stream_s, ender> packed_; // null: the file is plain
    bool is_in_member_ = false;
};

} // namespace tool::replay
