-- What the fast loops leave. They come before the tables and functions of the general path, which
-- take as long to create as a dozen checks take.
local granted = 0
local left -- the keys that a fast loop leaves to the general path; `errors` has those of others
local log_counts -- the facts of logs and sketches per call, if there are any
local keys, values -- how many keys, and their values

-- Whether all calls are an allow of cost 1, and how many per key if some are repeated.
local allows_one, repeats
local read_repeats = ARGV[5] ~= '' and function()
    if #ARGV[5] == keys then return {ARGV[5]:byte(1, -1)} end
    if #ARGV[5] == 2 * keys then
        return {unpack_bytes('<' .. string.rep('I2', keys), ARGV[5])}
    end
end

-- If a promise is below this plus twice the state's lifetime, the TTL need not be set again. With a
-- supplied clock nothing is promised.
local edge = supplied and -MOST or now + SECOND - 1000
