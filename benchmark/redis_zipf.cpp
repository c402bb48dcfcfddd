// SPDX-License-Identifier: BSL-1.0
//
// What do popular keys save? As redis_uniform, but the frequency of the k-th key is proportional to
// 1/k, as often with users and pages, and with 1,024 callers: calls for one key in a batch are
// merged into one entry.

#include <scenarios.hpp>
#include <support/closed_loop.hpp>
#include <support/rules.hpp>
#include <support/server.hpp>

namespace colimit::benchmark {

measurement redis_zipf(const conditions& c) {
    server{c.socket}.forget_keys();
    return run({.settings = patient(c.socket),
                .policy = thousand_an_hour_any_burst(),
                .callers = 1024,
                .keys = server_keys,
                .drawn = popularity::zipf},
               c);
}

} // namespace colimit::benchmark
