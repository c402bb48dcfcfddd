// SPDX-License-Identifier: BSL-1.0
//
// A client with leases as one would write it in an afternoon, right, or without one of the rules.

#include "lease_caller.hpp"

#include "deployment.hpp"

#include <redis/protocol/resp.hpp>
#include <support/raw_client.hpp>
#include <support/rng.hpp>

#include <algorithm>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace colimit::oracle {
namespace {

using namespace std::chrono_literals;

/// KEYS key, total; ARGV kind, capacity, period, refill, tokens (negative: given back). Returns
/// granted, seconds, microseconds. A token is `period` ticks.
constexpr std::string_view lease_script = R"(
local kind, period, refill, wanted = ARGV[1], ARGV[3] + 0, ARGV[4] + 0, ARGV[5] + 0
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local state = redis.call('HMGET', KEYS[1], 'used', 'previous', 'time')
local used, previous = tonumber(state[1] or 0), tonumber(state[2] or 0)
local last = tonumber(state[3] or 0)
local window, passed = math.floor(now / period), 0
local windows = window - math.floor(last / period)
if kind == 'bucket' then
    used = math.max(0, used - refill * (now - last))
elseif kind == 'aligned' then
    used = math.max(0, used - refill * period * windows)
elseif windows > 0 then
    previous, used = windows == 1 and used or 0, 0
end
local room = ARGV[2] * period - used
if kind == 'counter' then room = room - previous / period * (period - now % period) end
local granted = math.min(wanted, math.max(0, math.floor(room / period)))
used = math.max(0, used + granted * period)
redis.call('HSET', KEYS[1], 'used', string.format('%.0f', used), 'previous',
    string.format('%.0f', previous), 'time', string.format('%.0f', now))
if granted > 0 then redis.call('INCRBY', KEYS[2], granted) end
return {granted, time[1], time[2]}
)";

[[nodiscard]] std::string_view word_of(leased_kind k) {
    switch (k) {
    case leased_kind::bucket:
        return "bucket";
    case leased_kind::aligned:
        return "aligned";
    case leased_kind::fixed:
        return "fixed";
    case leased_kind::counter:
        return "counter";
    }
    return {};
}

[[nodiscard]] std::string leased_key_of(const std::string& prefix, std::size_t limit,
                                        std::size_t key) {
    return prefix + ':' + std::string{leased_limits[limit].name} + ':' + std::to_string(key);
}

struct lease_grant {
    std::int64_t sent;
    std::int64_t time; ///< the server's
    std::int64_t arrival;
    std::int64_t tokens;
};

struct held_lease {
    std::int64_t tokens;
    std::int64_t end;
};

class lease_hand {
  public:
    explicit lease_hand(const lease_task& t) : task_(t), random_(t.seed), client_(t.server) {}

    void run() {
        while (!task_.board->stop) {
            for (std::size_t l = 0; l < leased_limits.size(); ++l)
                for (std::size_t k = 0; k < leased_keys; ++k)
                    step(l, k);
            std::this_thread::sleep_for(200us);
        }
    }

  private:
    [[nodiscard]] bool without(lease_flaw f) const { return task_.board->flaw == f; }

    void step(std::size_t limit, std::size_t key) {
        const auto now = phase_of(microseconds_now(), limit);
        if (now == phase::take)
            take_lease(limit, key);
        if (now == phase::burst) {
            spend(limit, key);
            call(limit, key);
        }
    }

    [[nodiscard]] lease_grant ask(std::size_t limit, std::size_t key, std::int64_t tokens,
                                  bool is_full, std::chrono::microseconds delay = 0us) {
        const auto& l = leased_limits[limit];
        const auto name = leased_key_of(task_.prefix, limit, key);
        const auto total = name + ":total";
        const auto capacity = std::to_string(l.tokens - (is_full ? 0 : reserve_of(l)));
        const auto period = std::to_string(l.period);
        const auto refill = std::to_string(l.refill);
        const auto wanted = std::to_string(tokens);
        auto out = std::string{};
        redis::resp::append_command(out, {"EVAL", lease_script, "2", name, total, word_of(l.kind),
                                          capacity, period, refill, wanted});
        ++task_.board->checks;
        const auto sent = microseconds_now();
        client_.send(out);
        std::this_thread::sleep_for(delay);
        const auto said = client_.receive();
        if (said.elements.size() != 3)
            throw std::runtime_error{"the script failed: " + said.text};
        return {.sent = sent,
                .time = std::stoll(said.elements[1].text) * 1'000'000 +
                        std::stoll(said.elements[2].text),
                .arrival = microseconds_now(),
                .tokens = said.elements[0].integer};
    }

    void take_lease(std::size_t limit, std::size_t key) {
        const auto& l = leased_limits[limit];
        // A reply that comes late; not on all keys, as the process waits for it. Only then does it
        // matter from when on a lease counts.
        const auto often = without(lease_flaw::from_arrival) ? 100U : 20U;
        const auto is_late = limit == 0 && key == 0 && random_.percent(often);
        const auto delay = is_late ? l.lease * 8 / 10 : 0;
        const auto wanted = is_late ? l.tokens : l.tokens / 6;
        const auto got = ask(limit, key, wanted, without(lease_flaw::no_reserve),
                             std::chrono::microseconds{delay});
        if (got.tokens == 0)
            return;
        auto end = (without(lease_flaw::from_arrival) ? got.arrival : got.sent) + l.lease -
                   l.lease / 1'000;
        if (l.kind != leased_kind::bucket && !without(lease_flaw::past_end))
            end = std::min(end, got.sent + l.period - got.time % l.period);
        leases_[limit][key].push_back(
            {.tokens = without(lease_flaw::ignores_grant) ? wanted : got.tokens, .end = end});
    }

    void spend(std::size_t limit, std::size_t key) {
        auto& held = leases_[limit][key];
        for (const auto& each : held) {
            const auto now = microseconds_now();
            if (now < each.end) {
                note(limit, key, {.begin = now, .end = now + 1, .tokens = each.tokens});
                ++task_.board->leased;
                ++task_.board->checks;
            } else if (without(lease_flaw::returns_lapsed)) {
                (void)ask(limit, key, -each.tokens, false);
            }
        }
        held.clear();
    }

    void call(std::size_t limit, std::size_t key) {
        const auto is_full = without(lease_flaw::no_reserve) || without(lease_flaw::direct_full);
        for (;;) {
            const auto got = ask(limit, key, 20, is_full);
            if (got.tokens > 0)
                note(limit, key, {.begin = got.time, .end = got.time, .tokens = got.tokens});
            if (got.tokens < 20)
                return;
        }
    }

    void note(std::size_t limit, std::size_t key, const admission& what) {
        task_.records->append({.what = what,
                               .limit = static_cast<std::uint8_t>(limit),
                               .key = static_cast<std::uint8_t>(key)});
    }

    const lease_task& task_;
    test::rng random_;
    test::raw_client client_;
    std::array<std::array<std::vector<held_lease>, leased_keys>, leased_limits.size()> leases_;
};

} // namespace

void call_with_leases_by_hand(const lease_task& t) {
    lease_hand{t}.run();
}

leased_totals read_leased_totals_by_hand(const std::string& server, const std::string& prefix) {
    auto executed = leased_totals{};
    auto look = test::raw_client{server};
    for (std::size_t l = 0; l < leased_limits.size(); ++l)
        for (std::size_t k = 0; k < leased_keys; ++k)
            executed[l][k] =
                std::stoll(look.get(leased_key_of(prefix, l, k) + ":total").value_or("0"));
    return executed;
}

} // namespace colimit::oracle
