// SPDX-License-Identifier: BSL-1.0
//
// The operation that replaces a cancelled `wait` must not outlast its request, nor end before it.

#pragma once

#include <colimit/error.hpp>
#include <redis/queue/call_queue.hpp>
#include <support/fake_operation.hpp>
#include <support/unit_test.hpp>

namespace colimit::test {

/// Checks that a substitute ends at the deadline of `op`, whose request has been written.
inline void check_deadline_of_substitute(redis::call_queue& queue, fake_operation& op) {
    auto by = fake_operation{op.request, 0};
    queue.substitute(op, by);
    BOOST_TEST((queue.next_deadline() == op.deadline));
    queue.expire(op.deadline - 1, errc::unavailable);
    BOOST_TEST((queue.done.front() == nullptr));
    queue.expire(op.deadline, errc::unavailable);
    BOOST_TEST((queue.done.front() == &by));
    BOOST_TEST(by.ended(errc::outcome_unknown));
    (void)queue.done.pop_front();
}

} // namespace colimit::test
