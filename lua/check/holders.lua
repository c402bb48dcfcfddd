-- The fast loop over holders: calls of one `concurrent` rule alone, without shared or old states.
--
-- A server needs longer to print a score than for a command (see README.md, "Concurrent work"). So
-- the loop compares scores with ranges, and reads only those that the reply needs. A call has three
-- to six commands; the general path has up to ten. That path makes the calls on all other keys:
-- those with a value, with expired holders, and with leases longer than the rule's. A set that has
-- holders has a token, which the library writes with the first one. Other batches need none of
-- these functions, which take time to create.
local CONCURRENT = 10
local ACQUIRE, RENEW, RELEASE = 9, 10, 11
local TOKEN = ''
local limit, lease, ends, now_text, ends_text, after_now, after_ends, minus_now
-- The current set, and the number of its holders, its last token, and the end of its last
-- lease, or nil if they have not been read.
local key, live, token, last

-- A hostile command may name a key twice, or keys of other types.
local function are_usual()
    local known, missing = {}, {}
    for i = 1, #KEYS do
        if known[KEYS[i]] then return false end
        known[KEYS[i]] = true
    end
    for k = 1, keys do
        if not values[k] then missing[#missing + 1] = KEYS[k] end
    end
    return #missing == 0 or guarded('EXISTS', unpack(missing)) == 0
end

-- A user who may not run one of the commands charges nothing, also if the first of a key's
-- calls need another one. Before Redis 7.0 this cannot be asked.
local function may_run(...)
    local known, allowed = pcall(redis.acl_check_cmd, ...)
    return known and allowed
end
local function may_read(set)
    return not redis.acl_check_cmd or may_run('ZCOUNT', set, '0', '1')
        and may_run('ZSCORE', set, TOKEN) and may_run('ZRANGE', set, '0', '0')
end

-- Returns whether no lease has expired, and none is longer than one of this rule. The server
-- counts a list member by member, but finds at once that a range has none. Lists have up to 128
-- members, unless it is set up otherwise.
local function are_leases_usual(all)
    if all > 24 and all <= 128 then
        return call('ZCOUNT', key, '-inf', now_text) == 1
            and call('ZCOUNT', key, after_ends, '+inf') == 0
    end
    return call('ZCOUNT', key, after_now, ends_text) == all - 1
end

-- Makes a call by a function below, unless the general path has to make it.
local function try(by, id)
    if not live then
        local all = call('ZCARD', key)
        if all > 0 and not are_leases_usual(all) then return nil end
        live = max(all - 1, 0)
    end
    return by(id)
end

local function can_keep() return (pcall(keep, key, lease)) end

-- Returns the end of the lease with so many leases from it to the last one.
local function end_of(from_last)
    local place = text_of('%d', -from_last)
    return floor(call('ZRANGE', key, place, place, 'WITHSCORES')[2])
end

local function last_end()
    if live == 0 then return 0 end
    last = last or end_of(1)
    return last
end

local function free_at() return live < limit and 0 or end_of(limit) end

local function last_token()
    if not token then
        slots.turn_to(key)
        token = slots.last_token()
    end
    return token
end

-- Gives a holder a lease and the next token. Returns that and the number of other holders, or
-- nil if the general path has to make the call.
local function add(id)
    if token then
        token = min(MOST, max(token + 1, now))
        local added = call('ZADD', key, text_of('%d', -token), TOKEN, ends_text, id)
        live = live + added
        return token, live - 1
    end
    -- `LT` keeps a token that is not smaller than `now`, and the lease of a holder.
    local changed = call('ZADD', key, 'LT', 'CH', minus_now, TOKEN, ends_text, id)
    if changed == 2 then
        live = live + 1
    elseif changed == 0 then
        return nil
    elseif call('ZCARD', key) > live + 1 then
        call('ZREM', key, id) -- it is a new one, without a token
        return nil
    else
        call('ZADD', key, ends_text, id)
    end
    token = now
    return token, live - 1
end

-- These return the facts of a call, or nil or an error if the general path has to make it.
local function acquire(id)
    if live < limit then
        local before = last_end()
        if not can_keep() then return nil end
        local own, others = add(id)
        if not own then return nil end
        granted, last = granted + 1, ends
        return pack('<dddd', before, others, own, 0)
    end
    if call('ZSCORE', key, id) then return nil end
    local next_token = min(MOST, max(last_token() + 1, now))
    return pack('<dddd', last_end(), live, next_token, limit == 1 and last or end_of(limit))
end

local function renew(id)
    if live == 0 or not can_keep()
        or call('ZADD', key, 'XX', 'CH', ends_text, id) ~= 1 then
        return nil
    end
    last = ends
    local facts = pack('<dddd', ends, live, max(1, last_token()), free_at()) -- or an error
    granted = granted + 1
    return facts
end

local function release(id)
    if live > 0 and call('ZREM', key, id) == 1 then live, last = live - 1, nil end
    return pack('<dddd', last_end(), live, 0, free_at())
end

local made_by = {[ACQUIRE] = acquire, [RENEW] = renew, [RELEASE] = release}

-- Makes the calls; returns false if it is another batch. `make` makes one by the general path,
-- and `finish` ends its key.
function slots.make_calls(make, finish)
    if n ~= 1 or kind[1] ~= CONCURRENT or shadow[1] or is_shadow or packed or requests
        or all_or_nothing or now == 0 or find_oom() or not are_usual()
        or not may_read(KEYS[keys + 1]) then
        return false
    end
    limit, lease, ends = capacity[1], period[1], now + period[1]
    now_text, ends_text = text_of('%d', now), text_of('%d', ends)
    after_now, after_ends, minus_now = '(' .. now_text, '(' .. ends_text, '-' .. now_text
    local entries, at, current, is_left, before = ARGV[5], 1

    -- The facts of a failed key are not used.
    local function turn_to(k)
        if is_left then finish() end
        if log_counts and statuses and current and statuses[current] ~= '.' then
            for i = #log_counts, before + 1, -1 do log_counts[i] = nil end
        end
        current, is_left, before = k, k and values[k], log_counts and #log_counts or 0
        key, live, token, last = KEYS[keys + (k or 0)], nil, nil, nil
    end

    while at <= #entries do
        local place, verb, times, cost, at_least, id
        place, verb, times, cost, at_least, id, at =
            unpack_bytes('<I2BI2ddI2c0', entries, at)
        if place + 1 ~= current then turn_to(place + 1) end
        local by, done, facts = times == 1 and made_by[verb]
        if by and not is_left then done, facts = pcall(try, by, id) end
        if done and facts then
            log_counts = log_counts or {}
            log_counts[#log_counts + 1] = facts
        else
            is_left = true
            make(current, times, verb, cost, at_least, id)
        end
    end
    turn_to()
    return true
end
