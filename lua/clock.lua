-- The clock, and the TTL of keys: a part of every script.
local supplied = ARGV[3] ~= ''
local now, stamp
if supplied then
    now = tonumber(ARGV[3])
    stamp = '0 ' .. ARGV[3]
else
    local time = redis.call('TIME')
    now = time[1] * SECOND + time[2]
    stamp = time[1] .. ' ' .. time[2]
end
local now_ms = floor(now / 1000)
-- If the calls have ids, `requests` has the TTL of their records; it is nil elsewhere.
local least_ttl, requests = tonumber(ARGV[4])
if not least_ttl then
    least_ttl, requests = ARGV[4]:match('^(%d+) (%d+)$')
    least_ttl, requests = tonumber(least_ttl), {ttl = requests}
end

-- Returns how to set the TTL of a key to `us` microseconds and a second: the option, its argument,
-- and the time before which the key does not expire. An absolute time needs no allowance for the
-- time between TIME and SET; with a supplied clock it would be meaningless.
local function lifetime(us)
    local ms = max(floor(us / 1000) + 1000, least_ttl)
    if supplied then return 'PX', text_of('%d', ms), 0 end
    return 'PXAT', text_of('%d', now_ms + ms), (now_ms + ms) * 1000
end
