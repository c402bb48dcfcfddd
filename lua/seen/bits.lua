-- The filter, its bitmaps, and the loop over the ids.

local words, age, block_size = unpack_bytes('<Bdd', ARGV[1])
local line_format, line_size = '<' .. string.rep('i4', words), 4 * words
local no_line = string.rep('\0', line_size)
local generation = floor(now / age)

local blocks = #KEYS / 2
local values, facts, new = {}, {}, 0
local statuses -- created with the first error
for k = 1, blocks do values[k] = false end

local function fail(k, text)
    if not statuses then
        statuses = {}
        for i = 1, blocks do statuses[i] = '.' end
    end
    statuses[k], values[k] = 'e', text
end

local function key_of(k, number) return KEYS[number % 2 * blocks + k] end

-- Runs a command and returns its error, if it has one.
local function try(...)
    local done = guarded(...)
    return type(done) == 'table' and done.err or nil
end

-- Sets the TTL of a bitmap, which is needed until the end of the next generation. Returns an error.
local function keep(key, number)
    local option, at = lifetime((number + 2) * age - now)
    return try(option == 'PX' and 'PEXPIRE' or 'PEXPIREAT', key, at)
end

-- The generations of the bitmaps whose TTL must be set. This happens at the end: if the server was
-- halted for long after TIME, a TTL may have passed when it is set, which deletes the bitmap at
-- once, and a later id would find nothing.
local kept = {}

-- Returns whether the bitmap of generation `number` must be read, or an error, and whether it is of
-- a later generation: then it was written before the clock was set back.
local function open(key, number)
    local head = guarded('GETRANGE', key, 0, HEAD - 1)
    if type(head) == 'table' then return false, head.err end
    if #head < HEAD then return false end
    local own = unpack_bytes('<d', head) - 1
    -- Also false for numbers that are not a valid generation.
    if not (own >= generation - 1 and own % 2 == number % 2) then return false end
    return true, nil, own > number
end

-- Makes a bitmap that of generation `number`. Returns an error.
local function set_generation(key, number)
    local failed = try('SETRANGE', key, 0, pack('<d', number + 1))
    if not failed then kept[key] = number end
    return failed
end

-- Makes the bitmap of the current generation, in its full size at once: growing it bit by bit would
-- copy it repeatedly and leave it twice as large. Returns an error. A server over its `maxmemory`
-- refuses growth only until a script has written something, so this is tested before the DEL, with
-- a SETRANGE that changes nothing; and so is whether the user may set a TTL, on whatever is there.
local function create(key)
    return try('SETRANGE', key, 0, '') or keep(key, generation) or try('DEL', key)
        or try('SETRANGE', key, block_size - 1, '\0') or set_generation(key, generation)
end

-- The current block.
local current, other   -- its keys
local has_current, has_other
local late_current, late_other
local from             -- its first id

-- The next generation uses the bitmap of the previous one, and may exist if the clock was set back.
local function begin_block(k)
    current, other = key_of(k, generation), key_of(k, generation + 1)
    local failed, failed_too
    has_current, failed, late_current = open(current, generation)
    has_other, failed_too, late_other = open(other, generation + 1)
    from = #facts
    if failed or failed_too then fail(k, failed or failed_too) end
end

local function fail_block(k, text)
    fail(k, text)
    for i = #facts, from + 1, -1 do facts[i] = nil end
end

local function read_line(key, first, last)
    local line = guarded('GETRANGE', key, first, last) -- `open` has read its head: a string
    if #line < line_size then line = line .. string.sub(no_line, #line + 1) end
    return {unpack_bytes(line_format, line)}
end

local function has_all(line, mask)
    for j = 1, words do
        if band(line[j], mask[j]) == 0 then return false end
    end
    return true
end

-- Moves bitmaps of later generations to the present. Returns an error.
local function end_lateness()
    local function move(key, number)
        return try('SETRANGE', key, 0, '') or keep(key, number) or set_generation(key, number)
    end
    local failed = late_current and move(current, generation)
        or late_other and move(other, generation + 1)
    late_current, late_other = false, false
    return failed or nil
end

-- The following functions return the fact about an id, and an error.

local function look_up(first, last, mask)
    local is_known = has_other and has_all(read_line(other, first, last), mask)
        or has_current and has_all(read_line(current, first, last), mask)
    return is_known and '1' or '0'
end

local function count_in(exists, key, first, last)
    local ones = exists and guarded('BITCOUNT', key, first, last) or 0
    if type(ones) == 'table' then return 0, ones.err end
    return ones
end

local function count(first, last)
    local ones, failed = count_in(has_current, current, first, last)
    local old_ones, failed_too = count_in(has_other, other, first, last)
    return pack('<dd', ones, old_ones), failed or failed_too
end

-- Looks an id up, and records it if it is new.
local function record(first, last, mask)
    local failed = (late_current or late_other) and end_lateness()
    if failed then return nil, failed end
    if has_other and has_all(read_line(other, first, last), mask) then return '1' end
    if not has_current then
        failed = create(current)
        if failed then return nil, failed end
        has_current = true
    end
    local line = read_line(current, first, last)
    if has_all(line, mask) then return '1' end
    for j = 1, words do line[j] = bor(line[j], mask[j]) end
    return '0', try('SETRANGE', current, first, pack(line_format, unpack(line, 1, words)))
end

local ids, at, block = ARGV[5], 1, nil
while at <= #ids do
    local k, first, last
    k, first, last, at = unpack_bytes('<I2Bc0Bc0', ids, at)
    local find = record
    if k >= COUNT then
        k, find = k - COUNT, count
    elseif k >= ASK then
        k, find = k - ASK, look_up
    end
    k = k + 1
    local mask = {unpack_bytes(line_format, ids, at)}
    at = at + line_size
    if k ~= block then
        block = k
        begin_block(k)
    end
    if not statuses or statuses[k] == '.' then
        local fact, failed = find(first, last, mask)
        if failed then
            fail_block(k, failed)
        else
            facts[#facts + 1] = fact
            if fact == '0' then new = new + 1 end
        end
    end
end

for key, number in pairs(kept) do
    local failed = keep(key, number)
    if failed then return {err = failed} end
end
if #facts > 0 then values[blocks + 1] = table.concat(facts) end
values[#values + 1] = ARGV[2] .. ' ' .. stamp .. ' ' .. new .. ' '
    .. (statuses and table.concat(statuses) or '-')
return values
