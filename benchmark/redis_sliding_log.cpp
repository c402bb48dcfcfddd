// SPDX-License-Identifier: BSL-1.0
//
// What does exactness cost? As redis_uniform, with a sliding log: each call is recorded for one
// second. With a script, and with MULTI for servers without scripting.

#include <scenarios.hpp>
#include <support/closed_loop.hpp>
#include <support/rules.hpp>
#include <support/server.hpp>

namespace colimit::benchmark {
namespace {

[[nodiscard]] measurement measure(execution_mode how, const conditions& c) {
    server{c.socket}.forget_keys();
    auto settings = patient(c.socket);
    settings.mode = how;
    return run({.settings = settings,
                .policy = hundred_in_any_second(),
                .callers = 256,
                .keys = server_keys},
               c);
}

} // namespace

measurement redis_sliding_log(const conditions& c) {
    return measure(execution_mode::script, c);
}

measurement redis_transaction(const conditions& c) {
    return measure(execution_mode::multi, c);
}

} // namespace colimit::benchmark
