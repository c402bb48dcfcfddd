// SPDX-License-Identifier: BSL-1.0
//
// One server, and how the servers of each topology are made.

#include "topology.hpp"

#include "cluster_deployment.hpp"
#include "data_server.hpp"
#include "sentinel_deployment.hpp"

#include <utility>

namespace colimit::simulation {
namespace {

class single final : public deployment {
  public:
    single(network& net, const node_factory& make) : net_(net) {
        servers_.push_back(make(place{0x0a000001, 6379}, nullptr));
    }

    [[nodiscard]] std::string address() const override { return "redis://10.0.0.1:6379"; }

    /// It ends, and comes back without data, or is only away for a moment.
    void disturb() override {
        auto& random = net_.os().random();
        auto& s = *servers_.front();
        if (!s.is_up || net_.os().flaw() == flaw::never_elects)
            return s.kill();
        s.kill();
        const auto away = random.magnitude(second);
        const auto loading = random.percent(30) ? random.magnitude(300 * millisecond) : 0;
        net_.os().at(net_.os().now() + away, [&s, loading] {
            if (!s.is_up)
                s.start_empty(loading);
        });
    }

    void heal() override {
        if (net_.os().flaw() != flaw::never_elects)
            deployment::heal();
    }

  private:
    network& net_;
};

} // namespace

std::unique_ptr<deployment> make_deployment(topology t, network& net, const catalogue& names,
                                            ledger& records) {
    const auto make = [&](place where, slot_rules* rules) -> std::unique_ptr<redis_node> {
        return std::make_unique<data_server>(net, where, names, records, rules);
    };
    auto slots = std::vector<std::size_t>{};
    for (const auto& s : names.states())
        slots.push_back(s.slot);
    switch (t) {
    case topology::single:
        return std::make_unique<single>(net, make);
    case topology::sentinel:
        return std::make_unique<sentinel_deployment>(net, make);
    default:
        return std::make_unique<cluster_deployment>(net, make, std::move(slots));
    }
}

} // namespace colimit::simulation
