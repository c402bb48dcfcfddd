// SPDX-License-Identifier: BSL-1.0
//
// One server, and what all topologies share.

#include "deployment.hpp"

#include "cluster_deployment.hpp"
#include "sentinel_deployment.hpp"

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

namespace {

class single final : public deployment {
  public:
    single(network& net, const catalogue& names, ledger& records) : net_(net) {
        servers_.push_back(
            std::make_unique<data_server>(net, place{0x0a000001, 6379}, names, records));
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
    switch (t) {
    case topology::single:
        return std::make_unique<single>(net, names, records);
    case topology::sentinel:
        return std::make_unique<sentinel_deployment>(net, names, records);
    default:
        return std::make_unique<cluster_deployment>(net, names, records);
    }
}

} // namespace colimit::simulation
