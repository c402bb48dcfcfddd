// SPDX-License-Identifier: BSL-1.0
//
// Three masters with a replica each, one of which is replaced at a time; or a slot moves.

#include "deployment.hpp"

#include <support/live_limiter.hpp>
#include <support/redis_cluster.hpp>

#include <algorithm>
#include <thread>

namespace colimit::oracle {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t masters = 3;

/// A key, and the tag and slot that the library has given it.
struct placed_key {
    std::string name;
    std::string tag;
    std::size_t slot = 0;
    std::size_t owner = 0; ///< when the cluster was last well
};

class cluster_deployment final : public deployment {
  public:
    explicit cluster_deployment(bool has_partitions)
        : deployment(has_partitions),
          cluster_({.masters = masters,
                    .replicas = 1,
                    .own_hosts = has_partitions,
                    .arguments = {"--cluster-require-full-coverage", "no",
                                  // However long an election takes on a busy machine.
                                  "--cluster-replica-validity-factor", "0"}}) {
        place_keys();
        (void)moved(nullptr);
    }

    [[nodiscard]] std::string address() const override {
        auto hosts = std::string{};
        for (const auto& e : cluster_.endpoints())
            hosts += (hosts.empty() ? "" : ",") + e;
        return "redis+cluster://" + hosts;
    }
    [[nodiscard]] std::string fixed_address() override {
        return cluster_.address(cluster_.owner(keys_[next_ % keys_.size()].slot));
    }
    [[nodiscard]] key_names keys() override {
        auto names = key_names{};
        std::ranges::transform(keys_, names.begin(), &placed_key::name);
        return names;
    }
    [[nodiscard]] std::string_view measured_from() const override {
        return "the first write that the new master accepted";
    }
    [[nodiscard]] bool has_one_connection() const override { return false; }
    [[nodiscard]] std::vector<fault> faults() override {
        return {kill(),
                {"CLUSTER FAILOVER", [this] { return hand_over(); }},
                {"migration", [this] { return migrate(); }},
                cut()};
    }

  private:
    /// The master waits until its replica has everything: no state is lost.
    [[nodiscard]] failover hand_over() {
        auto c = begin();
        cluster_.connect(c.successor).must({"CLUSTER", "FAILOVER"});
        await_successor(c);
        return finish(c);
    }

    /// The slot of one key moves to another master, key by key.
    [[nodiscard]] failover migrate() {
        auto c = begin();
        const auto& key = keys_[(next_ - 1) % keys_.size()];
        c.result.keys = with_limits([&](const placed_key& k) { return k.slot == key.slot; });
        for (const auto& n : cluster_.known_by(c.old))
            if (n.is_master() && n.id != cluster_.id(c.old) && !n.slots.empty())
                c.successor = node_with(n.id);
        cluster_.begin_migration(key.slot, c.old, c.successor);
        do {
            flush_sometimes();
            std::this_thread::sleep_for(5ms); // so that calls meet each of the states
        } while (cluster_.move_keys(key.slot, c.old, c.successor, 1) != 0);
        c.result.known = microseconds_now();
        cluster_.end_migration(key.slot, c.old, c.successor);
        return finish(c);
    }

    /// Each time with another key, so that each master has its turn.
    [[nodiscard]] course begin() override {
        const auto& key = keys_[next_++ % keys_.size()];
        const auto old = cluster_.owner(key.slot);
        const auto watched = '{' + key.tag + "}watch";
        auto c = course{.old = old, .old_writes = {server(old), watched}, .others = {}};
        for (const auto& n : cluster_.known_by(old))
            if (n.master_id == cluster_.id(old))
                c.successor = node_with(n.id);
        c.others.emplace_back(server(c.successor), watched);
        c.result.keys =
            with_limits([&](const placed_key& k) { return cluster_.owner(k.slot) == old; });
        (void)c.old_writes.accepts();
        c.result.begin = microseconds_now();
        return c;
    }
    [[nodiscard]] std::int64_t time_known(const course& c) override {
        return c.others.front().first();
    }
    [[nodiscard]] bool was_replaced_again() override { return false; }
    void await_health() override { cluster_.await_agreement(); }
    [[nodiscard]] key_set moved(const course* ordered) override {
        auto place = std::size_t{0};
        return with_limits([&](placed_key& k) {
            const auto is_ordered = ordered != nullptr && ordered->result.keys.test(place++);
            const auto before = std::exchange(k.owner, cluster_.owner(k.slot));
            return k.owner != (is_ordered ? ordered->successor : before);
        });
    }
    [[nodiscard]] test::redis_server& server(std::size_t i) override { return cluster_.server(i); }
    [[nodiscard]] std::size_t servers() const override { return cluster_.size(); }
    [[nodiscard]] std::vector<std::string> hosts() override {
        auto all = std::vector<std::string>{};
        for (std::size_t i = 0; i < cluster_.size(); ++i)
            all.push_back(cluster_.host(i));
        return all;
    }

    [[nodiscard]] std::size_t node_with(const std::string& id) const {
        auto i = std::size_t{0};
        while (cluster_.id(i) != id)
            ++i;
        return i;
    }

    /// Returns those keys for which this holds, under all limits.
    template<class Condition>
    [[nodiscard]] key_set with_limits(Condition holds) {
        auto found = key_set{};
        for (std::size_t k = 0; k < keys_.size(); ++k)
            if (holds(keys_[k]))
                for (std::size_t l = 0; l < most_limits; ++l)
                    found.set(index(l, k));
        return found;
    }

    /// Finds keys in different slots of all masters: by calls, as the library chooses the slots.
    void place_keys();

    test::redis_cluster cluster_;
    std::vector<placed_key> keys_;
    std::size_t next_ = 0;
};

void cluster_deployment::place_keys() {
    constexpr auto candidates = 100;
    {
        const auto p = policy{"placement", fixed_window(1, 1min)};
        auto l = test::live{address()};
        l.run([&]() -> boost::asio::awaitable<void> {
            for (auto i = 0; i < candidates; ++i)
                (void)co_await l.limiter.allow("key " + std::to_string(i), p);
        });
    }
    auto found = std::vector<std::vector<placed_key>>(masters);
    for (std::size_t m = 0; m < masters; ++m) {
        auto look = cluster_.connect(m);
        for (const auto& stored : look.keys()) { // prefix:{tag}:placement:k:name
            const auto slot =
                static_cast<std::size_t>(look.must({"CLUSTER", "KEYSLOT", stored}).integer);
            if (std::ranges::find(found[m], slot, &placed_key::slot) != found[m].end())
                continue;
            const auto tag = stored.find('{') + 1;
            found[m].push_back({.name = stored.substr(stored.rfind(':') + 1),
                                .tag = stored.substr(tag, stored.find('}') - tag),
                                .slot = slot});
        }
    }
    for (std::size_t k = 0; k < most_keys; ++k)
        keys_.push_back(found[k % masters].at(k / masters));
}

} // namespace

std::unique_ptr<deployment> make_cluster_deployment(bool has_partitions) {
    return std::make_unique<cluster_deployment>(has_partitions);
}

} // namespace colimit::oracle
