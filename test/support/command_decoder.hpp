// SPDX-License-Identifier: BSL-1.0
//
// Commands, as servers read them: the text of the script is longer than the strings of replies.

#pragma once

#include <redis/protocol/resp.hpp>

namespace colimit::test {

[[nodiscard]] inline redis::resp::decoder command_decoder() {
    return redis::resp::decoder{redis::resp::decoder::long_bulks::malformed,
                                {.bulk = redis::resp::reply_bytes / 2}};
}

} // namespace colimit::test
