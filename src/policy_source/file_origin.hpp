// SPDX-License-Identifier: BSL-1.0
//
// Documents in a file, which is looked at in regular polls.
//
// A half-written document is not valid, and a file that is replaced may be missing for a moment. So
// a problem is reported only if two looks find the same; a valid document is taken at the first
// one. The second look also finds a change within a tick of the file system's clock, when neither
// length nor times show it. inotify would need a watch on each directory and link in the path, and
// does not work on network file systems.

#pragma once

#include <async/deadline_timer.hpp>
#include <policy_source/document_file.hpp>
#include <policy_source/source_core.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace colimit::detail {

/// Returns the document of a file.
/// @throws colimit::error with the path of the file
[[nodiscard]] policy_document
parse_file(const std::string& path, const file_content& content,
           policy_document (*parse)(std::string_view) = parse_policy_document);

class file_origin final : public origin {
  public:
    /// Takes the document of the file.
    /// @throws colimit::error as the constructor of the source
    file_origin(source_core& core, std::string path, std::chrono::milliseconds poll_interval);

    void open() override { wait(); }
    void reload() override;
    void close() noexcept override { timer_.clear(); }

  private:
    void on_time();
    template<class Look>
    void attempt(Look look);
    void wait();
    void take(const file_content& content, bool is_settled);

    source_core& core_;
    watched_file file_;
    std::int64_t interval_; ///< microseconds
    std::string in_force_;  ///< the text of the document
    deadline_timer timer_;
};

} // namespace colimit::detail
