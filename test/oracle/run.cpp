// SPDX-License-Identifier: BSL-1.0
//
// Rounds on one server. With request ids and slots it writes each change to its AOF before it
// replies: so it loses nothing when it is killed, also without fsync, as what a process has written
// outlives it.
//
// At the end of a round with slots all have been given back. What is still under way then is
// dropped. After the time of the server that follows, every place is free within a lease.

#include "run.hpp"

#include "clock.hpp"
#include "crew.hpp"
#include "trouble.hpp"

#include <support/redis_server.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

namespace colimit::oracle {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

/// Calls or ids on the same keys, as all records of a round are in memory.
constexpr std::int64_t checks_per_round = 1'000'000;

void add(totals& to, const totals& more) {
    for (std::size_t l = 0; l < most_limits; ++l)
        for (std::size_t k = 0; k < most_keys; ++k)
            to[l][k] += more[l][k];
}

class run {
  public:
    explicit run(order o)
        : order_(std::move(o)),
          keeps_state_(order_.mode == mode::requests || order_.mode == mode::slots) {
        if (!order_.server.empty()) { // does it work at all?
            (void)read_totals_by_limiter({.server = order_.server, .prefix = "oracle"});
            return;
        }
        auto wanted = test::redis_server::options{};
        if (keeps_state_)
            wanted.arguments = {
                "--appendonly", "yes", "--appendfsync", "no", "--auto-aof-rewrite-percentage", "0"};
        order_.server = own_.emplace(wanted).unix_address();
    }

    void make_all_rounds() {
        for (auto left = order_.checks; left > 0; left -= checks_per_round)
            make_round(std::min(left, checks_per_round));
    }

    [[nodiscard]] bool report() const {
        const auto& f = all_.found;
        if (order_.mode == mode::leases)
            std::cout << "admitted " << f.tokens << " tokens, by " << f.leased
                      << " calls with leases; processes killed " << all_.kills << '\n';
        if (order_.mode == mode::slots)
            std::cout << "slots lost " << all_.lost << "; processes killed with slots "
                      << all_.kills << ", halted with slots for more than a lease " << all_.halts
                      << ", sets seen " << all_.looks << " times\n"
                      << "crowded grants " << f.crowded << ", crowded sets " << all_.crowded
                      << ", wrong tokens " << f.wrong_tokens << ", slots lost " << all_.slots_lost
                      << ", late " << all_.late << '\n';
        if (order_.mode == mode::requests)
            std::cout << "calls " << f.sent << ", answered " << f.answered << "; ids " << f.checks
                      << ", with different answers " << f.different << '\n';
        if (order_.has_faults)
            std::cout << "server killed " << server_kills_ << " times\n";
        all_.print(order_.mode);
        return all_.is_well();
    }

  private:
    void make_round(std::int64_t checks) {
        begin_round(checks);
        auto workers = crew{};
        auto network = test::child_process{};
        auto observer = test::child_process{};
        if (order_.has_faults) {
            network.start([&] { serve_bad_network(workers.board(), order_.server, seed_); });
            wait_until("there is a network", [&] { return workers.board().port != 0; });
        }
        for (auto p = 1; p <= order_.processes; ++p)
            workers.start(task_of(p, checks, workers.board().port));
        if (order_.mode == mode::slots)
            observer.start([&] { look_at_holders(workers.board(), order_.server, each_.prefix); });
        auto killed = totals{}; // what servers had granted before that, except in the last moments
        auto worse = fault_injector{own_ ? &*own_ : nullptr, order_.server, seed_, [&] {
                                        if (!keeps_state_)
                                            add(killed, executed());
                                    }};
        auto next = steady_clock::now();
        while (!is_enough(workers, checks)) {
            if (network.has_ended() || observer.has_ended()) {
                ++all_.failed;
                break;
            }
            if (order_.has_faults)
                worse.tick();
            if (order_.flaw == flaw::forget_records)
                forget();
            std::this_thread::sleep_until(next += 10ms);
        }
        workers.make_rest();
        observer.kill();
        if (order_.mode == mode::slots)
            all_.slots_lost += find_lost_slots(workers.board());
        workers.end(all_);
        network.kill();
        server_kills_ += worse.losses().size();
        add(killed, executed());
        auto found = judge(order_.mode, workers.all_records(),
                           keeps_state_ ? std::vector<loss>{} : worse.losses(), killed);
        all_.unfinished += found.unfinished;
        if (each_.checks) // of a process that has failed, some may be missing
            all_.unfinished += std::max<std::int64_t>(0, checks - found.checks);
        add(all_.found, found);
    }

    void begin_round(std::int64_t checks) {
        ++round_;
        seed_ = order_.seed * 1'000'003 + static_cast<std::uint64_t>(round_) * 1'009;
        each_ = {.mode = order_.mode,
                 .by_hand = order_.flaw == flaw::forget_records ? std::nullopt : order_.flaw,
                 .server = order_.server,
                 .prefix = "oracle-" + std::to_string(::getpid()) + '-' + std::to_string(round_),
                 .processes = order_.processes,
                 .common_seed = seed_};
        if (order_.mode == mode::calls || order_.mode == mode::requests)
            each_.checks = checks;
    }

    /// Half of the processes are behind the bad network.
    [[nodiscard]] task task_of(int process, std::int64_t checks, std::uint16_t port) const {
        auto t = each_;
        t.seed = seed_ + static_cast<std::uint64_t>(process);
        if (port != 0 && process % 2 == 0)
            t.server = "redis://127.0.0.1:" + std::to_string(port);
        if (order_.mode == mode::calls)
            t.checks = checks / order_.processes + (process == 1 ? checks % order_.processes : 0);
        return t;
    }

    /// With leases and slots all processes share the calls, and some must have been disturbed. With
    /// slots, the sets of holders must have been seen.
    [[nodiscard]] bool is_enough(crew& workers, std::int64_t checks) {
        if (workers.has_failed())
            return true;
        if (each_.checks)
            return workers.rests();
        const auto& b = workers.board();
        const auto was_disturbed = order_.flaw ? b.kills + b.lost > 0 : b.kills > 0 && b.halts > 0;
        const auto was_seen = order_.mode != mode::slots || b.looks > 0;
        return b.crowded > 0 || (workers.decided() >= checks && was_disturbed && was_seen) ||
               has_found(workers);
    }

    /// A rule that is left out shows sooner or later: returns whether it has, looking twice per
    /// second.
    [[nodiscard]] bool has_found(const crew& workers) {
        if (order_.flaw.value_or(flaw::nothing) == flaw::nothing ||
            steady_clock::now() < next_look_)
            return false;
        next_look_ = steady_clock::now() + 500ms;
        auto records = workers.all_records(); // before the server is asked, which counts more then
        return !judge(order_.mode, std::move(records), {}, executed()).is_well();
    }

    [[nodiscard]] totals executed() const {
        if (order_.mode == mode::slots)
            return {};
        return each_.by_hand ? read_totals_by_hand(each_) : read_totals_by_limiter(each_);
    }

    void forget() {
        try {
            forget_requests(look_ ? *look_ : look_.emplace(order_.server), each_.prefix);
        } catch (const std::runtime_error&) { // the connection was ended
            look_.reset();
        }
    }

    /// Nothing that was sent before is executed any more. Two connections are accepted in order, so
    /// those of which the server has not taken notice yet are among those that it ends.
    [[nodiscard]] std::int64_t find_lost_slots(board& b) const {
        if (order_.has_faults) {
            b.drop_all = true;
            wait_until("the network has no connections", [&] { return !b.drop_all; });
        }
        auto look = test::raw_client{order_.server};
        if (own_)
            look.must({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
        const auto since = look.time();
        const auto own_board = make_shared_memory<board>();
        const auto own_records = make_shared_memory<records>();
        auto t = each_;
        t.board = own_board.get();
        t.records = own_records.get();
        auto lost = std::int64_t{0};
        for (std::size_t l = 0; l < slot_limits.size(); ++l) {
            while (look.time() < since + slot_limits[l].lease)
                std::this_thread::sleep_for(1ms);
            lost += t.by_hand ? slots_lost_by_hand(t, l) : slots_lost_by_limiter(t, l);
        }
        return lost;
    }

    order order_;
    bool keeps_state_;
    std::optional<test::redis_server> own_;
    std::optional<test::raw_client> look_;
    int round_ = 0;
    std::uint64_t seed_ = 0;
    task each_;
    steady_clock::time_point next_look_;
    outcome all_;
    std::size_t server_kills_ = 0;
};

} // namespace

bool run_on_one_server(const order& o) {
    auto r = run{o};
    r.make_all_rounds();
    return r.report();
}

} // namespace colimit::oracle
