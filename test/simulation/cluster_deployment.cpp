// SPDX-License-Identifier: BSL-1.0
//
// What the nodes of a cluster reply, as Redis 7 does, and how their views change.

#include "cluster_deployment.hpp"

#include <redis/protocol/hash_slot.hpp>

#include <algorithm>
#include <utility>

namespace colimit::simulation {

namespace resp = redis::resp;

namespace {

constexpr std::uint32_t first_node = 0x0a000201; // 10.0.2.1

} // namespace

std::size_t slot_view::owner(std::size_t slot) const {
    return std::ranges::find_if(ranges, [slot](const range& r) { return slot <= r.last; })->node;
}

void slot_view::give(std::size_t slot, std::size_t to) {
    const auto r = std::ranges::find_if(ranges, [slot](const range& x) { return slot <= x.last; });
    const auto old = *r;
    auto parts = std::vector<range>{};
    if (old.first < slot)
        parts.push_back({old.first, slot - 1, old.node});
    parts.push_back({slot, slot, to});
    if (slot < old.last)
        parts.push_back({slot + 1, old.last, old.node});
    ranges.insert(ranges.erase(r), parts.begin(), parts.end());
}

cluster_deployment::cluster_deployment(network& net, const node_factory& make,
                                       std::vector<std::size_t> slots)
    : net_(net), slots_(std::move(slots)) {
    for (std::uint32_t i = 0; i < 2 * masters; ++i)
        servers_.push_back(make(place{first_node + i, 6379}, this));
    for (std::size_t i = 0; i < masters; ++i) {
        truth_.ranges.push_back({redis::hash_slot_count * i / masters,
                                 redis::hash_slot_count * (i + 1) / masters - 1, i});
        followed_[i] = followed_[i + masters] = i;
        servers_[i + masters]->follow(*servers_[i], os().random().magnitude(50 * millisecond));
    }
    views_.fill(truth_);
}

std::string cluster_deployment::address() const {
    return "redis+cluster://10.0.2.1,10.0.2.2,10.0.2.3";
}

std::string cluster_deployment::address_of(std::size_t node) const {
    return (nameless.contains(node) ? "?" : servers_[node]->address().host) + ':' +
           std::to_string(servers_[node]->address().port);
}

std::size_t cluster_deployment::index_of(const redis_node& s) const {
    return static_cast<std::size_t>(
        std::ranges::find(servers_, &s, [](const auto& p) { return p.get(); }) - servers_.begin());
}

std::string cluster_deployment::info(const redis_node& at) {
    const auto& view = views_[index_of(at)];
    if (wiped.contains(index_of(at)))
        return "cluster_state:fail\r\ncluster_current_epoch:0\r\n";
    return "cluster_state:" + std::string{view.is_ok ? "ok" : "fail"} +
           "\r\ncluster_current_epoch:" + std::to_string(view.epoch) + "\r\n";
}

void cluster_deployment::append_node(std::string& out, std::size_t node) const {
    const auto& address = servers_[node]->address();
    const auto is_lost = wiped.contains(node);
    resp::append_array(out, 4);
    resp::append_bulk(out, is_lost ? "" : nameless.contains(node) ? "?" : address.host);
    append_integer(out, is_lost ? 0 : address.port);
    resp::append_bulk(out, "node" + std::to_string(node));
    resp::append_array(out, 2);
    resp::append_bulk(out, "ip");
    resp::append_bulk(out, is_lost ? "" : address.host);
}

std::string cluster_deployment::slots(const redis_node& at) {
    const auto& view = views_[index_of(at)];
    auto out = std::string{};
    if (wiped.contains(index_of(at)))
        return "*0\r\n";
    resp::append_array(out, view.ranges.size());
    for (const auto& r : view.ranges) {
        const auto replica = replica_of(r.node);
        const auto has_lost_one = wiped.contains(replica);
        resp::append_array(out, has_lost_one ? 4 : 3);
        append_integer(out, static_cast<std::int64_t>(r.first));
        append_integer(out, static_cast<std::int64_t>(r.last));
        append_node(out, r.node);
        if (has_lost_one)
            append_node(out, replica);
    }
    return out;
}

std::string cluster_deployment::refusal(const redis_node& at, words keys, bool is_asking) {
    const auto node = index_of(at);
    const auto& view = views_[node];
    const auto slot = std::size_t{redis::hash_slot(keys.front())};
    if (std::ranges::any_of(keys, [&](auto k) { return redis::hash_slot(k) != slot; }))
        return "CROSSSLOT Keys in request don't hash to the same slot";
    if (!view.is_ok)
        return "CLUSTERDOWN The cluster is down";
    if (migration_ && migration_->slot == slot) {
        auto serves = false;
        auto error = refusal_while_migrating(node, keys, is_asking, serves);
        if (serves || !error.empty())
            return error;
    }
    const auto owner = view.owner(slot);
    if (owner == node && at.is_master())
        return {};
    return "MOVED " + std::to_string(slot) + ' ' +
           address_of(owner == node ? followed_[node] : owner);
}

/// @param serves set if the node executes the command
std::string cluster_deployment::refusal_while_migrating(std::size_t node, words keys,
                                                        bool is_asking, bool& serves) const {
    const auto found =
        std::ranges::count_if(keys, [&](std::string_view key) { return servers_[node]->has(key); });
    const auto has_all = static_cast<std::size_t>(found) == keys.size();
    if (node == migration_->from && !has_all) {
        if (found != 0)
            return "TRYAGAIN Multiple keys request during rehashing of slot";
        return "ASK " + std::to_string(migration_->slot) + ' ' + address_of(migration_->to);
    }
    if (node == migration_->to && is_asking) {
        if (keys.size() > 1 && !has_all)
            return "TRYAGAIN Multiple keys request during rehashing of slot";
        serves = true;
    }
    return {};
}

void cluster_deployment::later(std::int64_t delay, std::function<void()> what) {
    os().at(os().now() + delay, std::move(what));
}

std::size_t cluster_deployment::replica_of(std::size_t master) const {
    for (std::size_t i = 0; i < followed_.size(); ++i)
        if (i != master && followed_[i] == master && !servers_[i]->is_master())
            return i;
    return master;
}

void cluster_deployment::disturb() {
    if (is_changing_)
        return;
    auto& random = os().random();
    const auto kind = random.below(4);
    if (kind < 2)
        return fail_over(truth_.ranges[random.below(truth_.ranges.size())].node, kind == 0);
    const auto slot = slots_[random.below(slots_.size())];
    migrate(slot, truth_.ranges[random.below(truth_.ranges.size())].node);
}

/// After the end of a master the whole cluster may refuse to serve.
void cluster_deployment::fail_over(std::size_t old, bool is_orderly) {
    is_changing_ = true;
    const auto chosen = replica_of(old);
    if (is_orderly)
        return replace(old, chosen, true);
    servers_[old]->kill();
    if (os().flaw() == flaw::never_elects)
        return;
    if (os().random().percent(50))
        later(200 * millisecond, [this] { set_ok(false); });
    later(os().random().between(300 * millisecond, 900 * millisecond), [this, old, chosen] {
        set_ok(true);
        servers_[old]->start();
        replace(old, chosen, false);
    });
}

void cluster_deployment::replace(std::size_t old, std::size_t chosen, bool is_orderly) {
    if (chosen == old) { // it has no replica
        is_changing_ = false;
        return;
    }
    servers_[chosen]->take_over(is_orderly);
    followed_[chosen] = chosen;
    for (auto& r : truth_.ranges)
        if (r.node == old)
            r.node = chosen;
    ++truth_.epoch;
    os().trace("failover", old, chosen);
    views_[chosen] = truth_;
    publish();
    later(is_orderly ? 0 : os().random().magnitude(500 * millisecond),
          [this, old, chosen] { rejoin(old, chosen); });
}

void cluster_deployment::rejoin(std::size_t old, std::size_t master) {
    followed_[old] = master;
    servers_[old]->follow(*servers_[master], os().random().magnitude(50 * millisecond));
    views_[old] = truth_;
    is_changing_ = false;
}

/// Each node hears of it at another time.
void cluster_deployment::publish() {
    for (auto& view : views_)
        later(os().random().between(0, 300 * millisecond), [&view, now = truth_] {
            if (now.epoch > view.epoch)
                view = now;
        });
}

void cluster_deployment::set_ok(bool is_ok) {
    for (auto& view : views_)
        view.is_ok = is_ok;
}

void cluster_deployment::migrate(std::size_t slot, std::size_t to) {
    const auto from = truth_.owner(slot);
    if (from == to)
        return;
    is_changing_ = true;
    os().trace("migration", from, to);
    migration_ = {slot, from, to};
    later(os().random().magnitude(100 * millisecond), [this] { move_states(); });
}

/// One key after the other.
void cluster_deployment::move_states() {
    const auto [slot, from, to] = *migration_;
    if (const auto keys = servers_[from]->keys_in(slot); !keys.empty()) {
        servers_[from]->hand_over(keys.front(), *servers_[to]);
        return later(os().random().between(0, 150 * millisecond), [this] { move_states(); });
    }
    if (os().random().percent(50))
        return end_migration();
    later(os().random().magnitude(100 * millisecond), [this] { move_states(); });
}

/// The new owner knows it first, then the old one.
void cluster_deployment::end_migration() {
    const auto [slot, from, to] = *migration_;
    ++truth_.epoch;
    truth_.give(slot, to);
    views_[to] = views_[from] = truth_;
    migration_.reset();
    publish();
    is_changing_ = false;
}

void cluster_deployment::heal() {
    if (os().flaw() == flaw::never_elects)
        return;
    deployment::heal();
}

} // namespace colimit::simulation
