// SPDX-License-Identifier: BSL-1.0
//
// A master, two replicas and three Sentinels. Everything is looked at through unix sockets, which
// no partition cuts.

#include "deployment.hpp"

#include <support/private_network.hpp>
#include <support/sentinel_group.hpp>

#include <algorithm>
#include <array>
#include <random>
#include <utility>

namespace colimit::oracle {
namespace {

using namespace std::chrono_literals;

/// Listens to all Sentinels for the names of new masters.
class announcements {
  public:
    explicit announcements(test::sentinel_group& g) {
        for (std::size_t i = 0; i < g.watchers(); ++i)
            links_.push_back({.client = g.watcher(i).connect()});
        for (auto& l : links_)
            l.client.must({"SUBSCRIBE", "+switch-master"});
    }

    /// Returns how many there were. Each Sentinel announces each of them.
    [[nodiscard]] int count() {
        for (auto& l : links_)
            while (l.client.receive_within(0ms))
                if (++l.heard > count_)
                    ++count_;
        return count_;
    }

  private:
    struct link {
        test::raw_client client;
        int heard = 0;
    };
    std::vector<link> links_;
    int count_ = 0;
};

/// Follows the role of a server that runs. (Each time with a new connection: Sentinel ends those
/// of a server whose role it changes.)
class role_watch {
  public:
    explicit role_watch(test::redis_server& s) : server_(&s) {}

    [[nodiscard]] bool is_master() {
        const auto asked = microseconds_now();
        const auto is_master = role() == "master";
        if (is_master && promoted_ == 0)
            promoted_ = last_asked_;
        if (!is_master && demoted_ == 0)
            demoted_ = microseconds_now();
        last_asked_ = asked;
        return is_master;
    }
    /// It was no master yet at this time; 0 if it has not become one.
    [[nodiscard]] std::int64_t promoted() const noexcept { return promoted_; }
    /// It was no master any more at this time; 0 if it was always one.
    [[nodiscard]] std::int64_t demoted() const noexcept { return demoted_; }

  private:
    [[nodiscard]] std::string role() {
        for (auto is_again = false;; is_again = true)
            try {
                return server_->connect().must({"ROLE"}).elements.at(0).text;
            } catch (const std::runtime_error&) { // ended between connection and reply
                if (is_again)
                    throw;
            }
    }

    test::redis_server* server_;
    std::int64_t last_asked_ = microseconds_now();
    std::int64_t promoted_ = 0;
    std::int64_t demoted_ = 0;
};

class sentinel_deployment final : public deployment {
  public:
    explicit sentinel_deployment(bool has_partitions)
        : has_partitions_(has_partitions),
          group_(
              {.lines = {"sentinel failover-timeout mymaster 1500"}, .own_hosts = has_partitions}),
          announced_(group_) {}

    [[nodiscard]] std::string address() const override { return group_.address(); }
    [[nodiscard]] std::string fixed_address() override {
        return group_.server(group_.named_by(0)).address();
    }
    [[nodiscard]] key_names keys() override { return simple_names(); }
    [[nodiscard]] std::optional<loss> unordered() override {
        if (announced_.count() == expected_)
            return {};
        group_.await_health();
        const auto since = std::exchange(healthy_at_, microseconds_now());
        expected_ = announced_.count();
        return loss{.begin = since, .end = healthy_at_};
    }
    [[nodiscard]] std::string_view measured_from() const override { return "+switch-master"; }
    [[nodiscard]] bool has_one_connection() const override { return true; }
    [[nodiscard]] std::vector<fault> faults() override {
        return {{"kill -9", [this] { return kill(); }},
                {"SENTINEL FAILOVER", [this] { return order(); }},
                {"FAILOVER", [this] { return hand_over(); }},
                {has_partitions_ ? "partition" : "freeze", [this] { return cut(); }}};
    }

  private:
    /// What all ways have in common, as far as the new master is announced.
    struct course {
        explicit course(test::sentinel_group& g) : old(g.named_by(0)) {
            for (std::size_t i = 0; i < g.servers(); ++i)
                if (i != old)
                    others.emplace_back(g.server(i));
            result.begin = microseconds_now();
        }
        /// Another server was made a master after this time.
        [[nodiscard]] std::int64_t promotion() const {
            auto first = std::int64_t{0};
            for (const auto& o : others)
                if (const auto t = o.promoted(); t != 0 && (first == 0 || t < first))
                    first = t;
            return first;
        }
        std::size_t old;
        std::vector<role_watch> others;
        failover result;
    };

    [[nodiscard]] test::redis_server& server(const course& c) { return group_.server(c.old); }

    /// Scripts are forgotten now and then.
    void flush_sometimes(std::size_t frozen) {
        if (++ticks_ % 20 != 0)
            return;
        const auto i = random_() % group_.servers();
        if (i == frozen)
            return;
        try {
            group_.server(i).connect()({"SCRIPT", "FLUSH"});
        } catch (const std::runtime_error&) { // NOLINT: Sentinel has ended the connection
        }
    }

    void await_announcement(course& c, bool is_old_away) {
        wait_until("+switch-master", [&] {
            for (auto& o : c.others)
                (void)o.is_master();
            flush_sometimes(is_old_away ? c.old : group_.servers());
            return announced_.count() > expected_;
        });
        c.result.known = microseconds_now();
    }

    /// Returns when it had happened; or now, if the old master has been made the master again, as
    /// then there was a failover that was not ordered.
    [[nodiscard]] std::int64_t await_demotion(course& c) {
        auto old = role_watch{server(c)};
        wait_until("the old master is a replica",
                   [&] { return !old.is_master() || announced_.count() > expected_ + 1; });
        return old.demoted() != 0 ? old.demoted() : microseconds_now();
    }

    /// First decisions are made while the old master is away, and so are surely those of the new
    /// one.
    static void await_first_decisions() { std::this_thread::sleep_for(300ms); }

    [[nodiscard]] failover finish(course& c) {
        group_.await_health();
        const auto since = std::exchange(healthy_at_, microseconds_now());
        c.result.had_others = announced_.count() != expected_ + 1;
        if (c.result.had_others)
            c.result.loss = {.begin = since, .end = healthy_at_};
        expected_ = announced_.count();
        return c.result;
    }

    [[nodiscard]] failover kill() {
        auto c = course{group_};
        server(c).kill();
        const auto end = microseconds_now();
        c.result.loss = {.begin = end, .end = end};
        await_announcement(c, true);
        await_first_decisions();
        c.result.old_back = microseconds_now();
        server(c).start();
        c.result.old_demoted = await_demotion(c);
        return finish(c);
    }

    /// The old master grants until Sentinel makes it a replica.
    [[nodiscard]] failover order() {
        auto c = course{group_};
        auto next = std::chrono::steady_clock::now();
        wait_until("+switch-master after SENTINEL FAILOVER", [&] {
            // A Sentinel gives the failover up if a busy machine makes all replicas seem slow.
            if (std::chrono::steady_clock::now() > next && c.promotion() == 0) {
                (void)group_.watcher(0).connect()({"SENTINEL", "FAILOVER", "mymaster"});
                next += 1s;
            }
            for (auto& o : c.others)
                (void)o.is_master();
            flush_sometimes(group_.servers());
            return announced_.count() > expected_;
        });
        c.result.known = microseconds_now();
        c.result.loss = {.begin = c.promotion(), .end = await_demotion(c)};
        return finish(c);
    }

    /// The old master waits until a replica has everything. Sentinel has not been asked, and orders
    /// the servers anew when it notices; until then no client knows the new master.
    [[nodiscard]] failover hand_over() {
        auto c = course{group_};
        server(c).connect().must({"FAILOVER", "TIMEOUT", "10000"});
        await_announcement(c, false);
        return finish(c);
    }

    /// The old master and half of the processes are cut off from everything else, and it goes on
    /// granting; or it is frozen.
    [[nodiscard]] failover cut() {
        auto c = course{group_};
        auto apart = std::optional<test::partition>{};
        if (has_partitions_) {
            apart.emplace(std::vector{group_.host(c.old)}, hosts_without(c.old));
            c.result.has_partition = true;
        } else {
            server(c).stop();
        }
        await_announcement(c, true);
        await_first_decisions(); // both grant
        c.result.old_back = microseconds_now();
        apart.reset();
        if (!has_partitions_)
            server(c).cont();
        c.result.old_demoted = await_demotion(c);
        c.result.loss = {.begin = c.promotion(), .end = c.result.old_demoted};
        return finish(c);
    }

    [[nodiscard]] std::vector<std::string> hosts_without(std::size_t server) {
        auto hosts = std::vector<std::string>{};
        for (std::size_t i = 0; i < group_.servers(); ++i)
            if (i != server)
                hosts.push_back(group_.host(i));
        for (std::size_t i = 0; i < group_.watchers(); ++i)
            hosts.push_back(group_.watcher(i).host());
        return hosts;
    }

    bool has_partitions_;
    test::sentinel_group group_;
    announcements announced_;
    int expected_ = 0; ///< announcements that have been accounted for
    std::int64_t healthy_at_ = microseconds_now();
    std::mt19937_64 random_{7};
    std::uint64_t ticks_ = 0;
};

} // namespace

std::unique_ptr<deployment> make_sentinel_deployment(bool has_partitions) {
    return std::make_unique<sentinel_deployment>(has_partitions);
}

} // namespace colimit::oracle
