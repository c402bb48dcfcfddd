// SPDX-License-Identifier: BSL-1.0
//
// What all topologies share.

#include "deployment.hpp"

namespace colimit::simulation {

void deployment::heal() {
    for (auto* s : all()) {
        s->cut_until = 0;
        s->set_slowness(1);
        if (!s->is_up)
            s->start();
    }
}

std::vector<server*> deployment::all() const {
    auto found = std::vector<server*>{};
    for (const auto& s : servers_)
        found.push_back(s.get());
    return found;
}

} // namespace colimit::simulation
