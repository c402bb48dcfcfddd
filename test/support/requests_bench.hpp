// SPDX-License-Identifier: BSL-1.0
//
// The requests of a connection without one: what they send, and what they are told.

#pragma once

#include <redis/connection/requests.hpp>
#include <support/script_double.hpp>
#include <support/unit_test.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::test {

/// The commands that are sent now.
[[nodiscard]] inline std::vector<command> asked_by(redis::requests& r) {
    auto out = std::string{};
    if (r.wants_to_write())
        r.write(out, 0, 7);
    return commands_of(out);
}

/// Reads bytes of one reply or push.
inline std::optional<redis::recovery> tell(redis::requests& r, std::string_view bytes) {
    auto reader = redis::resp::decoder{};
    BOOST_REQUIRE((reader.feed(bytes) == redis::resp::progress::complete));
    if (reader.first().kind != redis::resp::kind::push)
        return r.read_reply(reader, bytes);
    r.read_push(reader, bytes);
    return redis::recovery::keep;
}

} // namespace colimit::test
