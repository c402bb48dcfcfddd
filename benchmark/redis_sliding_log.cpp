// SPDX-License-Identifier: BSL-1.0
//
// What does exactness cost? As redis_uniform, with a sliding log: each call is recorded for one
// second. With a script, and with MULTI for servers without scripting. And the memory of logs of a
// hundred events, which does not depend on the rate.

#include <scenarios.hpp>
#include <support/callers.hpp>
#include <support/closed_loop.hpp>
#include <support/rules.hpp>
#include <support/server.hpp>

namespace colimit::benchmark {
namespace {

[[nodiscard]] measurement measure(execution_mode how, const conditions& c) {
    server{c.socket}.forget_keys();
    auto settings = patient(c.socket);
    settings.advanced.mode = how;
    auto m = run({.settings = settings,
                  .policy = hundred_in_any_second(),
                  .callers = 256,
                  .keys = server_keys},
                 c);
    server{c.socket}.forget_keys();
    // Few at a time: two calls on a key in one batch may be one event.
    auto filling = callers{{.settings = settings,
                            .policy = thousand_in_any_hour(),
                            .callers = 16,
                            .keys = weighed_logs}};
    filling.call(std::uint64_t{events_of_weighed_log} * weighed_logs);
    filling.end();
    filling.must_not_be_refused();
    m.bytes_per_key = server{c.socket}.bytes_of_each_key();
    return m;
}

} // namespace

measurement redis_sliding_log(const conditions& c) {
    return measure(execution_mode::script, c);
}

measurement redis_transaction(const conditions& c) {
    return measure(execution_mode::multi, c);
}

} // namespace colimit::benchmark
