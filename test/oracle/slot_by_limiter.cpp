// SPDX-License-Identifier: BSL-1.0
//
// Coroutines of one limiter that acquire slots, some with a wait, and keep them for a moment or for
// several leases.

#include "slot_caller.hpp"

#include "deployment.hpp"

#include <support/live_limiter.hpp>
#include <support/loop_clock.hpp>
#include <support/on_failure.hpp>
#include <support/rng.hpp>

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

namespace colimit::oracle {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using std::chrono::steady_clock;

[[nodiscard]] std::vector<policy> slot_policies() {
    auto all = std::vector<policy>{};
    for (const auto& l : slot_limits)
        all.emplace_back(l.name, concurrent(l.places).lease(std::chrono::microseconds{l.lease}));
    return all;
}

class slot_caller {
  public:
    explicit slot_caller(const slot_task& t)
        : task_(t), random_(t.seed), limiter_(t.server, [this](config& c) { adjust(c); }) {}

    void run() {
        auto& board = *task_.board;
        for (; running_ < callers; ++running_)
            asio::co_spawn(limiter_.context, make_calls(late_at_[running_]), test::rethrow);
        asio::co_spawn(limiter_.context, watch(), test::rethrow);
        auto end = steady_clock::time_point::max();
        while (running_ != 0) {
            limiter_.context.run_one_for(100ms);
            if (board.rest)
                end = std::min(end, steady_clock::now() + test::patience);
            if (steady_clock::now() > end)
                throw std::runtime_error{"a call does not end"};
        }
        check_statistics();
        const auto number = static_cast<std::size_t>(task_.process);
        board.rests[number] = true;
        while (!board.stop)
            limiter_.context.run_one_for(10ms);
        limiter_.limiter.close();
    }

  private:
    static constexpr std::size_t callers = 12;
    static constexpr auto timeout = 250ms; // the server is frozen for less, and halts are longer
    /// A call that is first in its line when its `max_wait` ends asks once more, perhaps after one
    /// that asks before it.
    static constexpr auto longest_after_wait = 2 * timeout + 50ms;

    void adjust(config& c) const {
        c.prefix = task_.prefix;
        c.timeout = timeout;
        c.reconnect_delay_max = 50ms;
        test::errors_come_through(c);
    }

    /// @param late_at when the call that waits is late, by the loop's clock; 0: none waits
    asio::awaitable<void> make_calls(std::chrono::milliseconds& late_at) {
        while (!task_.board->rest) {
            const auto limit = random_.below(slot_limits.size());
            const auto key = random_.below(slot_keys);
            const auto max_wait = 1ms * (random_.percent(50) ? random_.between(1, 300) : 0);
            late_at = clock_.now() + max_wait + longest_after_wait;
            auto [ec, got] = co_await limiter_.limiter.acquire(keys_[key], policies_[limit],
                                                               {.max_wait = max_wait},
                                                               asio::as_tuple(asio::deferred));
            late_at = 0ms;
            ++(ec ? task_.board->failed : task_.board->checks);
            task_.board->denied += !ec && !got ? 1 : 0;
            if (got)
                co_await hold(std::move(got), limit, key);
            else
                co_await test::pause_for(ec ? 5ms : 1ms);
        }
        --running_;
    }

    asio::awaitable<void> hold(slot taken, std::size_t limit, std::size_t key) {
        auto& held = task_.board->held[static_cast<std::size_t>(task_.process)];
        const auto& decided = taken.decision();
        auto& record = task_.records->append(
            {limit, key, decided.server_time.time_since_epoch().count(), taken.fencing_token()});
        ++acquired_;
        ++held;
        const auto lease = std::chrono::microseconds{slot_limits[limit].lease};
        const auto most = random_.percent(80) ? 10'000us : random_.percent(80) ? lease : 4 * lease;
        const auto end = steady_clock::now() + 1us * random_.between(0, most.count());
        while (steady_clock::now() < end && !task_.board->rest) {
            const auto now = microseconds_now();
            if (taken.lost()) {
                ++task_.board->lost;
                break;
            }
            record.believe(now);
            co_await test::pause_for(1ms);
        }
        --held;
        if (random_.percent(50))
            taken.release();
    }

    /// Counts the calls that are late.
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

    /// When all slots have been given back.
    void check_statistics() const {
        const auto s = limiter_.limiter.statistics();
        if (s.slots_acquired != acquired_ || s.slots_held != 0 ||
            s.slots_acquired != s.slots_released + s.slots_lost)
            ++task_.board->wrong;
    }

    const slot_task& task_;
    test::rng random_;
    std::vector<policy> policies_ = slot_policies();
    std::array<std::string, slot_keys> keys_ = slot_key_names();
    std::array<std::chrono::milliseconds, callers> late_at_{};
    test::live limiter_;
    test::loop_clock clock_{limiter_.context};
    std::size_t running_ = 0;
    std::uint64_t acquired_ = 0;
};

} // namespace

void call_with_slots(const slot_task& t) {
    slot_caller{t}.run();
}

void await_end_of_leases(const std::string& server, const slot_limit& l, std::int64_t since) {
    auto look = test::raw_client{server};
    while (look.time() < since + l.lease)
        std::this_thread::sleep_for(1ms);
}

std::int64_t lost_places(const slot_task& t, std::int64_t since) {
    const auto policies = slot_policies();
    const auto keys = slot_key_names();
    auto found = std::int64_t{0};
    auto l = test::live{t.server, [&](config& c) {
                            c.prefix = t.prefix;
                            c.timeout = test::patience;
                            test::errors_come_through(c);
                        }};
    for (std::size_t i = 0; i < slot_limits.size(); ++i) {
        await_end_of_leases(t.server, slot_limits[i], since);
        l.run([&]() -> asio::awaitable<void> {
            auto taken = std::vector<slot>{};
            for (std::size_t k = 0; k < slot_keys; ++k)
                for (auto place = slot_limits[i].places; place > 0; --place) {
                    taken.push_back(co_await l.limiter.acquire(keys[k], policies[i]));
                    found += taken.back() ? 0 : 1;
                }
        });
    }
    return found;
}

} // namespace colimit::oracle
