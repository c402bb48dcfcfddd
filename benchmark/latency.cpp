// SPDX-License-Identifier: BSL-1.0
//
// How long does a check take under a load that does not wait for results? Uniform keys, from the
// time at which the call was due; bare_NN is the same load without colimit.

#include <scenarios.hpp>
#include <support/open_loop.hpp>
#include <support/random_key.hpp>
#include <support/rules.hpp>
#include <support/server.hpp>

#include <colimit/limiter.hpp>

#include <exception>
#include <stdexcept>

namespace colimit::benchmark {

measurement latency(const conditions& c, double share, key_table table) {
    server{c.socket}.forget_keys();
    auto loop = open_loop{c, share, table};
    auto settings = patient(c.socket);
    settings.advanced.max_in_flight = 16'777'216; // a stall must be visible, not rejected
    auto limited = limiter{loop.context.get_executor(), settings};
    const auto p = thousand_an_hour();
    auto keys = random_key{server_keys, 1};
    return loop.run([&](open_loop::time_point due) {
        limited.allow(keys.next(), p, [&loop, due](const error_code& failure, const decision& d) {
            if (failure)
                loop.failed(std::make_exception_ptr(std::runtime_error{failure.message()}));
            else if (!d.allowed())
                loop.failed(std::make_exception_ptr(std::runtime_error{"a check was refused"}));
            else
                loop.answered(due);
        });
    });
}

} // namespace colimit::benchmark
