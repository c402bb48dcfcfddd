// SPDX-License-Identifier: BSL-1.0
//
// What does the simplest limit cost? As redis_uniform, with a counter for an hour from a key's
// first call on.

#include <scenarios.hpp>
#include <support/closed_loop.hpp>
#include <support/rules.hpp>
#include <support/server.hpp>

namespace colimit::benchmark {

measurement redis_fixed_window(const conditions& c) {
    server{c.socket}.forget_keys();
    return run({.settings = patient(c.socket),
                .policy = thousand_in_an_hour_from_first(),
                .callers = 256,
                .keys = server_keys},
               c);
}

} // namespace colimit::benchmark
