// SPDX-License-Identifier: BSL-1.0
//
// What do limits per minute, hour and day cost together? As redis_uniform, with three rules that
// are checked at one instant and are one value on the server.

#include <scenarios.hpp>
#include <support/closed_loop.hpp>
#include <support/rules.hpp>
#include <support/server.hpp>

namespace colimit::benchmark {

measurement redis_three_rules(const conditions& c) {
    server{c.socket}.forget_keys();
    return run({.settings = patient(c.socket),
                .policy = minute_hour_and_day(),
                .callers = 256,
                .keys = server_keys},
               c);
}

} // namespace colimit::benchmark
