-- The limits of the current policy. Tables that have their first elements from the beginning take
-- half the time to create.
local tag, kind, shadow, counts_denied = {0, 0}, {0}, {false}, {false}
local capacity, num, den, unit, debt_max, debt_limit = {0}, {0}, {0}, {0}, {0}, {0}
local period, step, offset, initial, calendar = {0, 0}, {0}, {0}, {0}, {0}
local stored_capacity = {0, 0} -- in a limit's own states
-- Limits whose states are in the value, and those that have a sketch.
local stored, sketched, has_log
local per_key -- KEYS of one key: its value, log, sketches and holders
local has_plain_buckets -- all limits are continuous buckets in microseconds

-- Reads the policy at a position of ARGV[1]; returns where the next one begins.
local function read_policy(at)
    local CONCURRENT = 10 -- not above, where variables are scarce
    local flags, has_slots
    rules, n, flags, at = unpack_bytes('<BBB', ARGV[1], at)
    is_shadow, packed, has_bare_keys = flags % 2 == 1, flags % 4 >= 2, flags >= 4
    stored, sketched, has_log, has_plain_buckets = {}, {}, false, true
    for i = 1, n do
        tag[i], kind[i], flags, capacity[i], num[i], den[i], unit[i], debt_max[i], period[i],
            step[i], offset[i], initial[i], calendar[i], at =
            unpack_bytes('<I4BBdddddddddd', ARGV[1], at)
        shadow[i] = flags % 2 == 1
        counts_denied[i] = flags >= 2
        debt_limit[i] = num[i] > STEPS and capacity[i] or capacity[i] * num[i]
        stored_capacity[i] = kind[i] <= ALIGNED and capacity[i] or 1
        if kind[i] == LOG then
            has_log = true
        elseif kind[i] == CONCURRENT then
            has_slots = true
        else
            stored[#stored + 1] = i
        end
        if kind[i] == DISTINCT then sketched[#sketched + 1] = i end
        if kind[i] ~= BUCKET or unit[i] ~= 1 or initial[i] >= 0 or shadow[i] then
            has_plain_buckets = false
        end
    end
    if packed then generation, at = unpack_bytes('<d', ARGV[1], at) end
    -- After the limits: the end of the key's block, and its tag.
    tag[n + 1], period[n + 1], stored_capacity[n + 1] = 3993778410, CENTURY, 1
    per_key = 1 + (has_log and 1 or 0) + #sketched + (has_slots and 1 or 0)
    return at
end

read_policy(1)
