-- Calls with ids. A call's record is read right before the call, and written before its state: so a
-- record that cannot be written charges nothing, and if the state cannot be written, the record is
-- deleted. All keys are those of one policy, from KEYS[1] on.
local RECORD_HEAD = 43
local LONGEST_RECORD = RECORD_HEAD + 32 * 8 + LONGEST
local MARK = 114 -- 'r'
local written = {} -- per key, the record that this batch has written

-- If the policy is packed, states are written at the end: per field, what the calls so far have
-- left, and the last key that writes it.
local left_by, writer_of = {}, {}

local function name_of(k) return KEYS[#KEYS - keys + k] end

local function write_record(k, bytes, option)
    return guarded('SET', name_of(k), bytes, 'PX', requests.ttl, option)
end

-- Reads the record and the value of a call's key.
function requests.read(k)
    local found
    if packed then
        found = guarded('MGET', name_of(k))
    else
        found = guarded('MGET', name_of(k), KEYS[k])
    end
    if found.err then return note(k, 'e', found.err) end
    local record = found[1]
    if record then
        local is_record = #record >= RECORD_HEAD and #record <= LONGEST_RECORD
            and record:byte() == MARK
        values[k] = is_record and record
        return note(k, is_record and 'r' or 'c')
    end
    if not packed then
        values[k] = found[2]
    elseif left_by[ARGV[FIELDS + k]] ~= nil then
        values[k] = left_by[ARGV[FIELDS + k]]
    end
end

function requests.write(k, verb, cost, at_least, digests)
    local value = values[k]
    local bytes = pack('<BBBddc16d', MARK, verb, value and 1 or 0, cost, at_least, digests, now)
        .. (value or '')
    local done = write_record(k, bytes, 'NX')
    if not done or done.err and states.is_foreign(k) then -- the record or the key
        note(k, 'c')
    elseif done.err then
        note(k, 'e', done.err)
    else
        written[k] = bytes
    end
end

-- Adds what logs and sketches have reported for the call. A server that has accepted the record
-- does not refuse that; and the state is written already, so the record must stay.
function requests.add_facts(k, facts) write_record(k, written[k] .. facts, 'XX') end

function requests.undo(k)
    if written[k] then
        -- If it stayed, the call would be known, and have no effect when it is repeated. So the
        -- record of a user who may not delete it gets a TTL that has passed.
        local done = guarded('DEL', name_of(k))
        if type(done) == 'table' then guarded('SET', name_of(k), '', 'PXAT', '1') end
        written[k] = nil
    end
end

-- Ends a call.
function requests.finish(k, is_well)
    if not is_well then return requests.undo(k) end
    if not packed or shards.written[k] == nil then return end
    local field = ARGV[FIELDS + k]
    local before = writer_of[field]
    if before then shards.written[before] = nil end
    writer_of[field], left_by[field] = k, shards.written[k]
end
