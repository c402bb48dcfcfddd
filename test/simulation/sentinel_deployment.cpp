// SPDX-License-Identifier: BSL-1.0
//
// Failovers. Sentinels agree within a moment, but one may hear of it later.

#include "sentinel_deployment.hpp"

#include <utility>

namespace colimit::simulation {
namespace {

constexpr std::uint32_t first_server = 0x0a000001;   // 10.0.0.1
constexpr std::uint32_t first_sentinel = 0x0a000101; // 10.0.1.1
constexpr std::uint16_t sentinel_port = 26'379;

} // namespace

sentinel_deployment::sentinel_deployment(network& net, const node_factory& make) : net_(net) {
    for (std::uint32_t i = 0; i < 3; ++i)
        servers_.push_back(make(place{first_server + i, 6379}, nullptr));
    master_ = servers_.front().get();
    const auto lag = os().random().magnitude(50 * millisecond);
    for (const auto i : {1U, 2U})
        servers_[i]->follow(*master_, lag);
    for (std::uint32_t i = 0; i < 3; ++i)
        sentinels_.push_back(std::make_unique<sentinel_server>(
            net, place{first_sentinel + i, sentinel_port}, "main", *master_));
}

std::string sentinel_deployment::address() const {
    return "redis+sentinel://10.0.1.1,10.0.1.2,10.0.1.3/main";
}

std::vector<server*> sentinel_deployment::all() const {
    auto found = deployment::all();
    for (const auto& s : sentinels_)
        found.push_back(s.get());
    return found;
}

void sentinel_deployment::later(std::int64_t delay, std::function<void()> what) {
    os().at(os().now() + delay, std::move(what));
}

redis_node& sentinel_deployment::replica() {
    const auto first = os().random().below(servers_.size());
    for (std::size_t i = 0; i < servers_.size(); ++i)
        if (auto& s = *servers_[(first + i) % servers_.size()]; !s.is_master() && s.is_up)
            return s;
    throw std::logic_error{"a deployment without replicas"};
}

void sentinel_deployment::disturb() {
    if (os().random().percent(25)) {
        auto& s = *sentinels_[os().random().below(sentinels_.size())];
        s.kill();
        return later(os().random().magnitude(2 * second), [&s] { s.start(); });
    }
    if (std::exchange(is_changing_, true))
        return;
    switch (os().random().below(3)) {
    case 0:
        return crash();
    case 1:
        return cut_off();
    default:
        return order_failover();
    }
}

void sentinel_deployment::crash() {
    auto& old = *master_;
    old.kill();
    if (os().flaw() == flaw::never_elects)
        return;
    later(os().random().between(300 * millisecond, 900 * millisecond), [this, &old] {
        elect(false);
        old.start();
        rejoin(old, os().random().percent(50) ? 0 : os().random().magnitude(second));
    });
}

/// The Sentinels do not reach the master, while clients may reach it.
void sentinel_deployment::cut_off() {
    auto& old = *master_;
    if (os().random().percent(50))
        old.cut_until = os().now() + os().random().magnitude(3 * second);
    if (os().random().percent(50))
        old.stop_replication();
    later(os().random().between(300 * millisecond, 900 * millisecond), [this, &old] {
        elect(false);
        rejoin(old, os().random().magnitude(2 * second));
    });
}

void sentinel_deployment::order_failover() {
    auto& old = *master_;
    elect(true);
    rejoin(old, 0);
}

void sentinel_deployment::elect(bool is_orderly) {
    auto& chosen = replica();
    chosen.take_over(is_orderly);
    master_ = &chosen;
    ++epoch_;
    os().trace("failover", static_cast<std::uint64_t>(epoch_));
    publish();
}

void sentinel_deployment::publish() {
    for (const auto& s : sentinels_) {
        const auto is_late = os().random().percent(10);
        later(os().random().between(0, is_late ? 2 * second : 100 * millisecond),
              [this, &s = *s, epoch = epoch_] {
                  if (epoch == epoch_)
                      s.hear(*master_, epoch);
              });
    }
}

/// It becomes a replica of the new master, whose state it takes.
void sentinel_deployment::rejoin(redis_node& old, std::int64_t delay) {
    later(delay, [this, &old] {
        old.follow(*master_, os().random().magnitude(50 * millisecond));
        if (drops_connections && os().random().percent(30))
            old.drop_connections();
        is_changing_ = false;
    });
}

/// Sentinels that were away hear of what they have missed.
void sentinel_deployment::heal() {
    if (os().flaw() == flaw::never_elects)
        return;
    deployment::heal();
    for (const auto& s : sentinels_)
        s->hear(*master_, epoch_);
    later(2 * second, [this] {
        for (const auto& s : sentinels_)
            s->hear(*master_, epoch_);
    });
}

} // namespace colimit::simulation
