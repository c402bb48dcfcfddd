// SPDX-License-Identifier: BSL-1.0
//
// What do popular keys save? As redis_uniform, but the k-th key is asked about in proportion to
// 1/k, as users and pages often are, and by 1,024 callers: calls for one key that meet in a batch
// are one entry of it.

#include <questions.hpp>
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
