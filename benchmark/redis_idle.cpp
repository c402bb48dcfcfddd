// SPDX-License-Identifier: BSL-1.0
//
// What does a limiter add to a round trip when nothing else is going on? One caller, one call at a
// time; bare_idle is the same without colimit.

#include <scenarios.hpp>
#include <support/closed_loop.hpp>
#include <support/rules.hpp>
#include <support/server.hpp>

namespace colimit::benchmark {

measurement redis_idle(const conditions& c) {
    server{c.socket}.forget_keys();
    return run({.settings = patient(c.socket),
                .policy = thousand_an_hour(),
                .callers = 1,
                .keys = server_keys,
                .time_one_in = 1},
               brief(c));
}

} // namespace colimit::benchmark
