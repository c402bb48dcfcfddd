// SPDX-License-Identifier: BSL-1.0
//
// Three masters with a replica each, one of which is replaced at a time; or a slot moves.
// Everything is looked at through unix sockets, which no partition cuts.

#include "deployment.hpp"

#include <support/live_limiter.hpp>
#include <support/private_network.hpp>
#include <support/redis_cluster.hpp>

#include <algorithm>
#include <random>
#include <ranges>

namespace colimit::oracle {
namespace {

using namespace std::chrono_literals;
using test::redis_cluster;

constexpr std::size_t masters = 3;

/// Whether a node executes writes to a slot, which is that of the text in braces.
class write_watch {
  public:
    write_watch(const redis_cluster& c, std::size_t node, const std::string& tag)
        : link_(c.connect(node)), key_('{' + tag + "}watch") {}

    [[nodiscard]] bool accepts() {
        const auto asked = microseconds_now();
        const auto is_accepted = link_({"SET", key_, "", "PX", "1000"}).text == "OK";
        if (is_accepted && first_ == 0)
            first_ = asked;
        if (is_accepted || accepted_last_)
            end_ = microseconds_now();
        accepted_last_ = is_accepted;
        return is_accepted;
    }
    /// Returns a time before the first accepted write; 0 if there was none.
    [[nodiscard]] std::int64_t first() const noexcept { return first_; }
    /// Returns when the first refusal after the last accepted write was known; 0 if none was
    /// accepted.
    [[nodiscard]] std::int64_t end() const noexcept { return end_; }

  private:
    test::raw_client link_;
    std::string key_;
    std::int64_t first_ = 0;
    std::int64_t end_ = 0;
    bool accepted_last_ = false;
};

/// A key, and the tag and slot that the library has given it.
struct placed_key {
    std::string name;
    std::string tag;
    std::size_t slot = 0;
};

class cluster_deployment final : public deployment {
  public:
    explicit cluster_deployment(bool has_partitions)
        : has_partitions_(has_partitions),
          cluster_({.masters = masters,
                    .replicas = 1,
                    .own_hosts = has_partitions,
                    .arguments = {"--cluster-require-full-coverage", "no",
                                  // However long an election takes on a busy machine.
                                  "--cluster-replica-validity-factor", "0"}}) {
        place_keys();
        owners_ = current_owners();
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
    [[nodiscard]] std::optional<loss> unordered() override {
        const auto before = owners_;
        cluster_.await_agreement();
        const auto lost = keys_that_moved(before);
        const auto since = std::exchange(healthy_at_, microseconds_now());
        return lost.any() ? std::optional{loss{.begin = since, .end = healthy_at_, .keys = lost}}
                          : std::nullopt;
    }
    [[nodiscard]] std::string_view measured_from() const override {
        return "the first write that the new master accepted";
    }
    [[nodiscard]] bool has_one_connection() const override { return false; }
    [[nodiscard]] std::vector<fault> faults() override {
        return {{"kill -9", [this] { return kill(); }},
                {"CLUSTER FAILOVER", [this] { return hand_over(); }},
                {"migration", [this] { return migrate(); }},
                {has_partitions_ ? "partition" : "freeze", [this] { return cut(); }}};
    }

  private:
    /// A master, its replica, and the keys that it serves.
    struct course {
        std::size_t old;
        std::size_t successor;
        std::string tag; ///< of one of the keys
        failover result;
    };

    /// Each time another key, so that each master has its turn.
    [[nodiscard]] course next_course() {
        const auto& key = keys_[next_++ % keys_.size()];
        auto c =
            course{.old = cluster_.owner(key.slot), .successor = 0, .tag = key.tag, .result = {}};
        for (const auto& n : cluster_.known_by(c.old))
            if (n.master_id == cluster_.id(c.old))
                c.successor = node_with(n.id);
        c.result.keys = keys_on(c.old);
        c.result.begin = microseconds_now();
        return c;
    }

    [[nodiscard]] std::size_t node_with(const std::string& id) const {
        auto i = std::size_t{0};
        while (cluster_.id(i) != id)
            ++i;
        return i;
    }

    [[nodiscard]] key_set keys_on(std::size_t node) const {
        auto on = key_set{};
        for (std::size_t k = 0; k < keys_.size(); ++k)
            for (std::size_t l = 0; l < most_limits; ++l)
                on.set(index(l, k), cluster_.owner(keys_[k].slot) == node);
        return on;
    }

    void flush_sometimes() {
        if (++ticks_ % 20 != 0)
            return;
        const auto i = random_() % cluster_.size();
        if (cluster_.is_running(i))
            cluster_.connect(i)({"SCRIPT", "FLUSH"});
    }

    [[nodiscard]] std::vector<std::size_t> current_owners() const {
        auto owners = std::vector<std::size_t>{};
        for (const auto& k : keys_)
            owners.push_back(cluster_.owner(k.slot));
        return owners;
    }

    /// Returns those with other owners than these, and remembers the current owners.
    [[nodiscard]] key_set keys_that_moved(const std::vector<std::size_t>& before) {
        owners_ = current_owners();
        auto moved = key_set{};
        for (std::size_t k = 0; k < keys_.size(); ++k)
            for (std::size_t l = 0; l < most_limits; ++l)
                moved.set(index(l, k), owners_[k] != before[k]);
        return moved;
    }

    /// @param to the new owner of the keys
    [[nodiscard]] failover finish(failover& f, std::size_t to) {
        auto expected = owners_;
        for (std::size_t k = 0; k < keys_.size(); ++k)
            if (f.keys.test(index(0, k)))
                expected[k] = to;
        cluster_.await_agreement();
        const auto others = keys_that_moved(expected);
        const auto since = std::exchange(healthy_at_, microseconds_now());
        f.had_others = others.any();
        if (f.had_others)
            f.loss = {.begin = since, .end = healthy_at_, .keys = f.keys | others};
        return f;
    }

    [[nodiscard]] failover kill() {
        auto c = next_course();
        cluster_.kill(c.old);
        const auto end = microseconds_now();
        c.result.loss = {.begin = end, .end = end, .keys = c.result.keys};
        auto watch = write_watch{cluster_, c.successor, c.tag};
        wait_until("the replica of a killed master serves", [&] {
            flush_sometimes();
            return watch.accepts();
        });
        c.result.known = watch.first();
        cluster_.restart(c.old);
        return finish(c.result, c.successor);
    }

    /// The master waits until its replica has everything: no state is lost.
    [[nodiscard]] failover hand_over() {
        auto c = next_course();
        cluster_.connect(c.successor).must({"CLUSTER", "FAILOVER"});
        auto watch = write_watch{cluster_, c.successor, c.tag};
        wait_until("the replica serves after CLUSTER FAILOVER", [&] {
            flush_sometimes();
            return watch.accepts();
        });
        c.result.known = watch.first();
        return finish(c.result, c.successor);
    }

    /// The slot of one key moves to another master, key by key.
    [[nodiscard]] failover migrate() {
        const auto k = next_++ % keys_.size();
        const auto slot = keys_[k].slot;
        auto result = failover{.begin = microseconds_now(), .keys = {}};
        for (std::size_t l = 0; l < most_limits; ++l)
            result.keys.set(index(l, k));
        const auto from = cluster_.owner(slot);
        const auto to = other_master(from);
        cluster_.begin_migration(slot, from, to);
        do {
            flush_sometimes();
            std::this_thread::sleep_for(5ms); // so that calls meet each of the states
        } while (cluster_.move_keys(slot, from, to, 1) != 0);
        result.known = microseconds_now();
        cluster_.end_migration(slot, from, to);
        return finish(result, to);
    }

    [[nodiscard]] std::size_t other_master(std::size_t than) const {
        auto found = std::size_t{0};
        for (const auto& n : cluster_.known_by(than))
            if (n.is_master() && n.id != cluster_.id(than) && !n.slots.empty())
                found = node_with(n.id);
        return found;
    }

    /// The old master and half of the processes are cut off from everything else. It grants until
    /// it notices that it sees no other master; or it is frozen.
    [[nodiscard]] failover cut() {
        auto c = next_course();
        auto successor = write_watch{cluster_, c.successor, c.tag};
        auto old = write_watch{cluster_, c.old, c.tag};
        (void)old.accepts();
        auto apart = std::optional<test::partition>{};
        if (has_partitions_) {
            apart.emplace(std::vector{cluster_.host(c.old)}, hosts_without(c.old));
            c.result.has_partition = true;
        } else {
            cluster_.stop(c.old);
        }
        wait_until("the replica of a master that was cut off serves", [&] {
            if (has_partitions_)
                (void)old.accepts();
            flush_sometimes();
            return successor.accepts();
        });
        c.result.known = successor.first();
        apart.reset();
        if (!has_partitions_)
            cluster_.cont(c.old);
        auto own = cluster_.connect(c.old);
        wait_until("the old master is a replica", [&] {
            return !old.accepts() && own.must({"ROLE"}).elements.at(0).text != "master";
        });
        c.result.loss = {.begin = c.result.known,
                         .end = std::max(c.result.known, old.end()),
                         .keys = c.result.keys};
        return finish(c.result, c.successor);
    }

    [[nodiscard]] std::vector<std::string> hosts_without(std::size_t node) const {
        auto hosts = std::vector<std::string>{};
        for (std::size_t i = 0; i < cluster_.size(); ++i)
            if (i != node)
                hosts.push_back(cluster_.host(i));
        return hosts;
    }

    /// Finds keys in different slots of all masters: by calls, as the library chooses the slots.
    void place_keys();

    bool has_partitions_;
    redis_cluster cluster_;
    std::vector<placed_key> keys_;
    std::vector<std::size_t> owners_; ///< of the keys, when they were last well
    std::int64_t healthy_at_ = microseconds_now();
    std::size_t next_ = 0;
    std::mt19937_64 random_{7};
    std::uint64_t ticks_ = 0;
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
