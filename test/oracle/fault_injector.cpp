// SPDX-License-Identifier: BSL-1.0
//
// One tick is ten milliseconds.

#include "fault_injector.hpp"

#include "deployment.hpp"

#include <chrono>
#include <exception>
#include <stdexcept>
#include <thread>
#include <utility>

namespace colimit::oracle {
namespace {

using namespace std::chrono_literals;

constexpr auto tick_length = 10ms;

} // namespace

fault_injector::fault_injector(test::redis_server* own, std::string server, std::uint64_t seed,
                               std::function<void()> before_kill)
    : own_(own), server_(std::move(server)), random_(seed), before_kill_(std::move(before_kill)) {}

void fault_injector::make(const std::function<bool()>& over) {
    losses_.clear();
    auto next = std::chrono::steady_clock::now();
    for (std::uint64_t tick = 1; !over(); ++tick) {
        try {
            if (!client_)
                client_ = std::make_unique<test::raw_client>(server_);
            step(tick);
        } catch (const std::runtime_error&) { // the connection was among those that were killed
            client_.reset();
        }
        next += tick_length;
        std::this_thread::sleep_until(next);
    }
    client_.reset();
}

void fault_injector::step(std::uint64_t tick) {
    client_->must({"SCRIPT", "FLUSH"});
    if (random_() % 20 == 0)
        client_->must({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    if (own_ == nullptr)
        return;
    if (random_() % 100 == 0)
        freeze();
    // Early, so that also a short run has one.
    if (tick == 20 || random_() % 200 == 0)
        kill();
}

void fault_injector::freeze() {
    own_->stop();
    std::this_thread::sleep_for(std::chrono::milliseconds{random_() % 200});
    own_->cont();
}

void fault_injector::kill() {
    try {
        before_kill_();
    } catch (const std::exception&) { // NOLINT: a busy server keeps its totals to itself
    }
    client_.reset();
    own_->kill();
    const auto now = microseconds_now();
    losses_.push_back({.begin = now, .end = now});
    std::this_thread::sleep_for(std::chrono::milliseconds{random_() % 100});
    own_->start();
}

} // namespace colimit::oracle
