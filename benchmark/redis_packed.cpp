// SPDX-License-Identifier: BSL-1.0
//
// What does storing the states of many keys together save? As redis_uniform, with a policy whose
// states are packed.

#include <scenarios.hpp>
#include <support/closed_loop.hpp>
#include <support/rules.hpp>
#include <support/server.hpp>

namespace colimit::benchmark {

measurement redis_packed(const conditions& c) {
    server{c.socket}.forget_keys();
    return run({.settings = patient(c.socket),
                .policy = thousand_an_hour().with_storage(storage::shared_hash),
                .callers = 256,
                .keys = server_keys},
               c);
}

} // namespace colimit::benchmark
