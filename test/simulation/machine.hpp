// SPDX-License-Identifier: BSL-1.0
//
// The operating system of the simulated process: its clocks, its descriptors with epoll, and the
// events of the world outside. Time passes only while the process waits: then it jumps to the next
// event. system_calls.cpp leads the calls that Asio makes here.

#pragma once

#include <support/rng.hpp>

#include <sys/epoll.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <queue>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace colimit::simulation {

inline constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t millisecond = 1'000;
inline constexpr std::int64_t second = 1'000'000;

/// A property that a run does not have. It ends the run.
struct violation : std::runtime_error {
    using runtime_error::runtime_error;
};

/// Mistakes of the simulated world, each of which a check must notice.
enum class flaw : std::uint8_t {
    none,
    executes_twice,  ///< a server runs some batches twice
    forgets,         ///< a server loses the state of a key, which no check is told
    loses_timers,    ///< a timer does not ring
    equal_jitter,    ///< all random devices return the same numbers
    varies,          ///< two runs of one seed differ
    never_elects,    ///< no replica takes over, and no node comes back
    loses_sockets,   ///< bytes arrive, and epoll does not say so
    answers_another, ///< a decision is that of another call
    forgets_records, ///< a server loses what it remembers of calls with ids
};

class epoll;
class network;

class descriptor : public std::enable_shared_from_this<descriptor> {
  public:
    descriptor() = default;
    virtual ~descriptor() = default;
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;

    /// Returns the events of epoll that apply now.
    [[nodiscard]] virtual std::uint32_t ready() const noexcept = 0;
    /// Called when the process closes it.
    virtual void on_close() {}

    /// Reports these events, if the process waits for them.
    void raise(std::uint32_t events);

  private:
    friend class epoll;
    std::weak_ptr<epoll> epoll_;
    std::uint32_t interest_ = 0; ///< 0: not registered with epoll
    std::uint32_t raised_ = 0;   ///< to be reported
    epoll_data_t data_{};
    bool is_queued_ = false;
};

/// A timerfd.
class timer final : public descriptor {
  public:
    /// Only the time at which it rings counts.
    [[nodiscard]] std::uint32_t ready() const noexcept override { return 0; }

    std::int64_t at = never;
};

/// An epoll instance: edge-triggered, as Asio uses it for all descriptors except its timer.
class epoll final : public descriptor {
  public:
    [[nodiscard]] std::uint32_t ready() const noexcept override { return 0; }

    void add(descriptor& what, const epoll_event& event);
    void add(std::shared_ptr<timer> what, const epoll_event& event);
    static void remove(descriptor& what) noexcept { what.interest_ = 0; }
    /// Returns how many events were written.
    int report(epoll_event* into, int most, std::int64_t now);
    /// Returns when its timer rings.
    [[nodiscard]] std::int64_t next_timer() const noexcept;

  private:
    friend class descriptor;
    std::deque<std::weak_ptr<descriptor>> ready_;
    std::shared_ptr<timer> timer_; ///< a context has one
};

class machine {
  public:
    /// Becomes the machine of this process, until it is destroyed.
    machine(std::uint64_t seed, simulation::flaw broken);
    ~machine();
    machine(const machine&) = delete;
    machine& operator=(const machine&) = delete;

    /// Returns the machine of this process; null if there is none, and the real system is used.
    [[nodiscard]] static machine* current() noexcept;

    /// Returns the steady clock in microseconds.
    [[nodiscard]] std::int64_t now() const noexcept { return now_; }
    /// Returns the system clock of the process in microseconds since 1970.
    [[nodiscard]] std::int64_t system_now() const noexcept { return now_ + epoch + stepped_; }
    void step_system_clock(std::int64_t by) noexcept { stepped_ += by; }
    [[nodiscard]] bool has_stepped() const noexcept { return stepped_ != 0; }
    /// The process does not run for so long, while the world outside does.
    void stand_still(std::int64_t duration);

    [[nodiscard]] simulation::flaw flaw() const noexcept { return flaw_; }
    [[nodiscard]] test::rng& random() noexcept { return random_; }
    /// Returns the next number of a random device.
    [[nodiscard]] std::uint32_t device() noexcept;

    /// Something happens outside of the process.
    void at(std::int64_t time, std::function<void()> what);

    /// Records what happens; two runs of one seed have equal records.
    void trace(std::string_view what, std::uint64_t a = 0, std::uint64_t b = 0);
    [[nodiscard]] std::uint64_t trace_hash() const noexcept { return trace_hash_; }
    bool prints_trace = false;

    // System calls
    [[nodiscard]] int open(std::shared_ptr<descriptor> what);
    /// Returns null if it is not open.
    [[nodiscard]] std::shared_ptr<descriptor> find(int fd) const noexcept;
    [[nodiscard]] static bool is_simulated(int fd) noexcept { return fd >= first_descriptor; }
    void close(int fd);
    /// @param timeout in milliseconds; -1: none
    int wait(epoll& of, epoll_event* into, int most, int timeout);
    /// Returns whether the descriptor has one of these events within the time.
    bool wait(const descriptor& of, std::uint32_t events, int timeout);
    void set_timer(timer& which, std::int64_t at) noexcept;
    network* attached = nullptr; ///< the sockets of the process are in it
    struct named_host {
        std::vector<std::uint32_t> addresses{};
        std::int64_t time = 0; ///< that it takes to find them
    };
    /// A machine that knows no names has no threads that resolve them.
    std::map<std::string, named_host, std::less<>> names;
    /// Lets another thread sleep.
    void sleep_in_thread(std::int64_t duration);
    /// To be called by another thread: `wait` calls the function.
    void from_thread(std::function<void()> what);
    [[nodiscard]] bool is_own_thread() const noexcept {
        return thread_ == std::this_thread::get_id();
    }

    /// What `system_now` is at the beginning: in 2023.
    static constexpr std::int64_t epoch = 1'700'000'000'000'000;

  private:
    static constexpr int first_descriptor = 1 << 20;
    /// More waits without progress of the clock mean that the process runs in a circle.
    static constexpr int most_waits_at_once = 100'000;

    struct event {
        std::int64_t time;
        std::uint64_t number;
        std::function<void()> what;
        bool operator<(const event& other) const noexcept { // the earliest comes first
            return time != other.time ? time > other.time : number > other.number;
        }
    };

    void happen();
    /// Lets other threads finish what they have to do.
    /// @return whether a function of another thread was called
    bool await_threads();
    /// Lets time pass until the next event, or until then.
    void advance(std::int64_t until);
    [[nodiscard]] std::int64_t end_of(int timeout) const noexcept {
        return timeout < 0 ? never : now_ + timeout * millisecond;
    }

    simulation::flaw flaw_;
    std::int64_t now_ = second;
    std::int64_t stepped_ = 0;
    test::rng random_;
    test::rng device_;
    std::priority_queue<event> events_;
    std::uint64_t event_count_ = 0;
    std::vector<std::shared_ptr<descriptor>> descriptors_;
    std::int64_t waited_at_ = 0;
    int waits_ = 0;
    std::uint64_t trace_hash_ = 0;
    std::thread::id thread_ = std::this_thread::get_id();
    std::mutex mutex_;
    std::vector<std::function<void()>> from_threads_; ///< guarded by the mutex
};

} // namespace colimit::simulation
