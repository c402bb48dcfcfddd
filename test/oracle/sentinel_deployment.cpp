// SPDX-License-Identifier: BSL-1.0
//
// A master, two replicas and three Sentinels.

#include "deployment.hpp"

#include <support/sentinel_group.hpp>

#include <algorithm>
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
        for (auto& l : links_) {
            while (l.client.receive_within(0ms))
                ++l.heard;
            count_ = std::max(count_, l.heard);
        }
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

class sentinel_deployment final : public deployment {
  public:
    explicit sentinel_deployment(bool has_partitions)
        : deployment(has_partitions), group_({.lines = {"sentinel failover-timeout mymaster 1500"},
                                              .own_hosts = has_partitions}),
          announced_(group_) {}

    [[nodiscard]] std::string address() const override { return group_.address(); }
    [[nodiscard]] std::string fixed_address() override {
        return group_.server(group_.named_by(0)).address();
    }
    [[nodiscard]] key_names keys() override { return simple_names(); }
    [[nodiscard]] std::string_view measured_from() const override { return "+switch-master"; }
    [[nodiscard]] bool has_one_connection() const override { return true; }
    [[nodiscard]] std::vector<fault> faults() override {
        return {kill(),
                {"SENTINEL FAILOVER", [this] { return order(); }},
                {"FAILOVER", [this] { return hand_over(); }},
                cut()};
    }

  private:
    /// The old master grants until Sentinel makes it a replica.
    [[nodiscard]] failover order() {
        auto c = begin();
        auto next = std::chrono::steady_clock::now();
        await_successor(c, [&] {
            // A Sentinel gives the failover up if a busy machine makes all replicas seem slow. One
            // that was made while this process was halted must not be followed by another one: the
            // name is asked for last, as it changes while the failover is still under way.
            const auto is_made =
                std::ranges::any_of(c.others, [](const write_watch& o) { return o.first() != 0; });
            if (is_made || std::chrono::steady_clock::now() < next || group_.is_failing_over(0) ||
                group_.named_by(0) != c.old)
                return;
            (void)group_.watcher(0).connect()({"SENTINEL", "FAILOVER", "mymaster"});
            next = std::chrono::steady_clock::now() + 1s;
        });
        await_demotion(c);
        c.result.loss = granted_twice(c);
        c.result.old_demoted = 0; // it was never away
        return finish(c);
    }

    /// The old master waits until a replica has everything. Sentinel has not been asked, and orders
    /// the servers anew when it notices; until then no client knows the new master.
    [[nodiscard]] failover hand_over() {
        auto c = begin();
        server(c.old).connect().must({"FAILOVER", "TIMEOUT", "10000"});
        await_successor(c);
        return finish(c);
    }

    [[nodiscard]] course begin() override {
        const auto old = group_.named_by(0);
        auto c = course{.old = old, .old_writes = {server(old), "watch"}, .others = {}};
        for (std::size_t i = 0; i < group_.servers(); ++i)
            if (i != old)
                c.others.emplace_back(server(i), "watch");
        (void)c.old_writes.accepts();
        c.result.begin = microseconds_now();
        return c;
    }
    [[nodiscard]] std::int64_t time_known(const course& /*any*/) override {
        return announced_.count() > expected_ ? microseconds_now() : 0;
    }
    [[nodiscard]] bool was_replaced_again() override { return announced_.count() > expected_ + 1; }
    void await_health() override { group_.await_health(); }
    [[nodiscard]] key_set moved(const course* ordered) override {
        const auto before = std::exchange(expected_, announced_.count());
        return expected_ == before + (ordered != nullptr ? 1 : 0) ? key_set{} : key_set{}.set();
    }
    [[nodiscard]] test::redis_server& server(std::size_t i) override { return group_.server(i); }
    [[nodiscard]] std::size_t servers() const override { return group_.servers(); }
    [[nodiscard]] std::vector<std::string> hosts() override {
        auto all = std::vector<std::string>{};
        for (std::size_t i = 0; i < group_.servers(); ++i)
            all.push_back(group_.host(i));
        for (std::size_t i = 0; i < group_.watchers(); ++i)
            all.push_back(group_.watcher(i).host());
        return all;
    }

    test::sentinel_group group_;
    announcements announced_;
    int expected_ = 0; ///< announcements that have been accounted for
};

} // namespace

std::unique_ptr<deployment> make_sentinel_deployment(bool has_partitions) {
    return std::make_unique<sentinel_deployment>(has_partitions);
}

} // namespace colimit::oracle
