// SPDX-License-Identifier: BSL-1.0
//
// A call without a handler, for tests of the code between a call and the connection: nothing runs
// when it is finished, its code and result are read from it.

#pragma once

#include <colimit/config.hpp>
#include <colimit/detail/operation.hpp>
#include <limiter/limiter_core.hpp>

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <memory>

namespace colimit::test {

/// An operation refers to a limiter; this one is never asked anything.
[[nodiscard]] inline detail::limiter_core& no_limiter() {
    static boost::asio::io_context context;
    static auto core =
        std::make_shared<detail::limiter_core>(context.get_executor(), config{}, false);
    return *core;
}

struct fake_operation : detail::operation {
    fake_operation() : fake_operation(detail::call_request{}) {}
    explicit fake_operation(detail::call_request q, std::int64_t deadline_us = 1'000'000)
        : operation(no_limiter(), [](detail::operation* /*op*/, bool /*invoke*/) {}) {
        request = q;
        deadline = deadline_us;
    }

    /// Returns whether it came back with this code (and, without one, allowed).
    [[nodiscard]] bool ended(error_code code) const noexcept { return !is_held && ec == code; }
    [[nodiscard]] bool is_allowed() const noexcept { return ended({}) && result.allowed(); }
};

} // namespace colimit::test
