// SPDX-License-Identifier: BSL-1.0
//
// How much do two threads gain with one server, each with its own limiter? Each has 256 callers, as
// the one of redis_uniform. Threads get a core each where there are three or more; on two they
// share one, which shows the gain and cost of a second connection.

#include <scenarios.hpp>
#include <support/closed_loop.hpp>
#include <support/rules.hpp>
#include <support/server.hpp>

namespace colimit::benchmark {

measurement redis_threads_2(const conditions& c) {
    server{c.socket}.forget_keys();
    return run_on_threads(2,
                          {.settings = patient(c.socket),
                           .policy = thousand_an_hour(),
                           .callers = 256,
                           .keys = server_keys},
                          c);
}

} // namespace colimit::benchmark
