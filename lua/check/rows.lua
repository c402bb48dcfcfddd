-- Packed states: a row of hashes has a field for each of its keys. The first write after a
-- generation begins a new hash, and the one before becomes the old one: what is in neither of them
-- has recovered. So no key needs an end of its own, nor a promise in its value. Versions of a
-- policy may have different generations: a hash remembers the longest that was written under it,
-- and stays for as long, and so does the old one.
--
-- The head of a hash is its field without a name: since when it is the new one, until when it
-- surely lives (f64 each), the numbers (tag:u32, num and capacity, f64) that the brief values of
-- its fields have, which are t and debt alone, and the longest generation of its states and of
-- those in the old hash when it began (f64 each). Values of other numbers, of several rules or of
-- counters are whole. A head is long: a hash of up to 512 short fields would be a list to the
-- server, which it searches from its beginning.
local FIELDS = 6 -- arguments before the first field
local HEAD_FORMAT, HEAD_SIZE, FILLER = '<ddc' .. FIXED .. 'dd', 80, string.rep('\0', 28)
local rows = {}    -- first and last key, the two hashes, what was found, what the head says
-- By key: the bytes, or false where there is no state any more; whether it gives something back.
local written, gave_back = {}, {}
rows.matters = {} -- by key, for how long what is written matters

-- The plan's own numbers; none where values are never brief.
local numbers = string.rep('\0', FIXED)
local may_be_brief = packed and n == 1 and kind[1] ~= COUNTER
if may_be_brief then
    numbers = pack('<I4dd', tag[1], num[1], marked[1])
end

local read_rows
if packed then
    local function fail_row(row, done)
        for k = row.first, row.last do note(k, 'e', done.err) end
    end

    local function span_of(us) return us >= 0 and us <= CENTURY and us % 1 == 0 and us or 0 end

    -- A hash that has lost its head has the plan's numbers, and begins anew.
    rows.read_head = function(head)
        if not head or #head ~= HEAD_SIZE then return -1, 0, numbers, 0, 0 end
        local since, ends, others, longest, before = unpack_bytes(HEAD_FORMAT, head)
        return since, ends, others, span_of(longest), span_of(before)
    end

    -- Brief values of other numbers are made whole.
    local function make_whole(found, others)
        for i = 2, #found do
            local value = found[i]
            if value and #value == BRIEF then found[i] = pack('<d', 0) .. others .. value end
        end
    end

    -- Answers what was found, where places[1] is for the head: most keys are in the new hash.
    local function read_row(row)
        local from = FIELDS + row.first
        local found = guarded('HMGET', row.new, '', unpack(ARGV, from, FIELDS + row.last))
        if found.err then return found end
        local since, ends, others, longest, before = rows.read_head(found[1])
        row.numbers, row.since, row.longest, row.before = others, since, longest, before
        local lasts = max(generation, longest, before)
        row.is_open = since >= 0 and since <= now and now - since < lasts
            and longest >= generation and ends >= now + lasts
        if others ~= numbers then make_whole(found, others) end
        found[1] = false
        local fields, places
        for i = 2, row.last - row.first + 2 do
            if not found[i] then
                if not places then fields, places = {''}, {1} end
                fields[#fields + 1], places[#places + 1] = ARGV[from + i - 2], i
            end
        end
        if not places then return found end
        local older = guarded('HMGET', row.old, unpack(fields))
        if older.err then return older end
        since, ends, others = rows.read_head(older[1])
        if others ~= numbers then make_whole(older, others) end
        for i = 2, #places do found[places[i]] = older[i] end
        return found
    end

    read_rows = function()
        local from = 1
        for place = 1, #ARGV[6], 2 do
            local size = unpack_bytes('<I2', ARGV[6], place)
            -- With all that it will have, as a table that grows costs more.
            local row = {first = from, last = from + size - 1, new = KEYS[place],
                old = KEYS[place + 1], found = false, numbers = false, since = -1,
                longest = 0, before = 0, is_open = false}
            row.found = read_row(row)
            if row.found.err then
                fail_row(row, row.found)
                row.found, row.numbers = {false}, false
                for i = 1, size do row.found[i + 1] = false end
            end
            rows[#rows + 1], from = row, from + size
        end
    end
end

-- The values in one row, for the general way.
local function unroll_rows()
    for _, row in ipairs(rows) do
        for k = row.first, row.last do
            if not (statuses and statuses[k] == 'e') then
                values[k] = row.found[k - row.first + 2]
            end
        end
    end
end

-- Fields and values of one row after another, from bytes[3] on: a table that grows anew for each
-- costs more.
local bytes = {}

local write_states
if packed then
    -- Drops the old hash and makes the new one old. Returns an error, or the generation of the old
    -- hash if it must stay yet.
    local function turn_row(row)
        if find_oom() then return {err = oom} end
        local done = guarded('HMGET', row.old, '') -- something else is not ours to delete
        if done.err then return done end
        local _, _, _, longest = rows.read_head(done[1])
        if now - row.since < longest then return nil, longest end
        done = guarded('UNLINK', row.old)
        if type(done) == 'number' then done = guarded('RENAME', row.new, row.old) end
        if done.err then return done end
        row.since, row.numbers, row.before, row.longest = now, numbers, row.longest, 0
    end

    -- Sees to it that there is a new hash of this generation, and that it lives as long as it is
    -- to: what must be written for that goes to `bytes`. Returns an error, or how to set its end.
    local function open_row(row, matters)
        local since = row.since
        if not (since >= 0 and since <= now) then -- there is none, or the clock was set back
            row.since = now
        elseif now - since >= max(generation, row.longest, row.before) then
            local done, stays = turn_row(row)
            if done then return done end
            row.before = stays or row.before
        end
        row.longest = max(row.longest, matters)
        local option, at, ends = lifetime(2 * max(row.longest, row.before))
        bytes[1], bytes[2] = '', pack(HEAD_FORMAT, row.since, ends, row.numbers, row.longest,
            row.before) .. FILLER
        row.is_open = true
        return nil, option == 'PX' and 'PEXPIRE' or 'PEXPIREAT', at
    end

    -- What gives back to a limit on a full server, which accepts an HSET behind an HDEL.
    local function rewrite_state(row, k, value)
        find_oom()
        local done = guarded('HDEL', row.new, ARGV[FIELDS + k])
        if type(done) ~= 'table' then
            done = guarded('HSET', row.new, ARGV[FIELDS + k], value)
        end
        return type(done) == 'table' and done.err
    end

    write_states = function(row, last, matters)
        local first, done, option, at = 3
        matters = max(generation, matters or 0)
        if not row.is_open or matters > row.longest then
            first, done, option, at = 1, open_row(row, matters)
        end
        if not done then
            done = oom and {err = oom} or guarded('HSET', row.new, unpack(bytes, first, last))
            if type(done) ~= 'table' then
                if option then done = guarded(option, row.new, at) end
                if type(done) ~= 'table' then return end
            end
        end
        local values_of = {}
        for i = 3, last, 2 do values_of[bytes[i]] = bytes[i + 1] end
        for k = row.first, row.last do
            local value, failed = values_of[ARGV[FIELDS + k]], done.err
            if value and first == 3 and gave_back[k] and is_oom(failed) then
                failed = rewrite_state(row, k, value)
            end
            if value and failed then note(k, 'e', failed) end
        end
    end
end

if packed then
    local function erase_state(row, k)
        find_oom()
        for _, hash in ipairs({row.old, row.new}) do
            local done = guarded('HDEL', hash, ARGV[FIELDS + k])
            if type(done) == 'table' then return note(k, 'e', done.err) end
        end
    end

    -- Values come whole from the general way and brief from the others.
    local function write_row(row)
        local last, matters, is_ours = 2, 0, may_be_brief and row.numbers == numbers
        for k = row.first, row.last do
            local value = written[k]
            if value == false then
                erase_state(row, k)
            elseif value then
                if is_ours and #value == HEAD + SLOT
                    and string.sub(value, HEAD + 1, HEAD + FIXED) == numbers then
                    value = string.sub(value, HEAD + FIXED + 1)
                elseif not is_ours and #value == BRIEF then
                    value = pack('<d', 0) .. numbers .. value
                end
                bytes[last + 1], bytes[last + 2] = ARGV[FIELDS + k], value
                last, matters = last + 2, max(matters, rows.matters[k] or 0)
            end
        end
        if last > 2 then write_states(row, last, matters) end
    end

    write_rows = function()
        local found, any = {}, next(written)
        for r, row in ipairs(rows) do
            if any then write_row(row) end
            for k = row.first, statuses and row.last or 0 do
                if statuses[k] == 'e' then row.found[k - row.first + 2] = values[k] end
            end
            found[r] = row.found
        end
        return found
    end
end

if packed then read_rows() end
