// SPDX-License-Identifier: BSL-1.0
//
// A file with a document: reads it as a whole, notices that it has changed, and replaces it.

#pragma once

#include <colimit/limits.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace colimit::detail {

/// What was found at a path: a text, or the reason why there is none.
struct file_content {
    std::string text;
    std::string problem; ///< `cannot be read: Permission denied`; empty if there is a text

    friend bool operator==(const file_content&, const file_content&) = default;
};

/// Reads a regular file of at most this many bytes.
[[nodiscard]] file_content read_file(const std::string& path,
                                     std::size_t most = limits::max_json_bytes);

/// Writes a file beside it and renames that to `path`, so that a reader finds the old text or the
/// new one, also after a power failure. Only this user may read it.
/// @throws std::system_error
void replace_file(const std::string& path, std::string_view text);

/// Looks at a file again and again.
class watched_file {
  public:
    explicit watched_file(std::string path) : path_(std::move(path)) {}

    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    /// Reads the file.
    const file_content& read();

    struct look {
        const file_content& content;
        /// It was the same at the previous look: nothing is writing it, unless it takes long.
        bool is_settled;
    };
    /// Looks at the file again. Returns nullopt if it is the same and was settled.
    ///
    /// A changed file is read at two looks: clocks of file systems may be so coarse that a file
    /// changes without a trace right after it was read. One that is there but cannot be read is
    /// read at each look: that may end without a trace, as when a descriptor is free again.
    [[nodiscard]] std::optional<look> poll();
    /// Makes the next look read the file.
    void doubt() noexcept { is_settled_ = false; }

  private:
    /// What `stat` says; all zero if there is no file. The time of the last change of its inode
    /// follows permissions, too.
    struct identity {
        std::uint64_t device = 0;
        std::uint64_t inode = 0;
        std::int64_t size = 0;
        std::int64_t modified = 0; ///< nanoseconds, as the following
        std::int64_t changed = 0;

        friend bool operator==(const identity&, const identity&) = default;
    };
    [[nodiscard]] static identity identity_of(const std::string& path);
    void take(const identity& found);

    std::string path_;
    identity identity_;
    file_content content_;
    bool is_settled_ = false;
};

} // namespace colimit::detail
