-- The reference: a limiter with one key per call, as it is written by hand in many services. It is
-- fixed, so that figures of different days can be compared; do not tune it.
--
-- A bucket in microseconds: the stored number is the time at which the bucket will be full again.
--
-- KEYS[1]   the key
-- ARGV[1]   the largest burst
-- ARGV[2]   microseconds in which one token comes back
-- ARGV[3]   tokens requested
-- ARGV[4]   milliseconds for which the key is kept: twice the time in which the bucket fills
-- Reply     allowed (1 or 0), tokens left, microseconds until the call would be allowed

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local capacity = tonumber(ARGV[1])
local interval = tonumber(ARGV[2])
local cost = tonumber(ARGV[3])

local full_at = tonumber(redis.call('GET', KEYS[1]) or now)
if full_at < now then
    full_at = now
end

local after = full_at + cost * interval
local wait = after - capacity * interval - now
if wait > 0 then
    return {0, math.floor((capacity * interval - (full_at - now)) / interval), wait}
end

redis.call('SET', KEYS[1], after, 'PX', ARGV[4])
return {1, math.floor(-wait / interval), 0}
