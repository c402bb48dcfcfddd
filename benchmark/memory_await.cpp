// SPDX-License-Identifier: BSL-1.0
//
// How many decisions a second does one core make in process through `co_await limiter.allow`? What
// memory_hot is faster by is the price of asking both stores with the same line of code.

#include <questions.hpp>
#include <support/closed_loop.hpp>
#include <support/rules.hpp>

namespace colimit::benchmark {

measurement memory_await(const conditions& c) {
    return run({.settings = {}, .policy = bottomless(), .callers = 256, .keys = 1'000}, c);
}

} // namespace colimit::benchmark
