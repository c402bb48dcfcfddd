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
#include <memory>
#include <queue>
#include <stdexcept>
#include <string>
#include <string_view>
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

  private:
    friend class machine;
    std::uint32_t interest_ = 0; ///< 0: not registered with epoll
    std::uint32_t raised_ = 0;   ///< to be reported
    epoll_data_t data_{};
    bool is_queued_ = false;
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
    [[nodiscard]] int open_timer();
    /// Returns null if it is not open.
    [[nodiscard]] std::shared_ptr<descriptor> find(int fd) const noexcept;
    [[nodiscard]] static bool is_simulated(int fd) noexcept { return fd >= first_descriptor; }
    void close(int fd);
    int control(int operation, int fd, const epoll_event* event);
    int wait(epoll_event* into, int most, int timeout);
    void set_timer(std::int64_t at) noexcept;
    network* attached = nullptr; ///< the sockets of the process are in it
    /// Called when these events of a descriptor occur.
    void raise(descriptor& of, std::uint32_t events);

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
    int report(epoll_event* into, int most);

    simulation::flaw flaw_;
    std::int64_t now_ = second;
    std::int64_t stepped_ = 0;
    test::rng random_;
    test::rng device_;
    std::priority_queue<event> events_;
    std::uint64_t event_count_ = 0;
    std::vector<std::shared_ptr<descriptor>> descriptors_;
    std::deque<std::weak_ptr<descriptor>> ready_;
    std::int64_t timer_ = never;
    std::shared_ptr<descriptor> timer_descriptor_;
    std::int64_t waited_at_ = 0;
    int waits_ = 0;
    std::uint64_t trace_hash_ = 0;
};

} // namespace colimit::simulation
