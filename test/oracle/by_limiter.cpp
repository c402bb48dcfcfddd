// SPDX-License-Identifier: BSL-1.0
//
// Each policy has a second rule that never denies: a window of a century. What it counts is what
// the server has granted, charged in the same step as the limit.

#include "caller.hpp"
#include "records_file.hpp"

#include <support/decision_text.hpp>
#include <support/live_limiter.hpp>
#include <support/on_failure.hpp>
#include <support/rng.hpp>

#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>

namespace colimit::oracle {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using std::chrono::microseconds;

constexpr auto callers = 64;
// If processes call for a time, and not a number of times:
constexpr auto pause = 8ms;
constexpr auto pause_after_error = 30ms; // together they still make two calls per millisecond
constexpr auto century = 24h * 36'500;
constexpr auto no_limit = std::int64_t{1} << 40;

[[nodiscard]] rule rule_of(const limit& l) {
    const auto period = microseconds{l.period};
    switch (l.kind) {
    case kind::log:
        return sliding_log(l.tokens, period);
    case kind::fixed:
        return fixed_window(l.tokens, period);
    case kind::counter:
        return sliding_window(l.tokens, period);
    case kind::bucket:
        return gcra(l.tokens, period);
    }
    throw std::logic_error{"no such kind"};
}

[[nodiscard]] policy policy_of(const limit& l) {
    return policy{l.name, rule_of(l).named("limit"),
                  fixed_window(no_limit, century).named("total")};
}

[[nodiscard]] std::vector<policy> all_policies() {
    auto all = std::vector<policy>{};
    for (const auto& l : limits)
        all.push_back(policy_of(l));
    return all;
}

[[nodiscard]] std::int64_t now() {
    return std::chrono::duration_cast<microseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

void note(record& r, error_code ec, const decision& d, int process) {
    if (ec) {
        r.time = now();
        r.verdict = ec == condition::maybe_charged ? verdict::unknown : verdict::failed;
        return;
    }
    r.time = d.server_time.time_since_epoch().count();
    r.verdict = d.allowed() ? verdict::granted : verdict::refused;
    r.granted = static_cast<std::uint16_t>(d.granted);
    if (d.source == decision_source::store)
        r.total = no_limit - d.rules[1].balance;
    else if (d.source != decision_source::deny_cache)
        r.process = static_cast<std::uint8_t>(process);
}

class caller {
  public:
    explicit caller(const task& t)
        : task_(t), random_(t.seed), out_(t.file), left_(t.checks),
          limiter_(t.server, [this](config& c) { adjust(c); }) {
        if (task_.requests)
            sent_.emplace(t.file + sent_suffix);
    }

    void run() {
        for (auto i = 0; i < callers; ++i)
            asio::co_spawn(limiter_.context, task_.requests ? make_requests() : make_calls(),
                           test::rethrow);
        running_ = callers;
        // A call that never ends is what the oracle is to find, not what it waits for.
        auto seen = std::int64_t{-1};
        while (running_ != 0 && seen != out_.size()) {
            seen = out_.size();
            const auto end = std::chrono::steady_clock::now() + test::patience;
            while (running_ != 0 && seen == out_.size() && std::chrono::steady_clock::now() < end)
                limiter_.context.run_one_for(100ms);
        }
        for (; running_ != 0; --running_)
            out_.append({.time = now(), .verdict = verdict::unfinished});
    }

  private:
    void adjust(config& c) {
        c.prefix = task_.prefix;
        c.timeout = 1s;
        c.request_ttl = 1h; // a process may be far behind the others
        if (task_.board == nullptr)
            c.reconnect_delay_max = 50ms;
        c.on_event = [this](const event& e) {
            if (e.kind == event_kind::connected)
                out_.append({.time = now(), .verdict = verdict::connected});
        };
        test::errors_come_through(c);
    }

    [[nodiscard]] bool has_more() {
        return task_.board == nullptr ? left_-- > 0 : !task_.board->stop;
    }

    asio::awaitable<void> make_calls() {
        while (has_more()) {
            auto r = record{};
            const auto draw = random_();
            r.limit = static_cast<std::uint8_t>(draw % limits.size());
            r.key = static_cast<std::uint8_t>(draw / 16 % keys_each);
            r.cost = static_cast<std::uint16_t>(1 + draw / 4096 % 3);
            auto options = check_options{.cost = r.cost};
            if (draw / 65'536 % 4 == 0)
                options.at_least = 1; // as many as fit
            const auto [ec, d] =
                co_await limiter_.allow(task_.keys[r.key], policies_[r.limit], options);
            note(r, ec, d, task_.process);
            out_.append(r);
            if (task_.board != nullptr) {
                if (r.total >= 0)
                    show(r);
                co_await test::pause_for(ec ? pause_after_error : pause);
            } else if (ec) {
                co_await test::pause_for(1ms);
            }
        }
        --running_;
    }

    void show(const record& decided) {
        const auto p = static_cast<std::size_t>(task_.process);
        task_.board->latest[p][index(decided.limit, decided.key)] = decided.time;
        ++task_.board->decided[p];
    }

    asio::awaitable<void> make_requests() {
        while (next_id_ < task_.checks) {
            const auto id = static_cast<std::uint32_t>(next_id_++);
            auto same = test::rng{task_.requests->seed + id}; // the choices of all processes
            auto r = record{.limit = static_cast<std::uint8_t>(same.below(limits.size())),
                            .key = static_cast<std::uint8_t>(same.below(keys_each)),
                            .cost = static_cast<std::uint16_t>(same.between(1, 3))};
            const auto at_least = same.percent(25) ? 1 : r.cost;
            for (auto sends = same.between(1, max_sends); sends > 0; --sends)
                if (same.between(1, task_.requests->processes) == task_.process)
                    co_await send(id, r, at_least);
        }
        --running_;
    }

    asio::awaitable<void> send(std::uint32_t id, record r, std::int64_t at_least) {
        const auto name = "request " + std::to_string(id);
        auto options = check_options{.cost = r.cost, .at_least = at_least};
        options.request = name;
        const auto [ec, d] =
            co_await limiter_.allow(task_.keys[r.key], policies_[r.limit], options);
        note(r, ec, d, task_.process);
        out_.append(r);
        sent_->append({.what = r, .answer = std::hash<std::string>{}(test::text_of(d)), .id = id});
        if (ec)
            co_await test::pause_for(1ms);
    }

    const task& task_;
    std::mt19937_64 random_;
    records_file out_;
    std::optional<file_of<sent_request>> sent_;
    std::int64_t next_id_ = 0;
    std::int64_t left_;
    std::vector<policy> policies_ = all_policies();
    test::live limiter_;
    int running_ = 0;
};

} // namespace

key_names simple_names() {
    auto names = key_names{};
    for (std::size_t k = 0; k < keys_each; ++k)
        names[k] = "key " + std::to_string(k);
    return names;
}

void call_by_limiter(const task& t) {
    caller{t}.run();
}

totals read_totals(const std::string& server, const std::string& prefix, const key_names& keys) {
    auto executed = totals{};
    const auto policies = all_policies();
    auto l = test::live{server, [&](config& c) {
                            c.prefix = prefix;
                            test::errors_come_through(c);
                        }};
    l.run([&]() -> asio::awaitable<void> {
        for (std::size_t i = 0; i < limits.size(); ++i)
            for (std::size_t k = 0; k < keys_each; ++k) {
                const auto d = co_await l.limiter.peek(keys[k], policies[i], {.cost = 0});
                executed[i][k] = no_limit - d.rules[1].balance;
            }
    });
    return executed;
}

} // namespace colimit::oracle
