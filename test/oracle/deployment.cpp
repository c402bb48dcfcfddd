// SPDX-License-Identifier: BSL-1.0
//
// What failovers have in common. A server is ended and halted without a word to those that have
// started it: they are not asked for anything until it is back.

#include "deployment.hpp"

#include <support/private_network.hpp>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>

namespace colimit::oracle {

using namespace std::chrono_literals;

bool write_watch::accepts() {
    const auto asked = microseconds_now();
    const auto is_accepted = ask();
    if (is_accepted && first_ == 0)
        first_ = asked;
    if (is_accepted || accepted_last_)
        end_ = microseconds_now();
    if (first_ == 0)
        before_ = asked;
    accepted_last_ = is_accepted;
    return is_accepted;
}

/// Each time on a new connection: Sentinel ends those of a server whose role it changes.
bool write_watch::ask() const {
    for (auto is_again = false;; is_again = true)
        try {
            return server_->connect()({"SET", key_, "", "PX", "1000"}).text == "OK";
        } catch (const std::runtime_error&) { // ended between connection and reply
            if (is_again)
                throw;
        }
}

std::optional<loss> deployment::loss_of(const key_set& moved) {
    const auto since = std::exchange(healthy_at_, microseconds_now());
    if (moved.none())
        return {};
    return loss{.begin = since, .end = healthy_at_, .keys = moved};
}

std::optional<loss> deployment::unordered() {
    await_health();
    return loss_of(moved(nullptr));
}

failover deployment::finish(course& c) {
    await_health();
    const auto others = moved(&c);
    c.result.had_others = others.any();
    if (const auto lost = loss_of(others.any() ? c.result.keys | others : others))
        c.result.loss = lost;
    return c.result;
}

void deployment::flush_sometimes() {
    if (++ticks_ % 20 != 0)
        return;
    const auto i = random_() % servers();
    if (i == away_)
        return;
    try {
        server(i).connect()({"SCRIPT", "FLUSH"});
    } catch (const std::runtime_error&) { // NOLINT: Sentinel has ended the connection
    }
}

void deployment::await_successor(course& c, const std::function<void()>& meanwhile) {
    wait_until("another server takes over", [&] {
        for (auto& o : c.others)
            (void)o.accepts();
        if (c.result.has_partition) // it does not reply otherwise
            (void)c.old_writes.accepts();
        flush_sometimes();
        if (meanwhile)
            meanwhile();
        c.result.known = time_known(c);
        return c.result.known != 0;
    });
    // It may have taken over, and been announced, while this process was halted after it had asked.
    for (auto& o : c.others)
        (void)o.accepts();
}

void deployment::await_demotion(course& c) {
    wait_until("the old master is a replica", [&] {
        const auto accepts = c.old_writes.accepts();
        return was_replaced_again() ||
               (!accepts && server(c.old).connect()({"ROLE"}).elements.at(0).text != "master");
    });
    c.result.old_demoted = std::max(c.result.known, c.old_writes.end());
}

loss deployment::granted_twice(const course& c) const {
    auto first = c.result.known;
    for (const auto& o : c.others)
        if (o.first() != 0)
            first = std::min(first, o.before());
    return {.begin = first, .end = c.result.old_demoted, .keys = c.result.keys};
}

namespace {

/// First decisions are made while the old master is away, and so are surely those of the new one.
void await_first_decisions() {
    std::this_thread::sleep_for(300ms);
}

} // namespace

fault deployment::kill() {
    return {"kill -9", [this] {
                auto c = begin();
                away_ = c.old;
                server(c.old).kill();
                const auto end = microseconds_now();
                c.result.loss = {.begin = end, .end = end, .keys = c.result.keys};
                await_successor(c);
                await_first_decisions();
                c.result.old_back = microseconds_now();
                server(c.old).start();
                away_ = nothing;
                await_demotion(c);
                return finish(c);
            }};
}

fault deployment::cut() {
    return {has_partitions_ ? "partition" : "freeze", [this] {
                auto c = begin();
                auto apart = std::optional<test::partition>{};
                if (has_partitions_) {
                    auto others = hosts();
                    const auto old = others[c.old];
                    others.erase(others.begin() + static_cast<std::ptrdiff_t>(c.old));
                    apart.emplace(std::vector{old}, others);
                    c.result.has_partition = true;
                } else {
                    away_ = c.old;
                    server(c.old).stop();
                }
                await_successor(c);
                await_first_decisions(); // both grant
                c.result.old_back = microseconds_now();
                apart.reset();
                if (std::exchange(away_, nothing) != nothing)
                    server(c.old).cont();
                await_demotion(c);
                c.result.loss = granted_twice(c);
                return finish(c);
            }};
}

} // namespace colimit::oracle
