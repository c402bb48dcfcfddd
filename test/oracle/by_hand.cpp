// SPDX-License-Identifier: BSL-1.0
//
// A client as one would write it in an afternoon, right, or without one of the rules: one call
// after another.

#include "hand.hpp"

#include "clock.hpp"
#include "schedule.hpp"

#include <support/rng.hpp>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace colimit::oracle {
namespace {

using namespace std::chrono_literals;

/// Those of the limits that calls are made under: few callers that wait for each reply would never
/// come near the limits of all keys.
constexpr std::size_t limits_called = 2;
constexpr std::size_t keys_called = 2;
static_assert(call_limits[0].kind == kind::log && call_limits[1].kind == kind::fixed);

/// Tokens that were leased, or a slot.
struct held_lease {
    std::size_t limit = 0;
    std::size_t key = 0;
    std::int64_t tokens = 1;
    std::int64_t ends = 0;
    // Of a slot:
    std::string id = {};
    record* what = nullptr;
    std::int64_t leaves = 0; ///< when it is given back
    std::int64_t renewed = 0;
    bool is_released = false;
};

class hand_caller {
  public:
    explicit hand_caller(const task& t) : task_(t), random_(t.seed), hand_(t) {}

    void run() {
        if (task_.mode == mode::calls) {
            for (auto left = task_.checks.value_or(0); left > 0; --left)
                call();
            task_.own().rests = true;
        }
        while (!task_.board->stop) {
            if (task_.mode == mode::leases && !task_.board->rest)
                step_leases();
            if (task_.mode == mode::slots)
                step_slots();
            task_.own().held = task_.mode == mode::leases ? 1 : count_held();
            task_.own().rests =
                task_.mode == mode::calls ||
                (task_.board->rest && (task_.mode == mode::leases || task_.own().held == 0));
            std::this_thread::sleep_for(task_.mode == mode::leases ? 200us : 500us);
        }
    }

    /// Returns whether it was granted.
    bool acquire(std::size_t limit, std::size_t key);

  private:
    [[nodiscard]] bool without(flaw f) const { return hand_.without(f); }

    record& note(std::size_t limit, std::size_t key, const record& what) {
        ++task_.own().decided;
        auto r = what;
        r.limit = static_cast<std::uint8_t>(limit);
        r.key = static_cast<std::uint8_t>(key);
        r.verdict = r.granted > 0 ? verdict::granted : verdict::refused;
        return task_.records->append(r);
    }
    record& note(std::size_t limit, std::size_t key, const hand_reply& got) {
        return note(limit, key,
                    record{.time = got.time,
                           .end = got.time,
                           .total = got.number,
                           .granted = static_cast<std::uint16_t>(got.granted)});
    }

    void call();

    void step_leases();
    void take_lease(std::size_t limit, std::size_t key);
    void spend(std::size_t limit, std::size_t key);
    void call_until_denied(std::size_t limit, std::size_t key);

    void step_slots();
    [[nodiscard]] bool keep(held_lease& s);
    void set_lease(held_lease& s, const hand_reply& got) const {
        const auto lease = slot_limits[s.limit].lease;
        s.renewed = got.sent;
        s.ends = (without(flaw::from_arrival) ? got.arrival : got.sent) + lease - lease / 1'000;
    }
    [[nodiscard]] int count_held() const {
        return static_cast<int>(std::ranges::count(held_, false, &held_lease::is_released));
    }
    /// A reply that comes late; not under all limits, as the process waits for it. Only then does
    /// it matter from when on a lease counts.
    [[nodiscard]] std::int64_t draw_delay(std::int64_t lease, std::size_t often) {
        return random_.percent(often) ? lease * 8 / 10 : 0;
    }

    const task& task_;
    test::rng random_;
    hand hand_;
    std::vector<held_lease> held_;
};

/// All or nothing. Clocks of processes are apart by up to a window, if they use their own.
void hand_caller::call() {
    const auto limit = random_.below(limits_called);
    const auto key = random_.below(keys_called);
    const auto& l = call_limits[limit];
    const auto cost = random_.between(1, 3);
    auto o = hand_order{
        .tokens = cost, .least = cost, .capacity = l.tokens + (without(flaw::off_by_one) ? 1 : 0)};
    if (without(flaw::client_clock))
        o.time = std::to_string(microseconds_now() + l.period * (task_.process % 3) / 3);
    o.is_lost = without(flaw::resend) && random_.below(16) == 0;
    const auto is_torn = without(flaw::check_then_record) && l.kind == kind::log;
    note(limit, key, is_torn ? hand_.take_in_two_steps(limit, key, o) : hand_.take(limit, key, o));
}

void hand_caller::step_leases() {
    for (std::size_t l = 0; l < leased_limits.size(); ++l)
        for (std::size_t k = 0; k < keys_of(mode::leases); ++k) {
            const auto now = phase_of(microseconds_now(), l);
            if (now == phase::take)
                take_lease(l, k);
            if (now == phase::burst) {
                spend(l, k);
                call_until_denied(l, k);
            }
        }
}

void hand_caller::take_lease(std::size_t limit, std::size_t key) {
    const auto& l = leased_limits[limit];
    const auto delay =
        limit == 0 && key == 0 ? draw_delay(l.lease, without(flaw::from_arrival) ? 100 : 20) : 0;
    const auto wanted = delay != 0 ? l.tokens : l.tokens / 6;
    const auto kept_back = without(flaw::no_reserve) ? 0 : reserve_of(l);
    const auto got = hand_.take(
        limit, key, {.tokens = wanted, .capacity = l.tokens - kept_back, .delay = delay});
    ++task_.own().decided;
    if (got.granted == 0)
        return;
    auto ends = (without(flaw::from_arrival) ? got.arrival : got.sent) + l.lease - l.lease / 1'000;
    if (l.kind != kind::bucket && !without(flaw::past_end))
        ends = std::min(ends, got.sent + l.period - got.time % l.period);
    held_.push_back({.limit = limit,
                     .key = key,
                     .tokens = without(flaw::ignores_grant) ? wanted : got.granted,
                     .ends = ends});
}

void hand_caller::spend(std::size_t limit, std::size_t key) {
    for (auto& each : held_) {
        if (each.limit != limit || each.key != key)
            continue;
        const auto now = microseconds_now();
        if (now < each.ends)
            note(limit, key,
                 record{.time = now,
                        .end = now + 1,
                        .granted = static_cast<std::uint16_t>(each.tokens)});
        else if (without(flaw::returns_lapsed))
            (void)hand_.take(
                limit, key,
                {.tokens = -each.tokens,
                 .least = -each.tokens,
                 .capacity = leased_limits[limit].tokens - reserve_of(leased_limits[limit])});
    }
    std::erase_if(held_, [&](const auto& h) { return h.limit == limit && h.key == key; });
}

void hand_caller::call_until_denied(std::size_t limit, std::size_t key) {
    const auto& l = leased_limits[limit];
    const auto is_full = without(flaw::no_reserve) || without(flaw::direct_full);
    auto got = hand_reply{};
    do {
        got = hand_.take(limit, key,
                         {.tokens = 20, .capacity = l.tokens - (is_full ? 0 : reserve_of(l))});
        note(limit, key, got);
    } while (got.granted == 20);
}

void hand_caller::step_slots() {
    try {
        for (auto s = held_.begin(); s != held_.end();)
            s = keep(*s) ? s + 1 : held_.erase(s);
        if (!task_.board->rest && count_held() < 4)
            acquire(random_.below(slot_limits.size()), random_.below(keys_of(mode::slots)));
    } catch (const std::runtime_error&) { // the connection was ended
        hand_.disconnect();
    }
}

bool hand_caller::acquire(std::size_t limit, std::size_t key) {
    auto s =
        held_lease{.limit = limit, .key = key, .id = "holder " + std::to_string(random_.bits())};
    const auto lease = slot_limits[limit].lease;
    const auto delay = limit == 0 ? draw_delay(lease, without(flaw::from_arrival) ? 50 : 5) : 0;
    const auto is_torn = without(flaw::check_then_add);
    auto got = hand_.ask(limit, key, is_torn ? "look" : "acquire", s.id, delay);
    if (got.granted != 0 && is_torn)
        got = hand_.ask(limit, key, "add", s.id, 0);
    s.what = &note(limit, key, got);
    if (got.granted == 0)
        return false;
    set_lease(s, got);
    s.leaves = got.arrival + random_.between(0, lease * 2);
    held_.push_back(std::move(s));
    return true;
}

/// Returns whether the slot is to be kept.
bool hand_caller::keep(held_lease& s) {
    const auto now = microseconds_now();
    const auto is_lost = now >= s.ends && !without(flaw::ignores_loss);
    if (is_lost && !without(flaw::revives)) {
        ++task_.board->lost;
        return false;
    }
    if ((task_.board->rest || now >= s.leaves) && !s.is_released) {
        s.is_released = without(flaw::keeps_renewing);
        if (!s.is_released)
            hand_.ask(s.limit, s.key, "release", s.id, 0);
        return s.is_released;
    }
    if (!s.is_released && !is_lost)
        believe(*s.what, now);
    if (now < s.renewed + slot_limits[s.limit].lease / 3)
        return true;
    const auto got = hand_.ask(s.limit, s.key, "renew", s.id, 0);
    if (got.granted == 0 && !without(flaw::ignores_loss)) {
        ++task_.board->lost;
        return false;
    }
    set_lease(s, got);
    return true;
}

} // namespace

void call_by_hand(const task& t) {
    hand_caller{t}.run();
}

totals read_totals_by_hand(const task& t) {
    auto executed = totals{};
    auto h = hand{t};
    for (std::size_t l = 0; l < limits_of(t.mode).size(); ++l)
        for (std::size_t k = 0; k < keys_of(t.mode); ++k)
            executed[l][k] =
                std::stoll(h.connection().get(h.key_of(l, k) + ":total").value_or("0"));
    return executed;
}

std::int64_t places_lost_by_hand(const task& t, std::size_t limit) {
    auto caller = hand_caller{t};
    auto found = std::int64_t{0};
    for (std::size_t k = 0; k < keys_of(mode::slots); ++k)
        for (auto place = slot_limits[limit].tokens; place > 0; --place)
            found += caller.acquire(limit, k) ? 0 : 1;
    return found;
}

} // namespace colimit::oracle
