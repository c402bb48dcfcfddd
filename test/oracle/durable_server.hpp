// SPDX-License-Identifier: BSL-1.0
//
// A server that writes each change to its AOF before it replies: it loses nothing when it is
// killed, also without fsync, as what a process has written outlives it.

#pragma once

#include <support/redis_server.hpp>

namespace colimit::oracle {

[[nodiscard]] inline test::redis_server::options keeps_all() {
    return {.arguments = {"--appendonly", "yes", "--appendfsync", "no",
                          "--auto-aof-rewrite-percentage", "0"}};
}

} // namespace colimit::oracle
