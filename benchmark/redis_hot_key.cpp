// SPDX-License-Identifier: BSL-1.0
//
// How many checks per second does one key get, such as the limit of a whole service? All calls of a
// batch are one entry: the server counts once. 1,024 callers, as in services that need such a
// limit.

#include <scenarios.hpp>
#include <support/closed_loop.hpp>
#include <support/rules.hpp>
#include <support/server.hpp>

namespace colimit::benchmark {

measurement redis_hot_key(const conditions& c) {
    server{c.socket}.forget_keys();
    return run({.settings = patient(c.socket),
                .policy = thousand_an_hour_any_burst(),
                .callers = 1024,
                .keys = 1},
               c);
}

} // namespace colimit::benchmark
