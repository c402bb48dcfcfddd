// SPDX-License-Identifier: BSL-1.0
//
// What does FCALL cost the server, compared with EVALSHA? As redis_uniform, where the script is a
// function.

#include <scenarios.hpp>
#include <support/closed_loop.hpp>
#include <support/rules.hpp>
#include <support/server.hpp>

namespace colimit::benchmark {

measurement redis_function(const conditions& c) {
    const auto to = server{c.socket};
    to.forget_keys();
    to.load_functions();
    auto settings = patient(c.socket);
    settings.advanced.mode = execution_mode::function;
    return run(
        {.settings = settings, .policy = thousand_an_hour(), .callers = 256, .keys = server_keys},
        c);
}

} // namespace colimit::benchmark
