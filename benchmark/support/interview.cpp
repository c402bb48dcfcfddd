// SPDX-License-Identifier: BSL-1.0
//
// A scenario that others are compared with runs again for each of them, and all of these are its
// rounds.

#include <support/interview.hpp>

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

interview::interview(std::span<const question> questions, conditions each, std::size_t rounds)
    : questions_(questions), each_(std::move(each)), rounds_(rounds) {}

const question* interview::find(std::string_view name) const {
    const auto found = std::ranges::find(questions_, name, &question::name);
    return found == questions_.end() ? nullptr : &*found;
}

bool interview::is_baseline(const question& q) const {
    return std::ranges::find(questions_, q.name, &question::compared_with) != questions_.end();
}

measurement interview::ask_once(const question& q, const std::string& round) {
    auto line = "turn " + std::to_string(++asked_) + " of " + std::to_string(turns_) + ": " +
                std::string{q.name} + ", round " + round;
    if (asked_ > 1) {
        const auto took = std::chrono::duration<double>(steady_clock::now() - begin_).count();
        const auto left = took / static_cast<double>(asked_ - 1) *
                          static_cast<double>(turns_ - std::min(turns_, asked_ - 1));
        line += "; some " + std::to_string(static_cast<int>(std::ceil(left))) + " s left";
    }
    show_for_now(line);
    try {
        return q.measure(each_);
    } catch (const not_to_be_had&) {
        throw;
    } catch (const std::exception& e) {
        show_for_now("");
        throw std::runtime_error{std::string{q.name} + ": " + e.what()};
    }
}

void interview::ask_rounds(const question& q) {
    const auto* other = find(q.compared_with);
    auto mine = std::vector<measurement>{};
    auto others = std::vector<measurement>{};
    for (auto i = std::size_t{1}; i <= rounds_; ++i) {
        const auto round = std::to_string(i) + " of " + std::to_string(rounds_);
        if (other != nullptr)
            others.push_back(ask_once(*other, round + " of " + std::string{q.name}));
        mine.push_back(ask_once(q, round));
    }
    if (other != nullptr) {
        auto& all = baselines_[other->name];
        all.insert(all.end(), others.begin(), others.end());
    }
    made_[q.name] = summarize(q, mine, others);
    show(made_[q.name]);
}

void interview::find_most_per_s() {
    if (!made_.contains(most_of))
        ask_rounds(*find(most_of));
    each_.most_per_s = made_[most_of].median.checks_per_s;
}

void interview::ask(const std::vector<std::string_view>& names) {
    auto wanted = std::vector<const question*>{};
    for (const auto& q : questions_)
        if (std::ranges::find(names, q.name) != names.end())
            wanted.push_back(&q);
    begin_ = steady_clock::now();
    for (const auto* q : wanted)
        turns_ += is_baseline(*q) ? 0 : rounds_ * (q->compared_with.empty() ? 1 : 2);
    for (const auto* q : wanted) {
        if (is_baseline(*q))
            continue;
        if (q->first == needs::most_per_s)
            find_most_per_s();
        try {
            ask_rounds(*q);
        } catch (const not_to_be_had& e) {
            left_out_.push_back(std::string{q->name} + ": " + e.what());
        }
    }
    for (const auto* q : wanted) // separately only if no requested scenario needs it
        if (is_baseline(*q) && !baselines_.contains(q->name)) {
            if (q->first == needs::most_per_s)
                find_most_per_s();
            ask_rounds(*q);
        }
    show_for_now("");
}

std::vector<result> interview::results() const {
    auto in_order = std::vector<result>{};
    for (const auto& q : questions_) {
        if (const auto found = baselines_.find(q.name); found != baselines_.end())
            in_order.push_back(summarize(q, found->second, {}));
        else if (const auto own = made_.find(q.name); own != made_.end())
            in_order.push_back(own->second);
    }
    return in_order;
}

} // namespace colimit::benchmark
