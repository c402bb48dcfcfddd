// SPDX-License-Identifier: BSL-1.0
//
// What goes wrong in a run, chosen by its seed: when, what, and to which server.

#pragma once

#include "deployment.hpp"
#include "network.hpp"

namespace colimit::simulation {

/// Plans the faults between two times.
void plan_faults(network& net, deployment& servers, std::int64_t from, std::int64_t to);

/// Chooses how the network behaves from the beginning.
[[nodiscard]] weather random_weather(test::rng& random);

} // namespace colimit::simulation
