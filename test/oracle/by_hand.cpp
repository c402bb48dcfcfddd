// SPDX-License-Identifier: BSL-1.0
//
// A client as one would write it in an afternoon, right, or without one of the rules: one call
// after another.

#include "caller.hpp"
#include "clock.hpp"
#include "hand_scripts.hpp"
#include "schedule.hpp"

#include <redis/protocol/resp.hpp>
#include <support/raw_client.hpp>
#include <support/rng.hpp>

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <optional>
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

[[nodiscard]] std::string_view word_of(kind k) {
    constexpr std::string_view words[] = {"log", "fixed", "counter", "bucket", "aligned"};
    return words[static_cast<std::size_t>(k)];
}

[[nodiscard]] std::string key_of(const task& t, std::size_t limit, std::size_t key) {
    return t.prefix + ':' + std::string{limits_of(t.mode)[limit].name} + ':' + t.keys[key];
}

struct reply {
    std::int64_t granted; ///< tokens, or 1 for a slot
    std::int64_t number;  ///< the total, -1 if denied; or the fencing token
    std::int64_t time;    ///< the server's
    std::int64_t sent;
    std::int64_t arrival;
};

/// Tokens to take.
struct wish {
    std::int64_t tokens;    ///< negative: given back
    std::int64_t least = 0; ///< nothing is granted rather than less
    std::int64_t capacity;  ///< of the limit
    std::string time = {};  ///< instead of the server's
    std::int64_t delay = 0; ///< microseconds, before the client takes notice of the reply
};

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

class hand {
  public:
    explicit hand(const task& t) : task_(t), random_(t.seed) {}

    void run() {
        for (auto left = task_.checks.value_or(0); left > 0; --left)
            call();
        while (!task_.board->stop) {
            if (task_.mode == mode::leases && !task_.board->rest)
                step_leases();
            if (task_.mode == mode::slots)
                step_slots();
            const auto held = std::ranges::count(held_, false, &held_lease::is_released);
            task_.own().held = task_.mode == mode::leases ? 1 : static_cast<int>(held);
            task_.own().rests =
                task_.checks || (task_.board->rest && (task_.mode == mode::leases || held == 0));
            std::this_thread::sleep_for(200us);
        }
    }

    /// Returns whether the slot was granted.
    bool acquire(std::size_t limit, std::size_t key) {
        auto s = held_lease{
            .limit = limit, .key = key, .id = "holder " + std::to_string(random_.bits())};
        const auto lease = slot_limits[limit].lease;
        const auto delay = limit == 0 ? draw_delay(lease, without(flaw::from_arrival) ? 50 : 5) : 0;
        const auto is_torn = without(flaw::check_then_add);
        auto got = ask(s, is_torn ? "look" : "acquire", delay);
        if (got.granted != 0 && is_torn)
            got = ask(s, "add");
        s.what = &note(limit, key, got);
        if (got.granted == 0)
            return false;
        set_lease(s, got);
        s.leaves = got.arrival + random_.between(0, lease * 2);
        held_.push_back(std::move(s));
        return true;
    }

  private:
    /// Returns whether this is the rule that is left out.
    [[nodiscard]] bool without(flaw f) const { return task_.by_hand == f; }

    [[nodiscard]] test::raw_client& connection() {
        return client_ ? *client_ : client_.emplace(task_.server);
    }

    /// A server that is killed ends this with std::runtime_error, a script that is wrong with
    /// std::logic_error.
    reply exchange(std::initializer_list<std::string_view> words, std::int64_t delay) {
        auto out = std::string{};
        redis::resp::append_command(out, words);
        auto& c = connection();
        const auto sent = microseconds_now();
        c.send(out);
        std::this_thread::sleep_for(std::chrono::microseconds{delay});
        const auto said = c.receive();
        if (said.elements.size() != 4)
            throw std::logic_error{"the script failed: " + said.text};
        return {.granted = said.elements[0].integer,
                .number = said.elements[1].integer,
                .time = std::stoll(said.elements[2].text) * 1'000'000 +
                        std::stoll(said.elements[3].text),
                .sent = sent,
                .arrival = microseconds_now()};
    }

    reply take(std::size_t limit, std::size_t key, const wish& w) {
        const auto& l = limits_of(task_.mode)[limit];
        const auto name = key_of(task_, limit, key);
        return exchange({"EVAL", token_script, "2", name, name + ":total", word_of(l.kind),
                         std::to_string(w.capacity), std::to_string(l.period),
                         std::to_string(l.refill), std::to_string(w.tokens),
                         std::to_string(w.least), w.time},
                        w.delay);
    }

    [[nodiscard]] reply take_in_two_steps(std::size_t limit, std::size_t key, const wish& w) {
        const auto name = key_of(task_, limit, key);
        auto& c = connection();
        auto said = reply{.granted = 0, .number = -1, .time = c.time(), .sent = 0, .arrival = 0};
        c.must({"ZREMRANGEBYSCORE", name, "-inf",
                std::to_string(said.time - call_limits[limit].period)});
        if (c.must({"ZCARD", name}).integer + w.tokens > w.capacity)
            return said;
        said.granted = w.tokens;
        said.number = c.must({"INCRBY", name + ":total", std::to_string(w.tokens)}).integer;
        said.time = c.time();
        for (auto i = std::int64_t{0}; i < w.tokens; ++i)
            c.must({"ZADD", name, std::to_string(said.time),
                    std::to_string(said.number) + ':' + std::to_string(i)});
        return said;
    }

    /// @param verb `acquire`, `look` and `add`, which together are the same, `renew` or `release`
    reply ask(const held_lease& s, std::string_view verb, std::int64_t delay = 0) {
        const auto& l = slot_limits[s.limit];
        const auto counts_ended =
            without(flaw::never_expires) || (without(flaw::revives) && verb == "renew");
        return exchange({"EVAL", slot_script, "1", key_of(task_, s.limit, s.key), verb, s.id,
                         std::to_string(l.lease), std::to_string(l.tokens),
                         counts_ended ? "1" : "0", without(flaw::forgets_token) ? "1" : "0"},
                        delay);
    }

    record& note(std::size_t limit, std::size_t key, record r) {
        ++task_.own().decided;
        r.limit = static_cast<std::uint8_t>(limit);
        r.key = static_cast<std::uint8_t>(key);
        r.verdict = r.granted > 0 ? verdict::granted : verdict::refused;
        return task_.records->append(r);
    }
    record& note(std::size_t limit, std::size_t key, const reply& got) {
        return note(limit, key,
                    record{.time = got.time,
                           .end = got.time,
                           .total = got.number,
                           .granted = static_cast<std::uint16_t>(got.granted)});
    }

    /// A reply that comes late; not under all limits, as the process waits for it. Only then does
    /// it matter from when on a lease counts.
    [[nodiscard]] std::int64_t draw_delay(std::int64_t lease, std::size_t often) {
        return random_.percent(often) ? lease * 8 / 10 : 0;
    }

    /// All or nothing. Clocks of processes are apart by up to a window, if they use their own.
    void call() {
        const auto limit = random_.below(limits_called);
        const auto key = random_.below(keys_called);
        const auto& l = call_limits[limit];
        const auto cost = random_.between(1, 3);
        auto w = wish{.tokens = cost,
                      .least = cost,
                      .capacity = l.tokens + (without(flaw::off_by_one) ? 1 : 0)};
        if (without(flaw::client_clock))
            w.time = std::to_string(microseconds_now() + l.period * (task_.process % 3) / 3);
        if (without(flaw::resend) && random_.below(16) == 0) {
            // The reply is lost with the connection, and the client thinks nothing of it.
            take(limit, key, w);
            client_.reset();
        }
        const auto is_torn = without(flaw::check_then_record) && l.kind == kind::log;
        note(limit, key, is_torn ? take_in_two_steps(limit, key, w) : take(limit, key, w));
    }

    void step_leases() {
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

    void take_lease(std::size_t limit, std::size_t key) {
        const auto& l = leased_limits[limit];
        const auto delay = limit == 0 && key == 0
                               ? draw_delay(l.lease, without(flaw::from_arrival) ? 100 : 20)
                               : 0;
        const auto wanted = delay != 0 ? l.tokens : l.tokens / 6;
        const auto capacity = l.tokens - (without(flaw::no_reserve) ? 0 : reserve_of(l));
        const auto got = take(limit, key, {.tokens = wanted, .capacity = capacity, .delay = delay});
        ++task_.own().decided;
        if (got.granted == 0)
            return;
        auto ends =
            (without(flaw::from_arrival) ? got.arrival : got.sent) + l.lease - l.lease / 1'000;
        if (l.kind != kind::bucket && !without(flaw::past_end))
            ends = std::min(ends, got.sent + l.period - got.time % l.period);
        held_.push_back({.limit = limit,
                         .key = key,
                         .tokens = without(flaw::ignores_grant) ? wanted : got.granted,
                         .ends = ends});
    }

    void spend(std::size_t limit, std::size_t key) {
        const auto& l = leased_limits[limit];
        std::erase_if(held_, [&](const held_lease& h) {
            if (h.limit != limit || h.key != key)
                return false;
            const auto now = microseconds_now();
            if (now < h.ends)
                note(limit, key,
                     record{.time = now,
                            .end = now + 1,
                            .granted = static_cast<std::uint16_t>(h.tokens)});
            else if (without(flaw::returns_lapsed))
                take(limit, key,
                     {.tokens = -h.tokens,
                      .least = -h.tokens,
                      .capacity = l.tokens - reserve_of(l)});
            return true;
        });
    }

    void call_until_denied(std::size_t limit, std::size_t key) {
        const auto& l = leased_limits[limit];
        const auto is_full = without(flaw::no_reserve) || without(flaw::direct_full);
        const auto w = wish{.tokens = 20, .capacity = l.tokens - (is_full ? 0 : reserve_of(l))};
        while (note(limit, key, take(limit, key, w)).granted == w.tokens) {
        }
    }

    void step_slots() {
        try {
            for (auto s = held_.begin(); s != held_.end();)
                s = keep(*s) ? s + 1 : held_.erase(s);
            if (!task_.board->rest && task_.own().held < 4)
                acquire(random_.below(slot_limits.size()), random_.below(keys_of(mode::slots)));
        } catch (const std::runtime_error&) { // the connection was ended
            client_.reset();
        }
    }

    void set_lease(held_lease& s, const reply& got) const {
        const auto lease = slot_limits[s.limit].lease;
        s.renewed = got.sent;
        s.ends = (without(flaw::from_arrival) ? got.arrival : got.sent) + lease - lease / 1'000;
    }

    /// Returns whether the slot is to be kept.
    [[nodiscard]] bool keep(held_lease& s) {
        const auto now = microseconds_now();
        const auto is_lost = now >= s.ends && !without(flaw::ignores_loss);
        if (is_lost && !without(flaw::revives)) {
            ++task_.board->lost;
            return false;
        }
        if ((task_.board->rest || now >= s.leaves) && !s.is_released) {
            s.is_released = without(flaw::keeps_renewing);
            if (!s.is_released)
                ask(s, "release");
            return s.is_released;
        }
        if (!s.is_released && !is_lost)
            believe(*s.what, now);
        if (now < s.renewed + slot_limits[s.limit].lease / 3)
            return true;
        const auto got = ask(s, "renew");
        if (got.granted == 0 && !without(flaw::ignores_loss)) {
            ++task_.board->lost;
            return false;
        }
        set_lease(s, got);
        return true;
    }

    const task& task_;
    test::rng random_;
    std::optional<test::raw_client> client_;
    std::vector<held_lease> held_;
};

} // namespace

void call_by_hand(const task& t) {
    hand{t}.run();
}

totals read_totals_by_hand(const task& t) {
    auto executed = totals{};
    auto look = test::raw_client{t.server};
    for (std::size_t l = 0; l < limits_of(t.mode).size(); ++l)
        for (std::size_t k = 0; k < keys_of(t.mode); ++k)
            executed[l][k] = std::stoll(look.get(key_of(t, l, k) + ":total").value_or("0"));
    return executed;
}

std::int64_t slots_lost_by_hand(const task& t, std::size_t limit) {
    auto one = hand{t};
    auto found = std::int64_t{0};
    for (std::size_t k = 0; k < keys_of(mode::slots); ++k)
        for (auto place = slot_limits[limit].tokens; place > 0; --place)
            found += one.acquire(limit, k) ? 0 : 1;
    return found;
}

} // namespace colimit::oracle
