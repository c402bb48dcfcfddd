// SPDX-License-Identifier: BSL-1.0
//
// Coroutines of one limiter, each of which draws a burst of calls, makes them, and records each.
// What is drawn depends on the mode; how it is called does not, except that a slot is held.

#include "caller.hpp"
#include "clock.hpp"
#include "policies.hpp"
#include "schedule.hpp"

#include <support/decision_text.hpp>
#include <support/live_limiter.hpp>
#include <support/loop_clock.hpp>
#include <support/on_failure.hpp>
#include <support/rng.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace colimit::oracle {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using std::chrono::microseconds;
using std::chrono::steady_clock;

/// Calls with one key, one after another.
struct burst {
    std::size_t limit;
    std::size_t key;
    std::int64_t cost = 1;
    std::int64_t at_least = cost;
    std::int64_t calls = 1;
    std::uint32_t id = 0; ///< of their request
};

class caller {
  public:
    explicit caller(const task& t)
        : task_(t), random_(t.seed), keys_(keys_of(t.mode)), limits_(limits_of(t.mode).size()),
          left_(t.checks.value_or(0)), limiter_(t.server, [this](config& c) { adjust(c); }),
          clock_(limiter_.context) {}

    void run() {
        // Few, so that leases and slots are held for long, or as many as fill batches.
        const auto callers = task_.mode == mode::leases  ? 16U
                             : task_.mode == mode::slots ? 12U
                                                         : 64U;
        late_at_.resize(callers);
        task_.own().held = task_.mode == mode::leases ? 1 : 0;
        for (; running_ < callers; ++running_)
            asio::co_spawn(limiter_.context, make_calls(late_at_[running_]), test::rethrow);
        if (task_.mode == mode::slots)
            asio::co_spawn(limiter_.context, watch(), test::rethrow);
        run_calls();
        for (; running_ != 0; --running_)
            append({.time = microseconds_now(), .verdict = verdict::unfinished});
        task_.own().rests = true;
        while (!task_.board->stop)
            limiter_.context.run_one_for(10ms);
        check_statistics();
    }

  private:
    // If processes call for a time, and not a number of times:
    static constexpr auto pause = 8ms;
    static constexpr auto pause_after_error = 30ms; // together still two calls per millisecond
    static constexpr auto slot_timeout = 250ms; // the server is frozen for less, halts are longer
    /// A call that is first in its line when its `max_wait` ends asks once more, perhaps after one
    /// that asks before it.
    static constexpr auto longest_after_wait = 2 * slot_timeout + 50ms;

    void adjust(config& c) {
        c.prefix = task_.prefix;
        c.timeout = task_.mode == mode::slots ? slot_timeout : 1s;
        c.advanced.request_ttl = 1h; // a process may be far behind the others
        if (!task_.has_pauses)
            c.advanced.reconnect_delay_max = 50ms;
        c.on_event = [this](const event& e) {
            if (e.kind == event_kind::connected)
                append({.time = microseconds_now(), .verdict = verdict::connected});
        };
        test::errors_come_through(c);
    }

    /// A call that never ends is what the oracle is to find, not what it waits for.
    void run_calls() {
        auto seen = std::size_t{0};
        do {
            seen = task_.records->size();
            const auto end = steady_clock::now() + test::patience;
            while (running_ != 0 && seen == task_.records->size() && steady_clock::now() < end)
                limiter_.context.run_one_for(100ms);
        } while (running_ != 0 && seen != task_.records->size());
    }

    /// Returns nullopt if there are no more calls to make.
    [[nodiscard]] std::optional<burst> next() {
        if (task_.mode == mode::requests)
            return next_request();
        if (task_.board->rest || (task_.checks && left_-- <= 0))
            return {};
        auto b = burst{.limit = random_.below(limits_), .key = random_.below(keys_)};
        if (task_.mode == mode::leases) {
            b.cost = random_.percent(80) ? 1 : random_.between(2, 4);
            b.at_least = b.cost;
            b.calls = random_.between(1, 50);
        } else if (task_.mode == mode::calls) {
            b.cost = random_.between(1, 3);
            b.at_least = random_.percent(25) ? 1 : b.cost; // as many as fit
        }
        return b;
    }

    /// Makes those calls with the next id that are this process's.
    [[nodiscard]] std::optional<burst> next_request() {
        while (next_id_ < left_) {
            const auto id = static_cast<std::uint32_t>(next_id_++);
            auto same = test::rng{task_.common_seed + id}; // the choices of all processes
            auto b = burst{.limit = same.below(limits_),
                           .key = same.below(keys_),
                           .cost = same.between(1, 3),
                           .calls = 0,
                           .id = id};
            b.at_least = same.percent(25) ? 1 : b.cost;
            for (auto sends = same.between(1, max_sends); sends > 0; --sends)
                b.calls += same.between(1, task_.processes) == task_.process ? 1 : 0;
            if (b.calls != 0)
                return b;
        }
        return {};
    }

    /// Calls with leases follow the schedule of all processes.
    [[nodiscard]] bool is_time_for(const burst& b, std::int64_t made) {
        if (task_.mode != mode::leases)
            return true;
        if (task_.board->rest)
            return false;
        mood_ = mood_of(microseconds_now(), b.limit);
        // Rarely, so that the limit recovers, and often enough that leases are taken.
        return mood_ != mood::rest || (made == 0 && random_.percent(8));
    }

    [[nodiscard]] microseconds pause_after(verdict v) const {
        const auto has_failed = v == verdict::failed || v == verdict::unknown;
        if (task_.has_pauses)
            return has_failed ? pause_after_error : pause;
        if (task_.mode == mode::slots)
            return has_failed ? 5ms : v == verdict::refused ? 1ms : 0ms;
        return has_failed || (task_.mode == mode::leases && mood_ == mood::steady) ? 1ms : 0ms;
    }

    /// @param late_at when the call that waits is late, by the loop's clock; 0: none waits
    asio::awaitable<void> make_calls(std::chrono::milliseconds& late_at) {
        while (const auto b = next()) {
            auto last = verdict::granted;
            for (auto made = std::int64_t{0}; made < b->calls && is_time_for(*b, made); ++made) {
                if (task_.mode == mode::slots)
                    last = co_await acquire(*b, late_at);
                else
                    last = co_await allow(*b);
                if (const auto time = pause_after(last); time > 0us)
                    co_await test::pause_for(time);
                if (task_.mode == mode::leases && last != verdict::granted)
                    break;
            }
            if (task_.mode == mode::leases)
                co_await test::pause_for(500us);
        }
        --running_;
    }

    asio::awaitable<verdict> allow(const burst& b) {
        const auto before = microseconds_now();
        const auto name = "request " + std::to_string(b.id);
        auto options = check_options{.cost = b.cost, .at_least = b.at_least};
        if (task_.mode == mode::requests)
            options.request = name;
        const auto [ec, d] =
            co_await limiter_.allow(task_.keys[b.key], policies_[b.limit], options);
        auto r = record_of(b, ec);
        if (!ec)
            note(r, d, before);
        co_return append(r).verdict;
    }

    /// Without a decision.
    [[nodiscard]] static record record_of(const burst& b, error_code ec) {
        const auto now = microseconds_now();
        return {.time = now,
                .end = now,
                .id = b.id,
                .limit = static_cast<std::uint8_t>(b.limit),
                .key = static_cast<std::uint8_t>(b.key),
                .verdict = ec == condition::maybe_charged ? verdict::unknown : verdict::failed,
                .cost = static_cast<std::uint16_t>(b.cost)};
    }

    void note(record& r, const decision& d, std::int64_t before) {
        const auto is_leased = d.source == decision_source::lease;
        const auto time = d.server_time.time_since_epoch().count();
        r.time = is_leased ? before : time;
        r.end = is_leased ? microseconds_now() + 1 : time;
        r.verdict = d.allowed() ? verdict::granted : verdict::refused;
        r.granted = static_cast<std::uint16_t>(d.granted);
        spent_ += is_leased ? r.granted : 0U;
        if (d.source == decision_source::store)
            r.total = no_limit - d.rules[1].balance;
        else if (!is_leased && d.source != decision_source::deny_cache)
            r.process = static_cast<std::uint8_t>(task_.process);
        if (task_.mode == mode::requests)
            r.answer = static_cast<std::uint32_t>(std::hash<std::string>{}(test::text_of(d)));
    }

    record& append(const record& r) {
        if (r.verdict == verdict::granted || r.verdict == verdict::refused)
            ++task_.own().decided;
        if (r.total >= 0)
            task_.own().latest[index(r.limit, r.key)] = r.time;
        return task_.records->append(r);
    }

    asio::awaitable<verdict> acquire(const burst& b, std::chrono::milliseconds& late_at) {
        const auto max_wait = 1ms * (random_.percent(50) ? random_.between(1, 300) : 0);
        late_at = clock_.now() + max_wait + longest_after_wait;
        auto [ec, got] = co_await limiter_.limiter.acquire(task_.keys[b.key], policies_[b.limit],
                                                           {.max_wait = max_wait},
                                                           asio::as_tuple(asio::deferred));
        late_at = 0ms;
        auto r = record_of(b, ec);
        if (!ec)
            r.verdict = got ? verdict::granted : verdict::refused;
        if (!got)
            co_return append(r).verdict;
        r.time = r.end = got.decision().server_time.time_since_epoch().count();
        r.total = static_cast<std::int64_t>(got.fencing_token());
        r.granted = 1;
        co_await hold(std::move(got), append(r));
        co_return verdict::granted;
    }

    asio::awaitable<void> hold(slot taken, record& r) {
        auto& held = task_.own().held;
        ++acquired_;
        ++held;
        const auto lease = microseconds{slot_limits[r.limit].lease};
        const auto most = random_.percent(80) ? 10'000us : random_.percent(80) ? lease : 4 * lease;
        const auto end = steady_clock::now() + 1us * random_.between(0, most.count());
        while (steady_clock::now() < end && !task_.board->rest) {
            const auto now = microseconds_now();
            if (taken.lost()) {
                ++task_.board->lost;
                break;
            }
            believe(r, now);
            co_await test::pause_for(1ms);
        }
        --held;
        if (random_.percent(50))
            taken.release();
    }

    /// Counts the calls that are late, by what the loop does: real time passes without it.
    asio::awaitable<void> watch() {
        while (running_ != 0) {
            co_await test::pause_for(1ms);
            for (auto& late_at : late_at_)
                if (late_at > 0ms && clock_.now() >= late_at) {
                    late_at = 0ms;
                    ++task_.board->late;
                }
        }
    }

    /// All slots have been given back before the limiter is closed; leases end when it is.
    void check_statistics() {
        const auto before = limiter_.limiter.statistics();
        limiter_.limiter.close();
        const auto s = limiter_.limiter.statistics();
        if (s.lease_tokens_spent != spent_ ||
            s.lease_tokens_taken != s.lease_tokens_spent + s.lease_tokens_lapsed ||
            before.slots_acquired != acquired_ || before.slots_held != 0 ||
            before.slots_acquired != before.slots_released + before.slots_lost)
            ++task_.board->wrong;
    }

    const task& task_;
    test::rng random_;
    std::size_t keys_;
    std::size_t limits_;
    std::int64_t left_; ///< calls, or ids
    std::int64_t next_id_ = 0;
    mood mood_ = mood::rest;
    std::vector<policy> policies_ = policies_of(task_.mode);
    std::vector<std::chrono::milliseconds> late_at_;
    test::live limiter_;
    test::loop_clock clock_;
    std::size_t running_ = 0;
    std::uint64_t spent_ = 0; ///< tokens of leases
    std::uint64_t acquired_ = 0;
};

} // namespace

void call_by_limiter(const task& t) {
    caller{t}.run();
}

} // namespace colimit::oracle
