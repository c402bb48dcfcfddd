// SPDX-License-Identifier: BSL-1.0
//
// Bytes go out of the library's own state machine, and replies into it.

#include "log_trial.hpp"

#include "log_history.hpp"
#include "shrink.hpp"

#include <core/evaluate.hpp>
#include <core/log_counts.hpp>
#include <policy/policy_data.hpp>
#include <redis/protocol/key.hpp>
#include <support/decision_text.hpp>

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace colimit::differential {
namespace {

namespace resp = redis::resp;

/// If denied calls count, both keep a bounded number of events, but only on the server is each
/// token one.
[[nodiscard]] decision as_far_as_it_matters(decision d) {
    for (std::size_t i = 0; i < d.rules.size(); ++i)
        d.rules[i].balance = std::max(d.rules[i].balance, -d.rules[i].limit);
    return d;
}

} // namespace

log_trial::log_trial(history told, std::string prefix)
    : told_(std::move(told)), prefix_(std::move(prefix)),
      queue_({.prefix = prefix_, .minimum_ttl_ms = least_ttl_ms, .clock = [] { return 0; }}),
      logs_(told_.keys) {
    queue_.begin_connection({.origin = "differential."});
}

const core::compiled_policy& log_trial::rules() const noexcept {
    return detail::access::data(told_.versions.front())->compiled;
}

std::string log_trial::name_of(std::size_t key) const {
    const auto word = std::to_string(key);
    auto name = std::string{};
    const auto place =
        redis::append_key(name, prefix_, detail::access::data(told_.versions.front())->name, word);
    return name.insert(place, redis::transaction_family);
}

void log_trial::report(std::string what) {
    if (!first_)
        first_ = mismatch{step_, std::move(what)};
}

void log_trial::send(std::string& out) {
    calls_.clear();
    for (const auto& c : told_.steps[step_].calls)
        if (const auto ec = queue_.submit(calls_.emplace_back(c.request), std::to_string(c.key),
                                          detail::access::data(told_.versions.front())))
            report("key " + std::to_string(c.key) + ": " + ec.message());
    queue_.write(out, 0, 0);
    for (const auto& c : told_.steps[step_].calls)
        resp::append_command(out, {"PTTL", name_of(c.key)});
    if (step_ + 1 == told_.steps.size())
        for (std::size_t key = 0; key < told_.keys; ++key)
            resp::append_command(out, {"UNLINK", name_of(key)});
}

std::optional<mismatch> log_trial::compare(test::raw_client& server) {
    const auto& s = told_.steps[step_];
    while (queue_.expects_reply())
        server.receive([&](const resp::decoder& d, std::string_view bytes) {
            if (!queue_.read_reply(d, bytes))
                throw std::runtime_error{"the reply is not one to this row"};
        });
    while (!queue_.done.empty())
        queue_.done.pop_front();
    compare_decisions(s);
    for (const auto& c : s.calls)
        compare_end(c.key, server.receive());
    if (step_ + 1 == told_.steps.size())
        for (std::size_t key = 0; key < told_.keys; ++key)
            (void)server.receive();
    ++step_;
    return first_;
}

decision log_trial::expected(const key_call& c) {
    auto answer = decision{};
    auto state = core::key_state{};
    auto& log = logs_[c.key];
    (void)core::apply_before(log, rules(), c.request);
    core::report_counts(log, rules(), c.request, state.states);
    (void)core::evaluate(rules(), state, c.request, answer);
    (void)core::apply_after(log, rules(), c.request, answer);
    return answer;
}

void log_trial::compare_decisions(const step& s) {
    for (std::size_t i = 0; i < s.calls.size(); ++i) {
        const auto model = as_far_as_it_matters(expected(s.calls[i]));
        const auto found = as_far_as_it_matters(calls_[i].result);
        if (!calls_[i].ec && found == model)
            continue;
        auto text = std::ostringstream{};
        text << "key " << s.calls[i].key << ": expected " << model << "\nbut is " << found << ' '
             << calls_[i].ec.message();
        report(text.str());
    }
}

/// -2: there is no key. A log is kept for the time that was asked for, or was there longer than a
/// history takes.
void log_trial::compare_end(std::size_t key, const test::reply& ttl) {
    if (ttl.integer != -2 && (ttl.integer <= 0 || ttl.integer > 25 * least_ttl_ms))
        report("key " + std::to_string(key) + " ends in " + ttl.text + " ms");
}

namespace {

/// The first difference that a history of its own shows.
[[nodiscard]] std::optional<mismatch> try_log_alone(test::raw_client& server, const history& told,
                                                    std::string prefix) {
    auto run = log_trial{told, std::move(prefix)};
    auto difference = std::optional<mismatch>{};
    while (!run.is_over()) {
        auto out = std::string{};
        run.send(out);
        server.send(out);
        difference = run.compare(server);
    }
    return difference;
}

} // namespace

bool compare_logs(test::raw_client& server, std::size_t calls, std::uint64_t seed) {
    constexpr auto side_by_side = std::size_t{32};
    const auto prefix = "differential-" + std::to_string(::getpid()) + "-t";
    auto running = std::vector<std::unique_ptr<log_trial>>{};
    auto histories = std::uint64_t{0};
    for (auto told = std::size_t{0}; told < calls || !running.empty();) {
        while (told < calls && running.size() < side_by_side) {
            auto next = random_log_history(seed * 1'000'003 + histories++);
            told += next.calls();
            running.push_back(
                std::make_unique<log_trial>(std::move(next), prefix + std::to_string(histories)));
        }
        auto out = std::string{};
        for (auto& one : running)
            one->send(out);
        server.send(out);
        const log_trial* wrong = nullptr;
        for (auto& one : running)
            if (one->compare(server) && wrong == nullptr)
                wrong = one.get();
        if (wrong != nullptr) {
            auto attempt = 0;
            auto what = std::string{};
            const auto smallest = shrink(wrong->told(), [&](const history& smaller) {
                const auto again =
                    try_log_alone(server, smaller, prefix + "-" + std::to_string(++attempt));
                what = again ? again->what : what;
                return again.has_value();
            });
            std::cout << "C++ and MULTI differ (seed " << seed << ", history " << smallest.seed
                      << "):\n"
                      << smallest << what << '\n';
            return false;
        }
        std::erase_if(running, [](const auto& one) { return one->is_over(); });
    }
    std::cout << calls << " calls without scripts in " << histories << " histories: they agree\n";
    return true;
}

} // namespace colimit::differential
