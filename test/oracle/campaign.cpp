// SPDX-License-Identifier: BSL-1.0
//
// A round makes one or two failovers of each kind, on keys of its own: its records are sorted in
// memory. The servers stay as the last round has left them.

#include "campaign.hpp"

#include "deployment.hpp"
#include "first_decisions.hpp"
#include "processes.hpp"
#include "records_file.hpp"

#include <support/fresh_folder.hpp>
#include <support/private_network.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace colimit::oracle {
namespace {

using namespace std::chrono_literals;

constexpr auto failovers_per_round = 2;

void call(const task& t) {
    if (t.is_on_first_side && ::setegid(test::first_side_group) != 0)
        throw std::runtime_error{"setegid failed"};
    end_with_parent(); // a change of the group has undone this
    call_by_limiter(t);
}

class campaign {
  public:
    explicit campaign(campaign_order o) : order_(std::move(o)) {
        const auto problem = test::enter_private_network();
        has_partitions_ = problem.empty();
        if (!has_partitions_)
            std::cout << "no partitions on this machine (" << problem
                      << "): masters are frozen instead" << std::endl;
        servers_ = order_.deployment == campaign_order::deployment_kind::sentinel
                       ? make_sentinel_deployment(has_partitions_)
                       : make_cluster_deployment(has_partitions_);
        require_kind();
    }

    void run() {
        for (auto left = order_.failovers; left > 0; left -= failovers_per_round)
            run_round(std::min(left, failovers_per_round));
    }

    [[nodiscard]] bool report() const {
        auto all = first_decisions{};
        for (const auto& [name, kind] : kinds_) {
            all.add(kind.firsts);
            std::cout << kind.made << " times " << name << ": first decision " << kind.firsts.text()
                      << '\n';
        }
        std::cout << "not ordered " << unordered_ << "; first decision after "
                  << servers_->measured_from() << ": " << all.text() << ", missing " << all.missing
                  << '\n'
                  << "granted " << sum_.granted << ", refused " << sum_.refused << ", unknown "
                  << sum_.unknown << ", failed " << sum_.failed << ", losses of state " << lost_
                  << '\n'
                  << "checks " << sum_.checks << ", over-admitted " << sum_.over_admitted
                  << ", double-counted " << sum_.double_counted << ", unfinished "
                  << sum_.unfinished << std::endl;
        const auto is_well = sum_.over_admitted == 0 && sum_.double_counted == 0 &&
                             sum_.unfinished == 0 && failed_processes_ == 0 &&
                             all.are_soon(order_.within_ms * 1'000);
        if (!is_well)
            report_events();
        return is_well;
    }

  private:
    struct fault_kind {
        int made = 0;
        first_decisions firsts = {};
    };
    struct made_failover {
        fault_kind* kind;
        failover what;
    };

    void report_events() const {
        for (const auto& f : sum_.findings)
            std::cout << limits[f.limit].name << " of key " << f.key << ", "
                      << (f.process == 0 ? "store" : "process " + std::to_string(f.process))
                      << ": beyond the limit " << f.beyond_limit << ", not counted "
                      << f.beyond_count << ", from " << f.first << '\n';
        for (const auto& event : events_)
            std::cout << event << std::endl;
    }

    void require_kind() {
        auto known = std::string{};
        for (const auto& f : servers_->faults()) {
            if (order_.only.empty() || f.name == order_.only)
                return;
            known += (known.empty() ? "" : ", ") + std::string{f.name};
        }
        throw std::runtime_error{"--kind: unknown kind (got " + order_.only + ", expected one of " +
                                 known + ')'};
    }

    void run_round(int of_each) {
        ++round_;
        done_.clear();
        losses_.clear();
        const auto now = make_shared_memory<board>();
        const auto tasks = tasks_for(*now);
        auto callers = processes{};
        for (const auto& t : tasks)
            callers.start(t.process, [&t] { call(t); });
        await_decisions(*now, key_set{}.set());
        make_failovers(of_each, *now);
        now->stop = true;
        wait_until("the processes end", [&] { return callers.have_ended(); });
        note_unordered();
        failed_processes_ += callers.failed();
        judge_round(tasks);
    }

    [[nodiscard]] std::vector<task> tasks_for(board& shared) {
        auto tasks = std::vector<task>{};
        const auto prefix = "oracle-" + std::to_string(round_);
        const auto address =
            order_.flaw == flaw::no_follow ? servers_->fixed_address() : servers_->address();
        for (auto p = 1; p <= order_.processes; ++p)
            tasks.push_back(
                {.server = address,
                 .prefix = prefix,
                 .file = folder_.path() + '/' + std::to_string(p),
                 .keys = servers_->keys(),
                 .board = &shared,
                 .is_on_first_side = has_partitions_ && p % 2 == 0,
                 .process = p,
                 .seed = order_.seed * 1'000'003 + static_cast<std::uint64_t>(round_ * 1'009 + p)});
        return tasks;
    }

    /// Waits until each process has had some more decisions, and one on these keys, or is unlikely
    /// to get any.
    void await_decisions(const board& shared, const key_set& keys) const {
        constexpr auto enough = 50;
        const auto before = std::vector<std::int64_t>(
            shared.decided.begin(), shared.decided.begin() + order_.processes + 1);
        const auto since = microseconds_now();
        const auto is_served = [&](std::size_t p) {
            for (std::size_t k = 0; k < keys.size(); ++k)
                if (keys.test(k) && shared.latest[p][k] >= since)
                    return shared.decided[p] >= before[p] + enough;
            return false;
        };
        const auto end = std::chrono::steady_clock::now() + 20s;
        for (std::size_t p = 1; p < before.size(); ++p)
            while (!is_served(p) && std::chrono::steady_clock::now() < end)
                std::this_thread::sleep_for(1ms);
    }

    void make_failovers(int of_each, const board& shared) {
        for (auto i = 0; i < of_each; ++i)
            for (const auto& f : servers_->faults()) {
                if (!order_.only.empty() && f.name != order_.only)
                    continue;
                note_unordered();
                const auto begin = microseconds_now();
                const auto made = f.make();
                note_event(f.name, begin, made.loss);
                auto& kind = kinds_[std::string{f.name}];
                ++kind.made;
                unordered_ += made.had_others ? 1 : 0;
                done_.push_back({.kind = &kind, .what = made});
                note_loss(made.loss);
                await_decisions(shared, made.keys);
            }
    }

    /// Returns the numbers of the keys in the set, which has a key under all limits.
    [[nodiscard]] static std::string numbers(const key_set& keys) {
        auto text = std::string{};
        for (std::size_t k = 0; k < keys_each; ++k)
            if (keys.test(index(0, k)))
                text += ' ' + std::to_string(k);
        return text;
    }

    void note_event(std::string_view name, std::int64_t begin, const std::optional<loss>& l) {
        events_.push_back(std::string{name} + " from " + std::to_string(begin) + " to " +
                          std::to_string(microseconds_now()) +
                          (l ? ", loss from " + std::to_string(l->begin) + " to " +
                                   std::to_string(l->end) + " of the keys" + numbers(l->keys)
                             : ", no loss"));
    }

    void note_loss(const std::optional<loss>& l) {
        if (!l)
            return;
        losses_.push_back(*l);
        ++lost_;
    }

    void note_unordered() {
        const auto begin = microseconds_now();
        const auto lost = servers_->unordered();
        if (lost)
            note_event("unordered", begin, lost);
        note_loss(lost);
        unordered_ += lost ? 1 : 0;
    }

    void judge_round(const std::vector<task>& tasks) {
        auto all = std::vector<record>{};
        for (const auto& t : tasks) {
            auto own = std::vector<record>{};
            read_records(t.file, own);
            for (std::size_t i = 0; i < done_.size(); ++i)
                done_[i].kind->firsts.add(first_decision_of(
                    own, done_[i].what, i + 1 < done_.size() ? done_[i + 1].what.begin : never,
                    servers_->has_one_connection(), t.is_on_first_side));
            all.insert(all.end(), own.begin(), own.end());
        }
        const auto executed =
            read_totals(servers_->address(), tasks.front().prefix, tasks.front().keys);
        add(sum_, judge(std::move(all), losses_, executed));
    }

    campaign_order order_;
    bool has_partitions_ = false;
    test::fresh_folder folder_;
    std::unique_ptr<deployment> servers_;
    int round_ = 0;

    std::map<std::string, fault_kind> kinds_;
    std::vector<made_failover> done_; ///< in this round, as are losses_
    std::vector<loss> losses_;
    std::vector<std::string> events_; ///< what was done, and when
    int lost_ = 0;
    int unordered_ = 0;

    judgement sum_;
    int failed_processes_ = 0;
};

} // namespace

bool run_campaign(const campaign_order& order) {
    auto c = campaign{order};
    c.run();
    return c.report();
}

} // namespace colimit::oracle
