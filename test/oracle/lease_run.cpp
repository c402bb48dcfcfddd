// SPDX-License-Identifier: BSL-1.0
//
// Each process has a supervisor, which halts and kills it and starts another one in its place. It
// is a process, too, and was forked before the network of the faults has a thread: so none of them
// keeps connections of that network open.

#include "lease_run.hpp"

#include "deployment.hpp"
#include "fault_injector.hpp"
#include "lease_caller.hpp"
#include "lease_checker.hpp"
#include "network.hpp"
#include "processes.hpp"

#include <support/redis_server.hpp>
#include <support/rng.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace colimit::oracle {
namespace {

using namespace std::chrono_literals;

/// Checks on the same keys, as all records of a round are in memory.
constexpr std::int64_t most_checks_per_round = 4'000'000;

void supervise(const lease_task& t, void (*call)(const lease_task&)) {
    auto random = test::rng{t.seed};
    auto& board = *t.board;
    auto next = t;
    while (!board.stop) {
        auto one = processes{};
        next.seed = random.bits();
        one.start(t.process, [&] { call(next); });
        const auto end = std::chrono::steady_clock::now() +
                         std::chrono::milliseconds{random.between(200, 2'000)};
        while (!one.have_ended() && (board.stop || std::chrono::steady_clock::now() < end)) {
            if (!board.stop && random.below(100) == 0) {
                one.stop();
                std::this_thread::sleep_for(std::chrono::milliseconds{random.between(1, 150)});
                one.cont();
            }
            std::this_thread::sleep_for(5ms);
        }
        if (!one.have_ended()) {
            one.kill();
            ++board.kills;
        }
        if (one.failed() != 0)
            throw std::runtime_error{"it has failed"};
    }
}

class lease_run {
  public:
    explicit lease_run(lease_order o) : order_(std::move(o)) {
        if (order_.server.empty())
            order_.server = own_.emplace().unix_address();
    }

    void run() {
        for (auto left = order_.checks; left > 0; left -= most_checks_per_round)
            run_round(std::min(left, most_checks_per_round));
    }

    [[nodiscard]] bool report() const {
        std::cout << "admitted " << admitted_ << " tokens; of the calls " << leased_
                  << " decided by leases, " << failed_ << " failed; processes killed " << kills_
                  << ", losses of all state " << losses_ << '\n'
                  << "checks " << checks_ << ", over-admitted " << over_admitted_
                  << ", wrong statistics " << wrong_ << ", failed processes " << failed_processes_
                  << std::endl;
        return over_admitted_ == 0 && wrong_ == 0 && failed_processes_ == 0;
    }

  private:
    void run_round(std::int64_t checks) {
        ++round_;
        const auto seed = order_.seed * 1'000'003 + static_cast<std::uint64_t>(round_) * 1'009;
        const auto prefix = "leases-" + std::to_string(::getpid()) + '-' + std::to_string(round_);
        auto bad = std::optional<network>{};
        if (order_.faults)
            bad.emplace(order_.server, seed);
        const auto board = make_shared_memory<lease_board>();
        board->flaw = order_.flaw.value_or(lease_flaw::none);
        auto records = all_records{};
        auto supervisors = processes{};
        for (auto p = 1; p <= order_.processes; ++p) {
            records.push_back(make_shared_memory<lease_records>());
            supervisors.start(p, [&, p] {
                supervise({.server = bad && p % 2 == 0 ? bad->address() : order_.server,
                           .prefix = prefix,
                           .board = board.get(),
                           .records = records.back().get(),
                           .process = p,
                           .seed = seed + static_cast<std::uint64_t>(p)},
                          order_.flaw ? call_with_leases_by_hand : call_with_leases);
            });
        }
        auto worse = fault_injector{own_ ? &*own_ : nullptr, order_.server, seed, [] {}};
        const auto is_enough = [&] {
            return board->checks >= checks || supervisors.failed() != 0 ||
                   supervisors.have_ended() || has_found(records, prefix);
        };
        if (bad) {
            bad->start();
            worse.make(is_enough);
        } else {
            while (!is_enough())
                std::this_thread::sleep_for(5ms);
        }
        board->stop = true;
        wait_until("the processes end", [&] { return supervisors.have_ended(); });
        failed_processes_ += supervisors.failed();
        add(*board);
        losses_ += worse.losses().size();
        for (const auto& found : judge(records, worse.losses(), prefix)) {
            std::cout << leased_limits[found.limit].name << ", key " << found.key
                      << ": over-admitted " << found.over << '\n';
            over_admitted_ += found.over;
        }
        for (const auto& one : records)
            for (const auto& r : one->all())
                admitted_ += r.what.tokens;
    }

    using all_records = std::vector<shared<lease_records>>;

    struct finding {
        std::size_t limit;
        std::size_t key;
        std::int64_t over;
    };

    /// A rule that is left out shows sooner or later: returns whether it has, looking twice per
    /// second.
    [[nodiscard]] bool has_found(const all_records& records, const std::string& prefix) {
        if (order_.flaw.value_or(lease_flaw::none) == lease_flaw::none ||
            std::chrono::steady_clock::now() < next_look_)
            return false;
        next_look_ = std::chrono::steady_clock::now() + 500ms;
        return !judge(records, {}, prefix).empty();
    }

    void add(const lease_board& b) {
        checks_ += b.checks;
        failed_ += b.failed;
        leased_ += b.leased;
        kills_ += b.kills;
        wrong_ += b.wrong;
    }

    /// Also while processes call.
    [[nodiscard]] std::vector<finding> judge(const all_records& records,
                                             const std::vector<loss>& losses,
                                             const std::string& prefix) const {
        auto lost = std::vector<std::int64_t>{};
        for (const auto& l : losses)
            lost.push_back(l.end);
        auto of_key =
            std::array<std::array<std::vector<admission>, leased_keys>, leased_limits.size()>{};
        for (const auto& one : records)
            for (const auto& r : one->all())
                of_key[r.limit][r.key].push_back(r.what);
        const auto executed = order_.flaw ? read_leased_totals_by_hand(order_.server, prefix)
                                          : read_leased_totals(order_.server, prefix);
        auto found = std::vector<finding>{};
        for (std::size_t l = 0; l < leased_limits.size(); ++l)
            for (std::size_t k = 0; k < leased_keys; ++k) {
                auto over = excess(leased_limits[l], of_key[l][k], lost);
                auto sum = std::int64_t{0};
                for (const auto& a : of_key[l][k])
                    sum += a.tokens;
                // What no server has granted cannot be admitted.
                if (lost.empty())
                    over = std::max(over, sum - executed[l][k]);
                if (over > 0)
                    found.push_back({.limit = l, .key = k, .over = over});
            }
        return found;
    }

    lease_order order_;
    std::optional<test::redis_server> own_;
    int round_ = 0;
    std::chrono::steady_clock::time_point next_look_;

    std::int64_t checks_ = 0;
    std::int64_t admitted_ = 0;
    std::int64_t leased_ = 0;
    std::int64_t failed_ = 0;
    std::int64_t kills_ = 0;
    std::int64_t over_admitted_ = 0;
    std::int64_t wrong_ = 0;
    std::size_t losses_ = 0;
    int failed_processes_ = 0;
};

} // namespace

bool run_with_leases(const lease_order& order) {
    auto r = lease_run{order};
    r.run();
    return r.report();
}

} // namespace colimit::oracle
