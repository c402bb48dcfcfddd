// SPDX-License-Identifier: BSL-1.0
//
// How many checks per second do many callers of one limiter get from one server, if their keys are
// independent? The hardest case for a batch: nothing can be merged, nothing is in a cache.

#include <scenarios.hpp>
#include <support/closed_loop.hpp>
#include <support/rules.hpp>
#include <support/server.hpp>

namespace colimit::benchmark {

measurement redis_uniform(const conditions& c) {
    server{c.socket}.forget_keys();
    return run({.settings = patient(c.socket),
                .policy = thousand_an_hour(),
                .callers = 256,
                .keys = server_keys},
               c);
}

} // namespace colimit::benchmark
