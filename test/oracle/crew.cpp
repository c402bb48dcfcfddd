// SPDX-License-Identifier: BSL-1.0
//
// A supervisor is a process, too. When all rest, limiters live on: so a slot that one of them
// renews although no caller has it would be noticed.

#include "crew.hpp"

#include "clock.hpp"

#include <support/private_network.hpp>
#include <support/rng.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>

namespace colimit::oracle {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

void halt(test::child_process& one, std::int64_t least, std::int64_t most, test::rng& random) {
    one.stop();
    std::this_thread::sleep_for(std::chrono::microseconds{random.between(least, most)});
    one.cont();
}

/// Ends the process when it has slots, or may have leases, if it has any in time.
void disturb(test::child_process& one, const task& t, test::rng& random) {
    auto& board = *t.board;
    const auto& held = t.own().held;
    const auto end = steady_clock::now() + std::chrono::milliseconds{random.between(200, 2'000)};
    while (!board.rest && !one.has_ended()) {
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

void supervise(const task& t) {
    auto random = test::rng{t.seed};
    auto next = t;
    while (!t.board->rest) {
        auto one = test::child_process{};
        next.seed = random.bits();
        one.start([&] { call(next); });
        disturb(one, t, random);
        while (one.is_running() && !one.has_ended())
            std::this_thread::sleep_for(5ms);
        t.own().held = 0;
        if (one.has_failed())
            throw std::runtime_error{"it is not replaced"};
    }
    t.own().rests = true; // it was killed just now, or has been told to stop
}

void work(const task& t) {
    if (t.is_on_first_side) {
        if (::setegid(test::first_side_group) != 0)
            throw std::runtime_error{"setegid failed"};
        test::end_with_parent(); // a change of the group has undone this
    }
    t.mode == mode::leases || t.mode == mode::slots ? supervise(t) : call(t);
}

} // namespace

void crew::start(task t) {
    records_.push_back(make_shared_memory<records>());
    t.process = static_cast<int>(records_.size());
    t.board = board_.get();
    t.records = records_.back().get();
    running_.push_back(std::make_unique<test::child_process>());
    running_.back()->start([&t] { work(t); });
}

bool crew::have_ended() {
    auto running = 0;
    for (const auto& one : running_) {
        failed_ += one->has_ended() && one->has_failed() ? 1 : 0;
        running += one->is_running() ? 1 : 0;
    }
    return running == 0;
}

bool crew::has_failed() {
    return have_ended() || failed_ != 0;
}

bool crew::rests() const {
    for (std::size_t p = 1; p <= records_.size(); ++p)
        if (!board_->each[p].rests)
            return false;
    return true;
}

std::int64_t crew::decided() const {
    auto sum = std::int64_t{0};
    for (const auto& p : board_->each)
        sum += p.decided;
    return sum;
}

void crew::make_rest() {
    board_->rest = true;
    wait_until("the processes rest", [&] { return has_failed() || rests(); });
}

void crew::end(outcome& to) {
    board_->stop = true;
    wait_until("the processes end", [&] { return have_ended(); });
    to.failed += failed_;
    to.lost += board_->lost;
    to.late += board_->late;
    to.wrong += board_->wrong;
    to.kills += board_->kills;
    to.halts += board_->halts;
    to.looks += board_->looks;
    to.crowded += board_->crowded;
}

std::vector<record> crew::all_records() const {
    auto all = std::vector<record>{};
    for (const auto& one : records_)
        one->copy_to(all);
    return all;
}

std::vector<record> crew::records_of(int process) const {
    auto own = std::vector<record>{};
    records_.at(static_cast<std::size_t>(process) - 1)->copy_to(own);
    return own;
}

void outcome::print(mode m) const {
    for (const auto& f : found.findings)
        std::cout << limits_of(m)[f.limit].name << " of key " << f.key << ", "
                  << (f.process == 0 ? "store" : "process " + std::to_string(f.process))
                  << ": beyond the limit " << f.beyond_limit << ", not counted " << f.beyond_count
                  << ", from " << f.first << '\n';
    std::cout << "granted " << found.granted << ", refused " << found.refused << ", unknown "
              << found.unknown << ", failed " << found.failed << '\n'
              << "checks " << found.checks << ", over-admitted " << found.over_admitted
              << ", double-counted " << found.double_counted << ", unfinished " << unfinished
              << ", wrong statistics " << wrong << ", failed processes " << failed << std::endl;
}

} // namespace colimit::oracle
