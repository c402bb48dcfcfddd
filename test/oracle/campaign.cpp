// SPDX-License-Identifier: BSL-1.0
//
// Failovers of every kind while processes call: what the checker finds, and how soon each limiter
// decided by the new server.
//
// A round makes one or two failovers of each kind, on keys of its own: its records are in memory.
// The servers stay as the last round has left them.

#include "clock.hpp"
#include "crew.hpp"
#include "deployment.hpp"
#include "first_decisions.hpp"
#include "run.hpp"

#include <support/private_network.hpp>

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

class campaign {
  public:
    explicit campaign(order o) : order_(std::move(o)) {
        const auto problem = test::enter_private_network();
        has_partitions_ = problem.empty();
        if (!has_partitions_)
            std::cout << "no partitions on this machine (" << problem
                      << "): masters are frozen instead" << std::endl;
        servers_ = order_.servers == servers::sentinel ? make_sentinel_deployment(has_partitions_)
                                                       : make_cluster_deployment(has_partitions_);
        require_kind();
    }

    void make_all_rounds() {
        for (auto left = order_.failovers; left > 0; left -= failovers_per_round)
            make_round(std::min(left, failovers_per_round));
    }

    [[nodiscard]] bool report() const {
        auto firsts = first_decisions{};
        for (const auto& [name, kind] : kinds_) {
            firsts.add(kind.firsts);
            std::cout << kind.made << " times " << name << ": first decision " << kind.firsts.text()
                      << '\n';
        }
        std::cout << "not ordered " << unordered_ << ", losses of state " << lost_
                  << "; first decision after " << servers_->measured_from() << ": " << firsts.text()
                  << ", missing " << firsts.missing << '\n';
        all_.print(order_.mode);
        const auto is_well = all_.is_well() && firsts.are_soon(order_.within_ms * 1'000);
        if (!is_well)
            for (const auto& event : events_)
                std::cout << event << std::endl;
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

    void make_round(int of_each) {
        ++round_;
        done_.clear();
        losses_.clear();
        auto workers = crew{};
        for (auto p = 1; p <= order_.processes; ++p)
            workers.start(task_of(p));
        await_decisions(workers.board(), key_set{}.set());
        make_failovers(of_each, workers.board());
        workers.make_rest();
        workers.end(all_);
        note_unordered();
        judge_round(workers);
    }

    [[nodiscard]] task task_of(int process) {
        const auto is_fixed = order_.flaw == flaw::no_follow;
        return {.server = is_fixed ? servers_->fixed_address() : servers_->address(),
                .prefix = "oracle-" + std::to_string(round_),
                .keys = servers_->keys(),
                .has_pauses = true,
                .is_on_first_side = is_on_first_side(process),
                .processes = order_.processes,
                .seed =
                    order_.seed * 1'000'003 + static_cast<std::uint64_t>(round_ * 1'009 + process)};
    }
    [[nodiscard]] bool is_on_first_side(int process) const {
        return has_partitions_ && process % 2 == 0;
    }

    /// Waits until each process has had some more decisions, and one on these keys, or is unlikely
    /// to get any.
    void await_decisions(const board& b, const key_set& keys) const {
        constexpr auto enough = 50;
        const auto processes = static_cast<std::size_t>(order_.processes);
        auto before = std::vector<std::int64_t>{0};
        for (std::size_t p = 1; p <= processes; ++p)
            before.push_back(b.each[p].decided);
        const auto since = microseconds_now();
        const auto is_served = [&](std::size_t p) {
            for (std::size_t k = 0; k < keys.size(); ++k)
                if (keys.test(k) && b.each[p].latest[k] >= since)
                    return b.each[p].decided >= before[p] + enough;
            return false;
        };
        const auto end = std::chrono::steady_clock::now() + 20s;
        for (std::size_t p = 1; p <= processes; ++p)
            while (!is_served(p) && std::chrono::steady_clock::now() < end)
                std::this_thread::sleep_for(1ms);
    }

    void make_failovers(int of_each, const board& b) {
        for (auto i = 0; i < of_each; ++i)
            for (const auto& f : servers_->faults()) {
                if (!order_.only.empty() && f.name != order_.only)
                    continue;
                note_unordered();
                const auto begin = microseconds_now();
                const auto made = f.make();
                note(f.name, begin, made.loss);
                auto& kind = kinds_[std::string{f.name}];
                ++kind.made;
                unordered_ += made.had_others ? 1 : 0;
                done_.push_back({.kind = &kind, .what = made});
                await_decisions(b, made.keys);
            }
    }

    void note_unordered() {
        const auto begin = microseconds_now();
        const auto lost = servers_->unordered();
        if (!lost)
            return;
        note("unordered", begin, lost);
        ++unordered_;
    }

    void note(std::string_view name, std::int64_t begin, const std::optional<loss>& l) {
        auto event = std::string{name} + " from " + std::to_string(begin) + " to " +
                     std::to_string(microseconds_now());
        if (l) {
            event += ", loss from " + std::to_string(l->begin) + " to " + std::to_string(l->end) +
                     " of the keys";
            for (std::size_t k = 0; k < most_keys; ++k) // it is the same under all limits
                event += l->keys.test(index(0, k)) ? ' ' + std::to_string(k) : "";
            losses_.push_back(*l);
            ++lost_;
        }
        events_.push_back(std::move(event));
    }

    void judge_round(const crew& workers) {
        for (auto p = 1; p <= order_.processes; ++p) {
            const auto own = workers.records_of(p);
            for (std::size_t i = 0; i < done_.size(); ++i)
                done_[i].kind->firsts.add(first_decision_of(
                    own, done_[i].what, i + 1 < done_.size() ? done_[i + 1].what.begin : never,
                    servers_->has_one_connection(), is_on_first_side(p)));
        }
        auto look = task_of(0);
        look.server = servers_->address();
        auto found =
            judge(mode::calls, workers.all_records(), losses_, read_totals_by_limiter(look));
        all_.unfinished += found.unfinished;
        add(all_.found, found);
    }

    order order_;
    bool has_partitions_ = false;
    std::unique_ptr<deployment> servers_;
    int round_ = 0;

    std::map<std::string, fault_kind> kinds_;
    std::vector<made_failover> done_; ///< in this round, as are losses_
    std::vector<loss> losses_;
    std::vector<std::string> events_; ///< what was done, and when
    int lost_ = 0;
    int unordered_ = 0;
    outcome all_;
};

} // namespace

bool run_with_failovers(const order& o) {
    auto c = campaign{o};
    c.make_all_rounds();
    return c.report();
}

} // namespace colimit::oracle
