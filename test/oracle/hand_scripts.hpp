// SPDX-License-Identifier: BSL-1.0
//
// The limits as scripts that one would write in an afternoon.
//
// The total stands beside each key, as INCRBY in the same step. A log is a sorted set, all other
// counters are a hash, in which a token is `period` ticks. Sets of holders are those of the
// library: holders by the end of their leases, and '' with minus the last token.

#pragma once

#include <string_view>

namespace colimit::oracle {

/// KEYS key, total; ARGV kind, capacity, period, refill, tokens (negative: given back), the least
/// that is granted, now (or '' for the server's). Returns granted, total, seconds, microseconds.
inline constexpr std::string_view token_script = R"(
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
inline constexpr std::string_view slot_script = R"(
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

} // namespace colimit::oracle
