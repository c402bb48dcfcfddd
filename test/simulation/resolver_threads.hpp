// SPDX-License-Identifier: BSL-1.0
//
// Asio resolves names in threads of its own, which are not simulated. So that a name is found in no
// time, the machine lets no time pass while such a thread has something to do.

#pragma once

namespace colimit::simulation {

/// Returns whether all other threads of the process sleep: they have no work, and only this thread
/// can give them some.
[[nodiscard]] bool other_threads_sleep();

} // namespace colimit::simulation
