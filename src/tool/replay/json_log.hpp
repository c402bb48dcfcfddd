// SPDX-License-Identifier: BSL-1.0
//
// One line of a log in which each line is a JSON object, such as
//
//     {"ts": "2015-05-17T10:05:03.25Z", "user": {"id": 42}, "path": "/"}
//
// A field is named by its path, `user.id`, which may also be the name of one member. A line that
// has it more than once is not read, as a guess would charge the wrong client.
//
// Servers write what clients send, which need not be JSON: nginx has `\x22` for a quote, or the
// bytes as they came. Such a line counts, or a client could hide by its user agent.

#pragma once

#include <tool/replay/access_log.hpp>

#include <policy_json/value.hpp>

#include <string>
#include <string_view>

namespace tool::replay {

/// The fields of a log that are read. The others may be anything.
struct json_fields {
    std::string key = "client";
    std::string time = "time";
};

class json_reader {
  public:
    explicit json_reader(json_fields fields) : fields_(std::move(fields)) {}

    /// Returns the key as `client`; valid until the next call. Bytes that are not UTF-8 are read as
    /// the text `\xNN`. The time is a text or a number, see
    /// `read_any_time`, and the key a text or a number of 1 to 255 bytes, except `-`.
    [[nodiscard]] log_reading read(std::string_view text);

  private:
    /// Notes the first problem.
    bool parse(std::string_view text);

    json_fields fields_;
    colimit::json::document last_;
    std::string problem_;
};

} // namespace tool::replay
