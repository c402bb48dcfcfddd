// SPDX-License-Identifier: BSL-1.0
//
// The deployments of a run: one server, those behind Sentinels, or a cluster.

#pragma once

#include "catalogue.hpp"
#include "deployment.hpp"
#include "ledger.hpp"
#include "network.hpp"

#include <cstdint>
#include <memory>

namespace colimit::simulation {

enum class topology : std::uint8_t { single, sentinel, cluster };

[[nodiscard]] std::unique_ptr<deployment> make_deployment(topology t, network& net,
                                                          const catalogue& names, ledger& records);

} // namespace colimit::simulation
