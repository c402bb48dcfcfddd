-- Packed states: a row of hashes has a field for each of its keys, with the value that a key of its
-- own would have. Who writes first after a generation begins a new hash, and the one before
-- becomes the old one: what is in neither of them has recovered. So no key needs an end of its own,
-- nor a promise in its value. The field without a name has since when the hash is the new one and
-- until when it surely lives (f64 each), and is long: a hash of up to 512 short fields would be a
-- list to the server, which it searches from its beginning.
local FIELDS = 6   -- arguments before the first field
local HEAD_FORMAT, HEAD_SIZE, FILLER = '<ddc64', 80, string.rep('\0', 64)
local rows = {}    -- first and last key, the two hashes, the new one's field without a name
local written = {} -- by key: the bytes, or false where there is no state any more

local function fail_row(row, done)
    for k = row.first, row.last do note(k, 'e', done.err) end
end

-- Most keys are in the new hash.
local function read_row(row)
    local from = FIELDS + row.first
    local found = guarded('HMGET', row.new, '', unpack(ARGV, from, FIELDS + row.last))
    if found.err then return found end
    row.head = found[1]
    local fields, places
    local before, values = row.first - 2, values
    for i = 2, #found do
        local value = found[i]
        values[before + i] = value
        if not value then
            if not places then fields, places = {}, {} end
            fields[#fields + 1], places[#places + 1] = ARGV[FIELDS + before + i], before + i
        end
    end
    if not places then return end
    found = guarded('HMGET', row.old, unpack(fields))
    if found.err then return found end
    for i, k in ipairs(places) do values[k] = found[i] end
end

local function read_rows()
    local failed, from = {}, 1
    for place = 1, #ARGV[6], 2 do
        local size = unpack_bytes('<I2', ARGV[6], place)
        local row = {first = from, last = from + size - 1, new = KEYS[place], old = KEYS[place + 1]}
        local error = read_row(row)
        if error then
            for k = row.first, row.last do values[k] = false end
            failed[#failed + 1], failed[#failed + 2] = row, error
        end
        rows[#rows + 1], from = row, from + size
    end
    for i = 1, #failed, 2 do fail_row(failed[i], failed[i + 1]) end
end

-- Sees to it that there is a new hash of this generation, and that it lives as long as it is to:
-- what must be written for that goes to `bytes`. Answers an error, or how its end is to be set.
local function open_row(row, bytes)
    local since, ends = -1
    if row.head and #row.head == HEAD_SIZE then since, ends = unpack_bytes('<dd', row.head) end
    if not (since >= 0 and since <= now) then -- there is none, or the clock was set back
        since = now
    elseif now - since >= generation then
        local done = guarded('HLEN', row.old) -- something else is not ours to delete
        if type(done) == 'number' then done = guarded('UNLINK', row.old) end
        if type(done) == 'number' then done = guarded('RENAME', row.new, row.old) end
        if done.err then return done end
        since = now
    elseif ends >= now + generation then
        return nil
    end
    local option, at
    option, at, ends = lifetime(2 * generation)
    bytes[1], bytes[2] = '', pack(HEAD_FORMAT, since, ends, FILLER)
    return nil, option == 'PX' and 'PEXPIRE' or 'PEXPIREAT', at
end

local function note_written(row, done)
    for k = row.first, row.last do
        if written[k] then note(k, 'e', done.err) end
    end
end

-- The fields and values of one row after another: a table that grows anew for each costs more.
local pairs_written = {}

local function write_states(row)
    local bytes = pairs_written
    bytes[1] = nil
    local failed, option, at = open_row(row, bytes)
    if failed then return note_written(row, failed) end
    local last = bytes[1] and 2 or 0
    local ARGV, written = ARGV, written
    for k = row.first, row.last do
        local value = written[k]
        if value then
            bytes[last + 1], bytes[last + 2] = ARGV[FIELDS + k], value
            last = last + 2
        end
    end
    local done = guarded('HSET', row.new, unpack(bytes, 1, last))
    if type(done) == 'table' then return note_written(row, done) end
    if option then redis.call(option, row.new, at) end
end

local function erase_state(row, k)
    for _, hash in ipairs({row.old, row.new}) do
        local done = guarded('HDEL', hash, ARGV[FIELDS + k])
        if type(done) == 'table' then return note(k, 'e', done.err) end
    end
end

write_rows = function()
    local written = written
    for _, row in ipairs(rows) do
        local any = false
        for k = row.first, row.last do
            local value = written[k]
            if value then
                any = true
            elseif value == false then
                erase_state(row, k)
            end
        end
        if any then write_states(row) end
    end
end

if packed then read_rows() end
