// SPDX-License-Identifier: BSL-1.0
//
// The retry_after of a peek of cost n is the time until n tokens are left.

#include <colimit/detail/access.hpp>
#include <policy/policy_data.hpp>
#include <tool/frame/decision_text.hpp>
#include <tool/frame/time_text.hpp>
#include <tool/frame/with_limiter.hpp>
#include <tool/stored/recovery.hpp>

#include <boost/json/array.hpp>

#include <algorithm>
#include <set>

namespace tool {
namespace {

using namespace std::chrono_literals;

[[nodiscard]] bool counts_members(const colimit::policy& p) {
    return colimit::detail::access::data(p)->compiled.has_distinct;
}

[[nodiscard]] bool has_places(const colimit::rule& r) noexcept {
    return r.kind() == colimit::algorithm::concurrent;
}

/// Returns the amounts to ask for: of each rule that is not full the next token, half of the
/// missing ones, and all.
[[nodiscard]] std::set<std::int64_t> amounts_of(const colimit::policy& p,
                                                const colimit::decision& d) {
    std::set<std::int64_t> amounts;
    for (std::size_t i = 0; i < p.size(); ++i)
        if (const auto& s = d.rules[i]; s.balance < s.limit && !has_places(p[i]))
            amounts.insert({s.remaining() + 1, s.limit - (s.limit - s.remaining()) / 2, s.limit});
    return amounts;
}

/// Adds an amount, or replaces the smaller one that comes back at the same time.
void add(std::vector<return_time>& to, const return_time& t) {
    if (!to.empty() && to.back().after == t.after)
        to.back() = t;
    else
        to.push_back(t);
}

[[nodiscard]] bool is_window(const colimit::rule& r) noexcept {
    return r.kind() == colimit::algorithm::fixed_window;
}

/// @param is_multi whether windows accept no time, and return all of their tokens at their end
boost::asio::awaitable<recovery> ask(colimit::limiter& l, std::string_view key,
                                     const colimit::policy& p, bool is_multi) {
    const auto has_members = counts_members(p);
    recovery r;
    r.now = co_await l.peek(key, p, {.cost = has_members ? 0 : 1});
    r.returns.resize(p.size());
    if (has_members)
        co_return r;
    for (std::size_t i = 0; i < p.size(); ++i)
        if (has_places(p[i]) && r.now.rules[i].balance <= 0)
            add(r.returns[i], {1, r.now.rules[i].retry_after}); // at the latest
    auto options = colimit::check_options{};
    // All at one time, so that tokens that come back together have one time.
    if (!is_multi || std::ranges::none_of(p.rules(), is_window))
        options.now = r.now.server_time;
    for (const auto amount : amounts_of(p, r.now)) {
        options.cost = amount;
        const auto d = co_await l.peek(key, p, options);
        const auto later = d.server_time - r.now.server_time;
        for (std::size_t i = 0; i < p.size(); ++i) {
            if (has_places(p[i]) || amount <= r.now.rules[i].remaining() ||
                amount > d.rules[i].limit)
                continue;
            if (is_multi && is_window(p[i]))
                r.returns[i].clear();
            add(r.returns[i], {amount, d.rules[i].retry_after + later});
        }
    }
    co_return r;
}

[[nodiscard]] std::string returns_text(const std::vector<return_time>& returns) {
    std::string text;
    for (const auto& t : returns)
        text +=
            (text.empty() ? ", " : " / ") + std::to_string(t.tokens) + " in " + time_text(t.after);
    return text;
}

} // namespace

std::vector<recovery> recoveries_of(const colimit::config& settings,
                                    const std::vector<limited_key>& keys) {
    std::vector<recovery> all;
    with_limiter(settings, [&](colimit::limiter& l) -> boost::asio::awaitable<void> {
        for (const auto& k : keys)
            all.push_back(co_await ask(l, k.key, k.limit,
                                       settings.advanced.mode == colimit::execution_mode::multi));
    });
    return all;
}

std::string recovery_text(const colimit::policy& p, const recovery& r) {
    auto text = decision_headline(p, r.now) + '\n';
    for (std::size_t i = 0; i < p.size(); ++i) {
        const auto& s = r.now.rules[i];
        text += "  rule " + std::string{p[i].name()} + " (" + rule_text(p, i) +
                "): " + std::to_string(s.balance) + " of " + std::to_string(s.limit) + " left" +
                returns_text(r.returns[i]) + '\n';
    }
    return text;
}

void add_returns(boost::json::object& decision, const recovery& r) {
    auto& rules = decision["rules"].as_array();
    for (std::size_t i = 0; i < rules.size(); ++i) {
        auto times = boost::json::array{};
        for (const auto& t : r.returns[i])
            times.push_back(
                boost::json::object{{"tokens", t.tokens}, {"after_us", t.after.count()}});
        rules[i].as_object()["returns"] = std::move(times);
    }
}

} // namespace tool
