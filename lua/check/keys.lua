-- The keys. With one plan there are `keys` of them from KEYS[base + 1] on, then as many logs, then
-- as many sketches for each slot that has one. `values` is what they hold, from values[first] on.
local all_or_nothing = ARGV[6] ~= nil and not packed
local base, first, keys = 0, 1, #KEYS / (1 + (has_log and 1 or 0) + #sketches)
local values
if packed then
    keys, values = #ARGV - 6, {}
elseif all_or_nothing then
    keys = unpack_bytes('<I2', ARGV[6])
else
    values = redis.call('MGET', unpack(KEYS, 1, keys))
end

-- How often each key is asked, where that is all there is to say: two bytes a key.
local asked_times
if not all_or_nothing and #ARGV[5] == 2 * keys then asked_times = {ARGV[5]:byte(1, -1)} end

local function times_of(k)
    return asked_times and asked_times[2 * k - 1] + 256 * asked_times[2 * k] or 1
end

local granted = 0
local facts -- what logs and sketches say to each call, if there are any
local statuses -- made when the first thing goes wrong

local function note(k, status, text)
    if not statuses then
        statuses = {}
        for i = 1, #values do statuses[i] = '.' end
    end
    statuses[k] = status
    if text then values[k] = text end
end

local write_rows -- what a packed plan has kept back

local function reply()
    if packed then write_rows() end
    local header = ARGV[2] .. ' ' .. stamp .. ' ' .. granted .. ' '
        .. (statuses and table.concat(statuses) or '-')
    if facts then values[#values + 1] = table.concat(facts) end
    values[#values + 1] = header
    return values
end
