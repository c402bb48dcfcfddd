// SPDX-License-Identifier: BSL-1.0
//
// Half of the clock's moves end where an event leaves a window, or a microsecond beside.

#include "log_history.hpp"

#include <support/rng.hpp>

#include <colimit/limits.hpp>
#include <core/compiled_policy.hpp>
#include <policy/policy_data.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace colimit::differential {
namespace {

using core::verb;

constexpr std::size_t calls_of_log_history = 100;
constexpr std::size_t most_rules = limits::max_rules_per_policy;

class log_story {
  public:
    explicit log_story(std::uint64_t seed) : rng_(seed) {
        told_.seed = seed;
        told_.keys = 1 + rng_.below(4);
        auto rules = std::vector<rule>{};
        const auto size = rng_.percent(50) ? 1 : 1 + rng_.below(most_rules);
        while (rules.size() < size)
            rules.push_back(draw_rule("r" + std::to_string(rules.size())));
        const auto made = policy{"p", rules};
        told_.versions = {rng_.percent(10) ? made.shadow() : made};
        room_ = core::log_capacity(detail::access::data(made)->compiled);
        asked_.resize(told_.keys);
        refunds_ = !counts_refused_ || rng_.percent(50);
        now_ = rng_.magnitude(limits::max_time / 2);
    }

    [[nodiscard]] history tell() {
        while (told_.calls() < calls_of_log_history) {
            move_clock();
            told_.steps.push_back(ask());
        }
        auto last = step{};
        for (std::size_t k = 0; k < told_.keys; ++k)
            last.calls.push_back({.key = k, .request = {.verb = verb::peek, .now = now_}});
        told_.steps.push_back(std::move(last));
        return std::move(told_);
    }

  private:
    [[nodiscard]] rule draw_rule(const std::string& name) {
        const auto most = rng_.percent(80) ? 12 : 300;
        const auto period = rng_.magnitude(rng_.percent(70) ? 60'000'000 : 86'400'000'000);
        periods_.push_back(period);
        const auto log = sliding_log(rng_.magnitude(most), std::chrono::microseconds{period});
        const auto counting = rng_.percent(25);
        counts_refused_ = counts_refused_ || counting;
        return (counting ? log.count_denied() : log).named(name).shadow(rng_.percent(15));
    }

    void move_clock() {
        if (rng_.percent(40))
            return;
        if (rng_.percent(50) && !times_.empty()) {
            const auto event = times_[rng_.below(times_.size())];
            const auto edge = event + periods_[rng_.below(periods_.size())];
            now_ = std::max(now_, edge + rng_.between(-1, 1));
        } else {
            now_ += rng_.magnitude(periods_[rng_.below(periods_.size())]);
        }
    }

    [[nodiscard]] step ask() {
        auto keys = std::vector<std::size_t>(told_.keys);
        for (std::size_t k = 0; k < keys.size(); ++k)
            keys[k] = k;
        rng_.shuffle(keys);
        keys.resize(1 + rng_.below(keys.size()));
        auto made = step{};
        for (const auto k : keys)
            made.calls.push_back({.key = k, .request = within_room(k, draw_question())});
        times_.push_back(now_);
        return made;
    }

    /// If denied calls count, only so many tokens are kept in a server, and as many calls here:
    /// which of them a refund takes is the same as long as all are.
    [[nodiscard]] core::call_request within_room(std::size_t key, core::call_request q) {
        if (!counts_refused_ || !refunds_)
            return q;
        auto& sum = asked_[key];
        if (q.verb == verb::allow || q.verb == verb::charge)
            sum += q.cost;
        if (sum > room_)
            q = {.verb = verb::reset, .now = now_};
        if (q.verb == verb::reset)
            sum = 0;
        return q;
    }

    [[nodiscard]] core::call_request draw_question() {
        const auto cost = rng_.percent(50)   ? 1
                          : rng_.percent(90) ? rng_.between(0, 6)
                                             : rng_.magnitude(400);
        auto q = core::call_request{.cost = cost, .at_least = cost, .now = now_};
        const auto what = rng_.below(100);
        q.verb = what < 60   ? verb::allow
                 : what < 75 ? verb::peek
                 : what < 85 ? verb::charge
                 : what < 97 ? (refunds_ ? verb::refund : verb::peek)
                             : verb::reset;
        const auto asks = q.verb == verb::allow || q.verb == verb::peek;
        // Without scripts a call that is counted even if it is denied is counted whole.
        if (asks && rng_.percent(25) && (q.verb == verb::peek || !counts_refused_))
            q.at_least = rng_.between(0, cost);
        if (q.verb == verb::reset)
            q.cost = q.at_least = 0;
        return q;
    }

    test::rng rng_;
    history told_;
    std::int64_t now_ = 0;
    std::vector<std::int64_t> periods_; ///< of the rules
    std::vector<std::int64_t> times_;   ///< of the steps
    bool counts_refused_ = false;
    bool refunds_ = true;
    std::int64_t room_ = 0;           ///< tokens of a key that are kept
    std::vector<std::int64_t> asked_; ///< tokens, of each key since its last reset
};

} // namespace

history random_log_history(std::uint64_t seed) {
    return log_story{seed}.tell();
}

} // namespace colimit::differential
