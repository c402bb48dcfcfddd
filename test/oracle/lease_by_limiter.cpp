// SPDX-License-Identifier: BSL-1.0
//
// Each policy has a second rule that never denies: a window of a century. What it counts is what
// the server has granted, leases included.

#include "lease_caller.hpp"

#include "deployment.hpp"

#include <support/live_limiter.hpp>
#include <support/on_failure.hpp>
#include <support/rng.hpp>

#include <chrono>
#include <stdexcept>
#include <vector>

namespace colimit::oracle {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

[[nodiscard]] rule leased_rule(const leased_limit& l) {
    const auto period = std::chrono::microseconds{l.period};
    switch (l.kind) {
    case leased_kind::bucket:
        return token_bucket(l.tokens, l.refill, period);
    case leased_kind::aligned:
        return token_bucket(l.tokens, l.refill, period).aligned();
    case leased_kind::fixed:
        return fixed_window(l.tokens, period);
    case leased_kind::counter:
        return sliding_window(l.tokens, period);
    }
    throw std::logic_error{"no such kind"};
}

constexpr auto uncounted = std::int64_t{1} << 40;

[[nodiscard]] std::vector<policy> leased_policies() {
    auto all = std::vector<policy>{};
    for (const auto& l : leased_limits)
        all.push_back(policy{l.name, leased_rule(l).named("limit"),
                             fixed_window(uncounted, 24h * 36'500).named("total")}
                          .with_leases(std::chrono::microseconds{l.lease}));
    return all;
}

/// As in `phase_of`, except that sometimes a limit is called all the time.
enum class mood : std::uint8_t { rest, steady, flood };

[[nodiscard]] mood mood_of(std::size_t limit) {
    const auto now = microseconds_now();
    const auto draw = slice_of(now, limit, 3 * recovery_of(leased_limits[limit]));
    if (draw % 8 == 0)
        return mood::flood;
    if (draw % 8 == 1)
        return mood::steady;
    return phase_of(now, limit) == phase::rest ? mood::rest : mood::flood;
}

class lease_caller {
  public:
    explicit lease_caller(const lease_task& t)
        : task_(t), random_(t.seed), limiter_(t.server, [this](config& c) { adjust(c); }) {}

    void run() {
        for (; running_ < callers; ++running_)
            asio::co_spawn(limiter_.context, make_calls(), test::rethrow);
        auto end = std::chrono::steady_clock::time_point::max();
        while (running_ != 0) {
            limiter_.context.run_one_for(100ms);
            if (!task_.board->stop)
                continue;
            end = std::min(end, std::chrono::steady_clock::now() + test::patience);
            if (std::chrono::steady_clock::now() > end)
                throw std::runtime_error{"a call does not end"};
        }
        limiter_.limiter.close();
        check_statistics();
    }

  private:
    static constexpr auto callers = 16;

    void adjust(config& c) const {
        c.prefix = task_.prefix;
        c.timeout = 1s;
        c.reconnect_delay_max = 50ms;
        test::errors_come_through(c);
    }

    asio::awaitable<void> make_calls() {
        while (!task_.board->stop) {
            const auto limit = random_.below(leased_limits.size());
            const auto key = random_.below(leased_keys);
            const auto at_once = random_.between(1, 50);
            auto was_denied = false;
            for (auto i = std::int64_t{0}; i < at_once && !was_denied; ++i) {
                const auto now = mood_of(limit);
                // Rarely, so that the limit recovers, and often enough that leases are taken.
                if (now == mood::rest && (i > 0 || !random_.percent(8)))
                    break;
                was_denied = co_await call(limit, key);
                if (now == mood::steady)
                    co_await test::pause_for(1ms);
            }
            co_await test::pause_for(was_denied ? 1ms : 500us);
        }
        --running_;
    }

    /// Returns whether it was denied.
    asio::awaitable<bool> call(std::size_t limit, std::size_t key) {
        const auto cost = random_.percent(80) ? 1 : random_.between(2, 4);
        const auto before = microseconds_now();
        const auto [ec, d] = co_await limiter_.allow(keys_[key], policies_[limit], {.cost = cost});
        ++task_.board->checks;
        if (ec) {
            ++task_.board->failed;
            co_return true;
        }
        if (!d.allowed())
            co_return true;
        const auto is_leased = d.source == decision_source::lease;
        const auto time = d.server_time.time_since_epoch().count();
        task_.records->append({.what = {.begin = is_leased ? before : time,
                                        .end = is_leased ? microseconds_now() + 1 : time,
                                        .tokens = d.granted},
                               .limit = static_cast<std::uint8_t>(limit),
                               .key = static_cast<std::uint8_t>(key)});
        if (is_leased) {
            ++task_.board->leased;
            spent_ += static_cast<std::uint64_t>(d.granted);
        }
        co_return false;
    }

    void check_statistics() const {
        const auto s = limiter_.limiter.statistics();
        if (s.lease_tokens_spent != spent_ ||
            s.lease_tokens_taken != s.lease_tokens_spent + s.lease_tokens_lapsed)
            ++task_.board->wrong;
    }

    const lease_task& task_;
    test::rng random_;
    std::vector<policy> policies_ = leased_policies();
    std::array<std::string, leased_keys> keys_ = leased_key_names();
    test::live limiter_;
    int running_ = 0;
    std::uint64_t spent_ = 0; ///< tokens of leases
};

} // namespace

void call_with_leases(const lease_task& t) {
    lease_caller{t}.run();
}

leased_totals read_leased_totals(const std::string& server, const std::string& prefix) {
    auto executed = leased_totals{};
    const auto policies = leased_policies();
    const auto keys = leased_key_names();
    auto l = test::live{server, [&](config& c) {
                            c.prefix = prefix;
                            test::errors_come_through(c);
                        }};
    l.run([&]() -> asio::awaitable<void> {
        for (std::size_t i = 0; i < leased_limits.size(); ++i)
            for (std::size_t k = 0; k < leased_keys; ++k) {
                const auto d = co_await l.limiter.peek(keys[k], policies[i], {.cost = 0});
                executed[i][k] = uncounted - d.rules[1].balance;
            }
    });
    return executed;
}

} // namespace colimit::oracle
