// SPDX-License-Identifier: BSL-1.0
//
// The total stands beside each key, as INCRBY in the same step. A log is a sorted set, all other
// counters are a hash, in which a token is `period` ticks. Sets of holders are those of the
// library: holders by the end of their leases, and '' with minus the last token.

#include "hand.hpp"

#include "clock.hpp"

#include <redis/protocol/resp.hpp>

#include <stdexcept>
#include <thread>

namespace colimit::oracle {
namespace {

/// KEYS key, total; ARGV kind, capacity, period, refill, tokens (negative: given back), the least
/// that is granted, now (or '' for the server's). Returns granted, total, seconds, microseconds.
constexpr std::string_view token_script = R"(
local kind, capacity, period, refill = ARGV[1], ARGV[2] + 0, ARGV[3] + 0, ARGV[4] + 0
local wanted, least, key = ARGV[5] + 0, ARGV[6] + 0, KEYS[1]
local time = redis.call('TIME')
local now = ARGV[7] == '' and time[1] * 1000000 + time[2] or ARGV[7] + 0
local function text(number) return string.format('%.0f', number) end
local used, previous, room = 0, 0, 0
if kind == 'log' then
    redis.call('ZREMRANGEBYSCORE', key, '-inf', text(now - period))
    room = capacity - redis.call('ZCARD', key)
else
    local state = redis.call('HMGET', key, 'used', 'previous', 'time')
    used, previous = tonumber(state[1] or 0), tonumber(state[2] or 0)
    local last = tonumber(state[3] or 0)
    local windows = math.floor(now / period) - math.floor(last / period)
    if kind == 'bucket' then
        used = math.max(0, used - refill * (now - last))
    elseif kind == 'aligned' then
        used = math.max(0, used - refill * period * windows)
    elseif windows > 0 then
        previous, used = windows == 1 and used or 0, 0
    end
    room = capacity * period - used
    if kind == 'counter' then room = room - previous / period * (period - now % period) end
    room = math.floor(room / period)
end
local granted = math.min(wanted, math.max(0, room))
if granted < least then granted = 0 end
local total = granted > 0 and redis.call('INCRBY', KEYS[2], granted) or -1
if kind == 'log' then
    for i = 1, granted do redis.call('ZADD', key, text(now), total .. ':' .. i) end
else
    redis.call('HSET', key, 'used', text(math.max(0, used + granted * period)), 'previous',
        text(previous), 'time', text(now))
end
return {granted, total, time[1], time[2]}
)";

/// KEYS set; ARGV verb, holder, lease, places, and whether ended leases count or are revived, and
/// whether an empty set is forgotten. Returns granted, token, seconds, microseconds.
constexpr std::string_view slot_script = R"(
local set, verb, holder, lease, places = KEYS[1], ARGV[1], ARGV[2], ARGV[3] + 0, ARGV[4] + 0
local counts_ended, forgets = ARGV[5] == '1', ARGV[6] == '1'
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local function text(number) return string.format('%.0f', number) end
local function last_end(id) return tonumber(redis.call('ZSCORE', set, id) or 0) end
local function extend()
    redis.call('ZADD', set, text(now + lease), holder)
    if not counts_ended then redis.call('PEXPIRE', set, text(lease / 1000 + 1)) end
end
local granted, token = 1, 0
if verb == 'acquire' or verb == 'look' then
    local holders = redis.call('ZCOUNT', set, counts_ended and '(0' or '(' .. text(now), '+inf')
    granted = holders < places and 1 or 0
end
if verb == 'add' or verb == 'acquire' and granted == 1 then
    token = forgets and 1 - last_end('') or math.max(1 - last_end(''), now)
    redis.call('ZADD', set, text(-token), '')
    extend()
elseif verb == 'renew' then
    granted = (counts_ended or last_end(holder) > now) and 1 or 0
    if granted == 1 then extend() end
elseif verb == 'release' then
    redis.call('ZREM', set, holder)
    if forgets and redis.call('ZCARD', set) == 1 then redis.call('DEL', set) end
end
return {granted, token, time[1], time[2]}
)";

[[nodiscard]] std::string_view word_of(kind k) {
    constexpr std::string_view words[] = {"log", "fixed", "counter", "bucket", "aligned"};
    return words[static_cast<std::size_t>(k)];
}

} // namespace

hand_reply hand::take(std::size_t limit, std::size_t key, const hand_order& o) {
    const auto& l = limits_of(task_.mode)[limit];
    const auto name = key_of(limit, key);
    const auto total = name + ":total";
    const auto capacity = std::to_string(o.capacity);
    const auto period = std::to_string(l.period);
    const auto refill = std::to_string(l.refill);
    const auto tokens = std::to_string(o.tokens);
    const auto least = std::to_string(o.least);
    auto out = std::string{};
    redis::resp::append_command(out, {"EVAL", token_script, "2", name, total, word_of(l.kind),
                                      capacity, period, refill, tokens, least, o.time});
    if (o.is_lost) { // and the client thinks nothing of it
        (void)exchange(out, 0);
        disconnect();
    }
    return exchange(out, o.delay);
}

hand_reply hand::take_in_two_steps(std::size_t limit, std::size_t key, const hand_order& o) {
    const auto name = key_of(limit, key);
    auto& c = connection();
    auto said = hand_reply{.granted = 0, .number = -1, .time = c.time(), .sent = 0, .arrival = 0};
    c.must({"ZREMRANGEBYSCORE", name, "-inf",
            std::to_string(said.time - limits_of(task_.mode)[limit].period)});
    if (c.must({"ZCARD", name}).integer + o.tokens > o.capacity)
        return said;
    said.granted = o.tokens;
    said.number = c.must({"INCRBY", name + ":total", std::to_string(o.tokens)}).integer;
    said.time = c.time();
    for (auto i = std::int64_t{0}; i < o.tokens; ++i)
        c.must({"ZADD", name, std::to_string(said.time),
                std::to_string(said.number) + ':' + std::to_string(i)});
    return said;
}

hand_reply hand::ask(std::size_t limit, std::size_t key, std::string_view verb,
                     const std::string& holder, std::int64_t delay) {
    const auto& l = slot_limits[limit];
    const auto set = key_of(limit, key);
    const auto lease = std::to_string(l.lease);
    const auto places = std::to_string(l.tokens);
    const auto counts_ended =
        without(flaw::never_expires) || (without(flaw::revives) && verb == "renew");
    auto out = std::string{};
    redis::resp::append_command(out, {"EVAL", slot_script, "1", set, verb, holder, lease, places,
                                      counts_ended ? "1" : "0",
                                      without(flaw::forgets_token) ? "1" : "0"});
    return exchange(out, delay);
}

std::string hand::key_of(std::size_t limit, std::size_t key) const {
    return task_.prefix + ':' + std::string{limits_of(task_.mode)[limit].name} + ':' +
           task_.keys[key];
}

test::raw_client& hand::connection() {
    return client_ ? *client_ : client_.emplace(task_.server);
}

/// A server that is killed ends this with std::runtime_error, a script that is wrong with
/// std::logic_error.
hand_reply hand::exchange(std::string_view command, std::int64_t delay) {
    auto& c = connection();
    const auto sent = microseconds_now();
    c.send(command);
    std::this_thread::sleep_for(std::chrono::microseconds{delay});
    const auto said = c.receive();
    if (said.elements.size() != 4)
        throw std::logic_error{"the script failed: " + said.text};
    return {.granted = said.elements[0].integer,
            .number = said.elements[1].integer,
            .time =
                std::stoll(said.elements[2].text) * 1'000'000 + std::stoll(said.elements[3].text),
            .sent = sent,
            .arrival = microseconds_now()};
}

} // namespace colimit::oracle
