// SPDX-License-Identifier: BSL-1.0
//
// What does remembering each call cost? As redis_uniform, with an id for each call, all different.
// They are remembered for a second, so that the server's memory is not what is measured.

#include <scenarios.hpp>
#include <support/closed_loop.hpp>
#include <support/rules.hpp>
#include <support/server.hpp>

#include <chrono>

namespace colimit::benchmark {

measurement redis_ids(const conditions& c) {
    server{c.socket}.forget_keys();
    auto settings = patient(c.socket);
    settings.timeout = std::chrono::seconds{1};
    settings.advanced.request_ttl = std::chrono::seconds{2};
    return run({.settings = settings,
                .policy = thousand_an_hour(),
                .callers = 256,
                .keys = server_keys,
                .has_ids = true},
               c);
}

} // namespace colimit::benchmark
