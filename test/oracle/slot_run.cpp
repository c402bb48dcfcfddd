// SPDX-License-Identifier: BSL-1.0
//
// Each process has a supervisor, as with leases (lease_run.cpp). At the end all rest: they have
// given back their slots, but their limiters live on, so a slot that one of them renews although
// no caller has it would be noticed. What is still under way then is dropped. After the time of the
// server that follows, every place is free within a lease.

#include "slot_run.hpp"

#include "deployment.hpp"
#include "durable_server.hpp"
#include "fault_injector.hpp"
#include "network.hpp"
#include "processes.hpp"
#include "slot_caller.hpp"
#include "slot_observer.hpp"

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
using std::chrono::steady_clock;

/// Checks on the same keys, as all records of a round are in memory.
constexpr std::int64_t most_acquires_per_round = 1'000'000;

void halt(const processes& one, std::int64_t least, std::int64_t most, test::rng& random) {
    one.stop();
    std::this_thread::sleep_for(std::chrono::microseconds{random.between(least, most)});
    one.cont();
}

/// Ends the process when it has slots, if it has any in time.
void disturb(processes& one, const slot_task& t, test::rng& random) {
    auto& board = *t.board;
    const auto& held = board.held[static_cast<std::size_t>(t.process)];
    const auto end = steady_clock::now() + std::chrono::milliseconds{random.between(200, 2'000)};
    while (!board.rest && !one.have_ended()) {
        const auto now = steady_clock::now();
        if (now > end && (held > 0 || now > end + 1s)) {
            board.kills += held > 0 ? 1 : 0;
            return one.kill();
        }
        if (random.below(100) == 0) {
            halt(one, 1'000, 150'000, random);
        } else if (held > 0 && random.below(500) == 0) {
            halt(one, longest_lease + 10'000, longest_lease * 3 / 2, random);
            ++board.halts;
        }
        std::this_thread::sleep_for(5ms);
    }
}

void supervise(const slot_task& t, void (*call)(const slot_task&)) {
    auto random = test::rng{t.seed};
    auto& board = *t.board;
    const auto number = static_cast<std::size_t>(t.process);
    auto next = t;
    if (t.server.empty()) {
        wait_until("there is a network", [&] { return board.port != 0; });
        next.server = "redis://127.0.0.1:" + std::to_string(board.port);
    }
    while (!board.rest) {
        auto one = processes{};
        next.seed = random.bits();
        one.start(t.process, [&] { call(next); });
        disturb(one, t, random);
        while (!one.have_ended())
            std::this_thread::sleep_for(5ms);
        board.held[number] = 0;
        if (one.failed() != 0)
            throw std::runtime_error{"it has failed"};
    }
    board.rests[number] = true; // it was killed just now, or has been told to stop
}

class slot_run {
  public:
    explicit slot_run(slot_order o) : order_(std::move(o)) {
        if (order_.server.empty())
            order_.server = own_.emplace(keeps_all()).unix_address();
    }

    void run() {
        for (auto left = order_.checks; left > 0; left -= most_acquires_per_round)
            run_round(std::min(left, most_acquires_per_round));
    }

    [[nodiscard]] bool report() const {
        std::cout << "slots " << slots_ << ", denied " << denied_ << ", failed " << failed_
                  << ", lost " << lost_ << "; processes killed with slots " << kills_
                  << ", halted with slots for more than a lease " << halts_ << ", server killed "
                  << server_kills_ << ", sets seen " << looks_ << " times\n"
                  << "checks " << checks_ << ", crowded grants " << crowded_grants_
                  << ", crowded sets " << crowded_sets_ << ", wrong tokens " << wrong_tokens_
                  << ", places lost " << places_lost_ << ", late " << late_ << ", wrong statistics "
                  << wrong_ << ", failed processes " << failed_processes_ << std::endl;
        return crowded_grants_ + crowded_sets_ + wrong_tokens_ + places_lost_ + late_ + wrong_ +
                   failed_processes_ ==
               0;
    }

  private:
    using all_records = std::vector<shared<slot_records>>;

    struct finding {
        std::int64_t crowded;
        std::int64_t tokens;
    };

    void run_round(std::int64_t checks) {
        ++round_;
        const auto seed = order_.seed * 1'000'003 + static_cast<std::uint64_t>(round_) * 1'009;
        const auto prefix = "slots-" + std::to_string(::getpid()) + '-' + std::to_string(round_);
        const auto board = make_shared_memory<slot_board>();
        board->flaw = order_.flaw.value_or(slot_flaw::none);
        auto records = all_records{};
        auto supervisors = processes{};
        for (auto p = 1; p <= order_.processes; ++p) {
            records.push_back(make_shared_memory<slot_records>());
            supervisors.start(p, [&, p] {
                supervise({.server = order_.faults && p % 2 == 0 ? "" : order_.server,
                           .prefix = prefix,
                           .board = board.get(),
                           .records = records.back().get(),
                           .process = p,
                           .seed = seed + static_cast<std::uint64_t>(p)},
                          order_.flaw ? call_with_slots_by_hand : call_with_slots);
            });
        }
        auto observer = slot_observer{order_.server, prefix};
        auto worse = fault_injector{own_ ? &*own_ : nullptr, order_.server, seed, [] {}};
        const auto has_failed = [&] {
            return supervisors.failed() != 0 || supervisors.have_ended();
        };
        const auto is_enough = [&] {
            return has_failed() || observer.crowded() > 0 || has_found(records) ||
                   (board->checks >= checks &&
                    (order_.flaw ? board->kills + board->lost > 0
                                 : board->kills > 0 && board->halts > 0));
        };
        auto bad = std::optional<network>{};
        if (order_.faults) {
            bad.emplace(order_.server, seed).start();
            board->port = bad->port();
            worse.make(is_enough);
        } else {
            while (!is_enough())
                std::this_thread::sleep_for(5ms);
        }
        board->rest = true;
        wait_until("the processes rest", [&] {
            return has_failed() || std::all_of(board->rests.begin() + 1,
                                               board->rests.begin() + 1 + order_.processes,
                                               [](const auto& rests) { return rests.load(); });
        });
        observer.end();
        places_lost_ += find_lost_places(*board, prefix, bad ? &*bad : nullptr);
        board->stop = true;
        wait_until("the processes end", [&] { return supervisors.have_ended(); });
        failed_processes_ += supervisors.failed();
        looks_ += observer.looks();
        crowded_sets_ += observer.crowded();
        server_kills_ += worse.losses().size();
        const auto found = judge(records);
        crowded_grants_ += found.crowded;
        wrong_tokens_ += found.tokens;
        for (const auto& one : records)
            slots_ += static_cast<std::int64_t>(one->all().size());
        add(*board);
    }

    /// Nothing that was sent before is executed any more. Two connections are accepted in order, so
    /// those of which the server has not taken notice yet are among those that it ends.
    [[nodiscard]] std::int64_t find_lost_places(slot_board& board, const std::string& prefix,
                                                network* bad) const {
        if (bad != nullptr)
            bad->drop_all();
        auto look = test::raw_client{order_.server};
        if (own_)
            look.must({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
        const auto since = look.time();
        auto own_board = make_shared_memory<slot_board>();
        own_board->flaw = board.flaw;
        const auto own_records = make_shared_memory<slot_records>();
        const auto task = slot_task{.server = order_.server,
                                    .prefix = prefix,
                                    .board = own_board.get(),
                                    .records = own_records.get(),
                                    .seed = order_.seed};
        return order_.flaw ? lost_places_by_hand(task, since) : lost_places(task, since);
    }

    /// A rule that is left out shows sooner or later: returns whether it has, looking twice per
    /// second.
    [[nodiscard]] bool has_found(const all_records& records) {
        if (order_.flaw.value_or(slot_flaw::none) == slot_flaw::none ||
            steady_clock::now() < next_look_)
            return false;
        next_look_ = steady_clock::now() + 500ms;
        const auto found = judge(records);
        return found.crowded + found.tokens > 0;
    }

    /// Also while processes call.
    [[nodiscard]] static finding judge(const all_records& records) {
        auto of_key = std::array<std::array<std::vector<holding>, slot_keys>, slot_limits.size()>{};
        for (const auto& one : records)
            for (const auto& r : one->all())
                of_key[r.limit][r.key].push_back(r.what());
        auto found = finding{};
        for (std::size_t l = 0; l < slot_limits.size(); ++l)
            for (const auto& all : of_key[l]) {
                found.crowded += crowded_grants(slot_limits[l].places, all);
                found.tokens += wrong_tokens(all);
            }
        return found;
    }

    void add(const slot_board& b) {
        checks_ += b.checks;
        denied_ += b.denied;
        failed_ += b.failed;
        lost_ += b.lost;
        late_ += b.late;
        wrong_ += b.wrong;
        kills_ += b.kills;
        halts_ += b.halts;
    }

    slot_order order_;
    std::optional<test::redis_server> own_;
    int round_ = 0;
    steady_clock::time_point next_look_;

    std::int64_t checks_ = 0;
    std::int64_t slots_ = 0;
    std::int64_t denied_ = 0;
    std::int64_t failed_ = 0;
    std::int64_t lost_ = 0;
    std::int64_t kills_ = 0;
    std::int64_t halts_ = 0;
    std::int64_t looks_ = 0;
    std::size_t server_kills_ = 0;
    std::int64_t crowded_grants_ = 0;
    std::int64_t crowded_sets_ = 0;
    std::int64_t wrong_tokens_ = 0;
    std::int64_t places_lost_ = 0;
    std::int64_t late_ = 0;
    std::int64_t wrong_ = 0;
    int failed_processes_ = 0;
};

} // namespace

bool run_with_slots(const slot_order& order) {
    auto r = slot_run{order};
    r.run();
    return r.report();
}

} // namespace colimit::oracle
