-- The bucket rules on the server: many calls on many keys of one policy, at one instant.
--
-- This is the twin of src/core/evaluate.cpp: the same integers, below 2^53, which Lua's doubles
-- hold exactly. It decides and writes; it answers with the values that it found, from which the
-- C++ twin works out the decisions (formatting numbers is dear here, and the values are strings
-- already).
--
-- KEYS      the different keys of the batch
-- ARGV[1]   plan: n:u8, then n times tag:u32 capacity num den unit most (doubles) shadow:u8
-- ARGV[2]   nonce, returned as it is, so that no reply is taken for another request's
-- ARGV[3]   the time in microseconds, or '' for the server's clock
-- ARGV[4]   the least time to live of a key, in milliseconds
-- ARGV[5]   calls, grouped by key: key:u16 verb:u8 cost:double at_least:double;
--           '' stands for one allow of cost 1 on every key
-- Reply     for each key the value found (or nil, or the text of an error), then
--           'nonce seconds microseconds granted statuses'; statuses is '-' when all went well,
--           else a character a key: '.' well, 'c' another type of value is in the way, 'e' an error
--
-- A value is expires (a double: until then the key surely lives) and for each rule tag:u32, then
-- t debt num capacity (doubles): the debt in ticks as of t, and the numbers it was counted with.

local ALLOW, PEEK, CHARGE, REFUND, RESET = 0, 1, 2, 3, 4
local MOST = 9007199254740991
local SECOND = 1000000
local SLOT = 36
local MARGIN = 10000 -- TIME is read a little after the clock that expires keys

local floor, ceil = math.floor, math.ceil
local pack, unpack_bytes = struct.pack, struct.unpack
local guarded = redis.pcall

-- The plan.
local n, at = unpack_bytes('<B', ARGV[1])
local tag, capacity, num, den, unit, most, shadow, full = {}, {}, {}, {}, {}, {}, {}, {}
for i = 1, n do
    local is_shadow
    tag[i], capacity[i], num[i], den[i], unit[i], most[i], is_shadow, at =
        unpack_bytes('<I4dddddB', ARGV[1], at)
    shadow[i] = is_shadow == 1
    full[i] = capacity[i] * num[i]
end
local value_format = '<d' .. string.rep('I4dddd', n)
local fields = {} -- of a value, in the order of its format
local value_size = 8 + SLOT * n

-- The clock.
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
local least_ttl = tonumber(ARGV[4])

-- The state of the key at hand.
local t, debt = {}, {}  -- for each rule, at `now`
local expires           -- what the value says of the key's end
local exists, stale     -- something is there; it must be replaced even by a refusal
local changed           -- something is to be written at the end
local granted = 0

local function start_empty(i)
    t[i] = unit[i] == 1 and now or floor(now / unit[i]) * unit[i]
    debt[i] = 0
end

-- Rule i as it was stored, read by the rule's present numbers and brought to `now`; false when the
-- numbers are none. A product that passes 2^53 is rounded, but to something above 2^53, and so
-- beyond every debt.
local function read_rule(i, old_t, old_debt, old_num, old_capacity)
    if not (old_t >= 0 and old_debt >= 0 and old_t <= MOST and old_debt <= MOST
            and old_t % 1 == 0 and old_debt % 1 == 0) then
        return false
    end
    local u = unit[i]
    if old_num ~= num[i] or old_capacity ~= capacity[i] then
        if not (old_num >= 1 and old_capacity >= 1 and old_num <= MOST and old_capacity <= MOST
                and old_num % 1 == 0 and old_capacity % 1 == 0) then
            return false
        end
        local tokens = ceil(old_debt / old_num)
        old_debt = tokens >= capacity[i] and full[i] or tokens * num[i]
        stale = true
    end
    if old_debt > most[i] then old_debt = most[i] end
    local elapsed = 0
    if old_t > now then
        stale = true
    elseif u == 1 then
        elapsed = now - old_t
    else
        elapsed = floor(now / u) - ceil(old_t / u)
        if elapsed < 0 then elapsed = 0 end
    end
    local left = old_debt - elapsed * den[i]
    debt[i] = left > 0 and left or 0
    t[i] = u == 1 and now or floor(now / u) * u
    return true
end

-- Reads a value that has this policy's rules in their order; false when it is not one.
local function read_in_order(value)
    local position, found, a, b, c, d
    if n == 1 then
        expires, found, a, b, c, d = unpack_bytes(value_format, value)
        return found == tag[1] and read_rule(1, a, b, c, d)
    end
    expires, position = unpack_bytes('<d', value)
    for i = 1, n do
        found, a, b, c, d, position = unpack_bytes('<I4dddd', value, position)
        if found ~= tag[i] or not read_rule(i, a, b, c, d) then return false end
    end
    return true
end

-- Reads a value whose rules are others or stand elsewhere, by their tags; false when it is none.
local function read_by_tag(value)
    local slots = (#value - 8) / SLOT
    if slots < 1 or slots > 8 or slots % 1 ~= 0 then return false end
    expires = 0
    for i = 1, n do
        start_empty(i)
        for s = 0, slots - 1 do
            local found, a, b, c, d = unpack_bytes('<I4dddd', value, 9 + SLOT * s)
            if found == tag[i] then
                if not read_rule(i, a, b, c, d) then return false end
                break
            end
        end
    end
    return true
end

local function load(value)
    exists, stale, changed, expires = value ~= false, false, false, 0
    if exists then
        if #value == value_size and read_in_order(value) then return end
        stale = false
        if read_by_tag(value) then return end
        stale = true
    end
    for i = 1, n do start_empty(i) end
end

-- The largest amount up to `cost` that every rule has room for; -1 when a balance is negative.
local function fitting(cost)
    local fits = cost
    for i = 1, n do
        local room = full[i] - debt[i]
        if (fits > capacity[i] or fits * num[i] > room) and not shadow[i] then
            fits = floor(room / num[i])
            if fits < -1 then fits = -1 end
        end
    end
    return fits
end

local function asks_too_much(amount)
    for i = 1, n do
        if amount > capacity[i] and not shadow[i] then return true end
    end
    return false
end

local function add_debt(cost)
    local any = false
    for i = 1, n do
        local d = debt[i]
        if d < most[i] and cost > 0 then
            local sum = d + cost * num[i]
            debt[i] = sum < most[i] and sum or most[i]
            any = true
        end
    end
    return any
end

local function take_debt(cost)
    local any = false
    for i = 1, n do
        local d = debt[i]
        if d > 0 and cost > 0 then
            local left = d - cost * num[i]
            debt[i] = left > 0 and left or 0
            any = true
        end
    end
    return any
end

-- What is to be written after a call: nothing, unless it changed the state or found one to be
-- replaced.
local function note_change(wants_write)
    if wants_write or stale then
        changed, stale = true, false
    end
end

local function apply(verb, cost, at_least)
    if verb == ALLOW or verb == PEEK then
        local fits = fitting(cost)
        local allowed = fits >= at_least
        if allowed then granted = granted + 1 end
        if verb == PEEK or (not allowed and asks_too_much(at_least)) then return end
        local charges = allowed and fits > 0
        if charges then add_debt(fits) end
        note_change(charges)
    elseif verb == CHARGE then
        note_change(add_debt(cost))
    elseif verb == REFUND then
        note_change(take_debt(cost))
    elseif verb == RESET then
        for i = 1, n do start_empty(i) end
        changed, stale = true, false
    end
end

-- Writes a value, of one rule from the last two arguments. Returns a status character and the text
-- of an error.
local function put(key, value, ends, recovery, first_t, first_debt)
    -- In place where the key surely outlives the debt, and by no more than a second, so that
    -- after any later call, too, it ends at most a second after its recovery.
    local keep = value and #value == value_size and not supplied
        and ends >= now + recovery and ends + MARGIN <= now + recovery + SECOND
    local ttl = 0
    if not keep then
        ttl = floor(recovery / 1000) + 1000
        if ttl < least_ttl then ttl = least_ttl end
        ends = supplied and 0 or now + ttl * 1000 - MARGIN
    end
    local bytes
    if n == 1 then
        bytes = pack(value_format, ends, tag[1], first_t, first_debt, num[1], capacity[1])
    else
        fields[1] = ends
        for i = 1, n do
            local o = 5 * i - 3
            fields[o], fields[o + 1], fields[o + 2] = tag[i], t[i], debt[i]
            fields[o + 3], fields[o + 4] = num[i], capacity[i]
        end
        bytes = pack(value_format, unpack(fields))
    end
    local reply
    if keep then
        reply = guarded('SETRANGE', key, '0', bytes)
    elseif value then
        reply = guarded('SET', key, bytes, 'PX', ttl)
    else -- MGET does not see values of other types; they must not be overwritten
        reply = guarded('SET', key, bytes, 'PX', ttl, 'NX')
        if reply == false then return 'c' end
    end
    if type(reply) == 'table' and reply.err then return 'e', reply.err end
    return '.'
end

-- Writes the state of the key at hand.
local function save(key, value)
    local recovery = 0
    for i = 1, n do
        local r = debt[i]
        if den[i] ~= 1 then r = ceil(r / den[i]) end
        if unit[i] ~= 1 then r = r * unit[i] end
        if r > recovery then recovery = r end
    end
    if recovery > 0 then return put(key, value, expires, recovery, t[1], debt[1]) end
    -- Nothing is owed: the same as no key.
    if not exists then return redis.call('EXISTS', key) == 1 and 'c' or '.' end
    local reply = guarded('DEL', key)
    if type(reply) == 'table' and reply.err then return 'e', reply.err end
    return '.'
end

local count = #KEYS
local values = redis.call('MGET', unpack(KEYS))
local statuses -- made when the first thing goes wrong

local function note(k, status, text)
    if status == '.' then return end
    if not statuses then
        statuses = {}
        for i = 1, count do statuses[i] = '.' end
    end
    statuses[k] = status
    if text then values[k] = text end
end

local function finish(k)
    if changed then
        note(k, save(KEYS[k], values[k]))
    elseif not exists and redis.call('EXISTS', KEYS[k]) == 1 then
        note(k, 'c')
    end
end

-- What most batches are: one rule, in microseconds, an allow of cost 1 for each key, and regular
-- values. The steps are those above, without the way through tables; what is irregular takes it.
local function allow_each()
    local tag1, num1, den1, full1 = tag[1], num[1], den[1], full[1]
    local capacity1, most1 = capacity[1], most[1]
    for k = 1, count do
        local value = values[k]
        local regular, d, ends = not value, 0, 0
        if value and #value == value_size then
            local found, old_t, old_debt, old_num, old_capacity
            ends, found, old_t, old_debt, old_num, old_capacity =
                unpack_bytes(value_format, value)
            if found == tag1 and old_num == num1 and old_capacity == capacity1
                and old_t >= 0 and old_t <= now and old_t % 1 == 0
                and old_debt >= 0 and old_debt <= most1 and old_debt % 1 == 0 then
                regular = true
                d = old_debt - (now - old_t) * den1
                if d < 0 then d = 0 end
            end
        end
        if not regular then
            load(value)
            apply(ALLOW, 1, 1)
            finish(k)
        elseif d + num1 <= full1 then
            granted = granted + 1
            d = d + num1
            note(k, put(KEYS[k], value, ends, den1 == 1 and d or ceil(d / den1), now, d))
        end
    end
end

local calls = ARGV[5]
if calls == '' and n == 1 and unit[1] == 1 and not shadow[1] then
    allow_each()
elseif calls == '' then
    for k = 1, count do
        load(values[k])
        apply(ALLOW, 1, 1)
        finish(k)
    end
else
    local current
    for position = 1, #calls, 19 do
        local k, verb, cost, at_least = unpack_bytes('<I2Bdd', calls, position)
        k = k + 1
        if k ~= current then
            if current then finish(current) end
            load(values[k])
            current = k
        end
        apply(verb, cost, at_least)
    end
    finish(current)
end

values[count + 1] = ARGV[2] .. ' ' .. stamp .. ' ' .. granted .. ' '
    .. (statuses and table.concat(statuses) or '-')
return values
