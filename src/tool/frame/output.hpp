// SPDX-License-Identifier: BSL-1.0
//
// Standard output: text for people or, with --json, one object per line, as README.md
// documents them.

#pragma once

#include <boost/json/object.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace tool {

class output {
  public:
    /// @param command its name, which every object begins with
    output(std::string command, bool is_json) : command_(std::move(command)), is_json_(is_json) {}

    [[nodiscard]] bool is_json() const noexcept { return is_json_; }
    /// Returns whether text goes to a terminal that interprets escape sequences.
    [[nodiscard]] static bool is_terminal() noexcept;
    /// Returns the columns of the terminal, or 80.
    [[nodiscard]] static std::size_t width() noexcept;

    /// Writes a text, which ends with a line break, at once.
    /// @throws std::runtime_error if standard output is closed or full
    void text(std::string_view text);
    /// Writes `{"command": ..., ...}` and a line break, at once.
    /// @throws std::runtime_error as `text`
    void object(const boost::json::object& members);
    /// Writes a text as it is or, with --json, as the member `text`.
    void document(std::string_view whole);

  private:
    std::string command_;
    bool is_json_;
};

/// Returns bytes, such as a key, as a JSON text: unchanged if they are UTF-8, else with `\xNN` for
/// each byte that is not printable ASCII.
[[nodiscard]] std::string json_text(std::string_view bytes);

} // namespace tool
