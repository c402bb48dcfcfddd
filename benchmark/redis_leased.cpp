// SPDX-License-Identifier: BSL-1.0
//
// What do leases save? As redis_zipf and redis_hot_key, with policies whose leases last so long.

#include <scenarios.hpp>
#include <support/closed_loop.hpp>
#include <support/rules.hpp>
#include <support/server.hpp>

namespace colimit::benchmark {

measurement redis_zipf_leased(const conditions& c, std::chrono::milliseconds length) {
    server{c.socket}.forget_keys();
    return run({.settings = patient(c.socket),
                .policy = thousand_an_hour_any_burst().with_leases(length),
                .callers = 1024,
                .keys = server_keys,
                .drawn = popularity::zipf},
               c);
}

measurement redis_hot_key_leased(const conditions& c, std::chrono::milliseconds length) {
    server{c.socket}.forget_keys();
    return run({.settings = patient(c.socket),
                .policy = thousand_an_hour_any_burst().with_leases(length),
                .callers = 1024,
                .keys = 1},
               c);
}

} // namespace colimit::benchmark
