// SPDX-License-Identifier: BSL-1.0
//
// A scenario that others are compared with runs again for each of them, and all of these are its
// rounds.

#include <support/runner.hpp>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <stdexcept>
#include <unistd.h>
#include <utility>

namespace colimit::benchmark {
namespace {

using std::chrono::steady_clock;

/// The scenario that determines `conditions::most_per_s`.
constexpr std::string_view most_of = "redis_uniform";

/// Shows a line on a terminal that the next one replaces.
void show_for_now(const std::string& line) {
    if (isatty(STDERR_FILENO) == 1)
        std::cerr << "\r\033[K" << line << std::flush;
}

void show(const result& r) {
    show_for_now("");
    std::cerr << r.name << ": " << std::fixed << std::setprecision(0) << r.median.checks_per_s
              << " checks/s";
    if (r.ratio)
        std::cerr << std::setprecision(2) << ", " << *r.ratio << " times " << r.compared_with;
    std::cerr << '\n';
}

} // namespace

runner::runner(std::span<const scenario> scenarios, conditions each, std::size_t rounds)
    : scenarios_(scenarios), each_(std::move(each)), rounds_(rounds) {}

const scenario* runner::find(std::string_view name) const {
    const auto found = std::ranges::find(scenarios_, name, &scenario::name);
    return found == scenarios_.end() ? nullptr : &*found;
}

bool runner::is_baseline(const scenario& s) const {
    return std::ranges::find(scenarios_, s.name, &scenario::compared_with) != scenarios_.end();
}

measurement runner::run_once(const scenario& s, const std::string& round) {
    auto line = "turn " + std::to_string(++turn_) + " of " + std::to_string(turns_) + ": " +
                std::string{s.name} + ", round " + round;
    if (turn_ > 1) {
        const auto took = std::chrono::duration<double>(steady_clock::now() - begin_).count();
        const auto left = took / static_cast<double>(turn_ - 1) *
                          static_cast<double>(turns_ - std::min(turns_, turn_ - 1));
        line += "; some " + std::to_string(static_cast<int>(std::ceil(left))) + " s left";
    }
    show_for_now(line);
    try {
        return s.measure(each_);
    } catch (const not_to_be_had&) {
        throw;
    } catch (const std::exception& e) {
        show_for_now("");
        throw std::runtime_error{std::string{s.name} + ": " + e.what()};
    }
}

void runner::run_rounds(const scenario& s) {
    const auto* other = find(s.compared_with);
    auto mine = std::vector<measurement>{};
    auto others = std::vector<measurement>{};
    for (auto i = std::size_t{1}; i <= rounds_; ++i) {
        const auto round = std::to_string(i) + " of " + std::to_string(rounds_);
        if (other != nullptr)
            others.push_back(run_once(*other, round + " of " + std::string{s.name}));
        mine.push_back(run_once(s, round));
    }
    if (other != nullptr) {
        auto& all = baselines_[other->name];
        all.insert(all.end(), others.begin(), others.end());
    }
    made_[s.name] = summarize(s, mine, others);
    show(made_[s.name]);
}

void runner::find_most_per_s() {
    if (!made_.contains(most_of))
        run_rounds(*find(most_of));
    each_.most_per_s = made_[most_of].median.checks_per_s;
}

void runner::run(const std::vector<std::string_view>& names) {
    auto wanted = std::vector<const scenario*>{};
    for (const auto& s : scenarios_)
        if (std::ranges::find(names, s.name) != names.end())
            wanted.push_back(&s);
    begin_ = steady_clock::now();
    for (const auto* s : wanted)
        turns_ += is_baseline(*s) ? 0 : rounds_ * (s->compared_with.empty() ? 1 : 2);
    for (const auto* s : wanted) {
        if (is_baseline(*s))
            continue;
        if (s->first == needs::most_per_s)
            find_most_per_s();
        try {
            run_rounds(*s);
        } catch (const not_to_be_had& e) {
            left_out_.push_back(std::string{s->name} + ": " + e.what());
        }
    }
    for (const auto* s : wanted) // separately only if no requested scenario needs it
        if (is_baseline(*s) && !baselines_.contains(s->name)) {
            if (s->first == needs::most_per_s)
                find_most_per_s();
            run_rounds(*s);
        }
    show_for_now("");
}

std::vector<result> runner::results() const {
    auto in_order = std::vector<result>{};
    for (const auto& s : scenarios_) {
        if (const auto found = baselines_.find(s.name); found != baselines_.end())
            in_order.push_back(summarize(s, found->second, {}));
        else if (const auto own = made_.find(s.name); own != made_.end())
            in_order.push_back(own->second);
    }
    return in_order;
}

} // namespace colimit::benchmark
