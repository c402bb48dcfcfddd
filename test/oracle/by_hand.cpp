// SPDX-License-Identifier: BSL-1.0
//
// A limiter as one would write it in an afternoon, right, or with one of the classic mistakes. The
// total stands beside each key, as INCRBY in the same step.

#include "caller.hpp"
#include "records_file.hpp"

#include <support/raw_client.hpp>

#include <chrono>
#include <memory>
#include <random>
#include <stdexcept>
#include <string_view>

namespace colimit::oracle {
namespace {

using test::raw_client;

/// KEYS key, total; ARGV kind, limit, period, cost, now (or '' for the server's), extra. Returns
/// granted, seconds, microseconds, total. `extra` is added to the limit by an off-by-one.
constexpr std::string_view script = R"(
local kind, limit, period, cost = ARGV[1], ARGV[2] + ARGV[6], ARGV[3] + 0, ARGV[4] + 0
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if ARGV[5] ~= '' then now = ARGV[5] + 0 end
local key, used = KEYS[1], 0
if kind == 'fixed' then
    key = key .. ':' .. string.format('%.0f', math.floor(now / period))
    used = tonumber(redis.call('GET', key) or '0')
else
    redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', now - period))
    used = redis.call('ZCARD', key)
end
if used + cost > limit then return {0, time[1], time[2], -1} end
local total = redis.call('INCRBY', KEYS[2], cost)
if kind == 'fixed' then
    redis.call('INCRBY', key, cost)
else
    for i = 1, cost do redis.call('ZADD', key, string.format('%.0f', now), total .. ':' .. i) end
end
return {cost, time[1], time[2], total}
)";

struct answer {
    std::int64_t granted;
    std::int64_t time;
    std::int64_t total; ///< -1 if denied
};

class hand {
  public:
    hand(const task& t, flaw f)
        : task_(t), flaw_(f), random_(t.seed), client_(std::make_unique<raw_client>(t.server)) {}

    [[nodiscard]] answer ask(const limit& l, const std::string& key, std::int64_t cost) {
        if (flaw_ == flaw::check_then_record && l.kind == kind::log)
            return in_two_steps(l, key, cost);
        if (flaw_ == flaw::resend && random_() % 16 == 0) {
            // The reply is lost with the connection, and the client thinks nothing of it.
            send(l, key, cost);
            (void)client_->receive();
            client_ = std::make_unique<raw_client>(task_.server);
        }
        send(l, key, cost);
        const auto said = client_->receive();
        if (said.elements.size() != 4)
            throw std::runtime_error{"the script failed: " + said.text};
        return {said.elements[0].integer,
                std::stoll(said.elements[1].text) * 1'000'000 + std::stoll(said.elements[2].text),
                said.elements[3].integer};
    }

  private:
    /// Processes whose clocks are apart, by up to a window.
    [[nodiscard]] std::string now(const limit& l) const {
        if (flaw_ != flaw::client_clock)
            return {};
        using namespace std::chrono;
        const auto here = duration_cast<microseconds>(system_clock::now().time_since_epoch());
        return std::to_string(here.count() + l.period * (task_.process % 3) / 3);
    }

    void send(const limit& l, const std::string& key, std::int64_t cost) {
        const auto tokens = std::to_string(l.tokens);
        const auto period = std::to_string(l.period);
        const auto amount = std::to_string(cost);
        const auto time = now(l);
        const auto total = key + ":total";
        auto out = std::string{};
        redis::resp::append_command(out, {"EVAL", script, "2", key, total, l.name, tokens, period,
                                          amount, time, flaw_ == flaw::off_by_one ? "1" : "0"});
        client_->send(out);
    }

    [[nodiscard]] answer in_two_steps(const limit& l, const std::string& key, std::int64_t cost) {
        auto& c = *client_;
        const auto now = c.time();
        c.must({"ZREMRANGEBYSCORE", key, "-inf", std::to_string(now - l.period)});
        if (c.must({"ZCARD", key}).integer + cost > l.tokens)
            return {0, now, -1};
        const auto total = c.must({"INCRBY", key + ":total", std::to_string(cost)}).integer;
        const auto time = c.time();
        for (auto i = std::int64_t{0}; i < cost; ++i)
            c.must({"ZADD", key, std::to_string(time),
                    std::to_string(total) + ':' + std::to_string(i)});
        return {cost, time, total};
    }

    const task& task_;
    flaw flaw_;
    std::mt19937_64 random_;
    std::unique_ptr<raw_client> client_;
};

/// Those of the limits that the script knows.
constexpr std::size_t kinds = 2;
static_assert(limits[0].kind == kind::log && limits[1].kind == kind::fixed);

[[nodiscard]] std::string key_of(const std::string& prefix, std::size_t limit, std::size_t key) {
    return prefix + ':' + std::string{limits[limit].name} + ':' + std::to_string(key);
}

/// Few callers that wait for each reply would never come near the limits of all keys.
constexpr std::size_t keys_asked = 2;

} // namespace

void call_by_hand(const task& t, flaw f) {
    auto random = std::mt19937_64{t.seed};
    auto out = records_file{t.file};
    auto by = hand{t, f};
    for (auto left = t.checks; left > 0; --left) {
        const auto draw = random();
        auto r = record{};
        r.limit = static_cast<std::uint8_t>(draw % kinds);
        r.key = static_cast<std::uint8_t>(draw / 16 % keys_asked);
        r.cost = static_cast<std::uint16_t>(1 + draw / 4096 % 3);
        const auto said = by.ask(limits[r.limit], key_of(t.prefix, r.limit, r.key), r.cost);
        r.time = said.time;
        r.total = said.total;
        r.granted = static_cast<std::uint16_t>(said.granted);
        r.verdict = said.granted > 0 ? verdict::granted : verdict::refused;
        out.append(r);
    }
}

totals read_totals_by_hand(const std::string& server, const std::string& prefix) {
    auto executed = totals{};
    auto look = raw_client{server};
    for (std::size_t l = 0; l < kinds; ++l)
        for (std::size_t k = 0; k < keys_asked; ++k)
            executed[l][k] = std::stoll(look.get(key_of(prefix, l, k) + ":total").value_or("0"));
    return executed;
}

} // namespace colimit::oracle
