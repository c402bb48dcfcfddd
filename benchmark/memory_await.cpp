// SPDX-License-Identifier: BSL-1.0
//
// How many decisions per second does one core make in process through `co_await limiter.allow`? The
// difference to memory_hot is the price of the same code for both stores.

#include <scenarios.hpp>
#include <support/closed_loop.hpp>
#include <support/rules.hpp>

namespace colimit::benchmark {

measurement memory_await(const conditions& c) {
    return run({.settings = {}, .policy = bottomless(), .callers = 256, .keys = 1'000}, c);
}

} // namespace colimit::benchmark
