-- The keys. With one policy there are `keys` of them after KEYS[base], then as many logs, then as
-- many sketches for each limit that has one, then as many sets of holders, then as many records, if
-- the calls have ids; values are then read call by call. Their values are in `values` from
-- values[first] on.
local FIELDS = 6 -- arguments before the fields of packed keys
local all_or_nothing = ARGV[6] ~= nil and not packed
local base, first = 0, 1
if not values then
    keys, values = #KEYS / (per_key + (requests and 1 or 0)), {}
    if packed then
        keys = #ARGV - FIELDS
    elseif all_or_nothing then
        keys = unpack_bytes('<I2', ARGV[6])
    elseif not requests then
        values = call('MGET', unpack(KEYS, 1, keys))
    end
    repeats = read_repeats and not all_or_nothing and read_repeats()
    allows_one = repeats or not read_repeats
end
local all_keys = keys -- of all policies
local statuses -- created with the first error

local function note(k, status, text)
    if not statuses then
        statuses = {}
        for i = 1, all_keys do statuses[i] = '.' end
    end
    statuses[k] = status
    if text then values[k] = text end
end

-- Redis refuses commands that need memory only until a script has written something, so growth
-- after, for example, a DEL must be prevented here. Returns the error of a server over its
-- `maxmemory`, or false. Call it before the first write that Redis accepts even then: a SETRANGE of
-- no bytes, which changes nothing, is refused like growth. The first call also returns any error of
-- that.
local oom
local function is_oom(err) return err:find('OOM command', 1, true) ~= nil end
local function find_oom()
    if oom ~= nil then return oom end
    local done = guarded('SETRANGE', KEYS[1], '0', '')
    local err = type(done) == 'table' and done.err
    oom = err and is_oom(err) and err
    return oom, err
end

-- If the policy is packed, its shards; shards.write writes all states and returns the values found.
local shards

local function reply()
    local found = packed and shards.write() or values
    for k = 1, requests and statuses and keys or 0 do
        if statuses[k] ~= '.' then requests.undo(k) end -- deletes the record of a failed call
    end
    local header = ARGV[2] .. ' ' .. stamp .. ' ' .. granted .. ' '
        .. (statuses and table.concat(statuses) or '-')
    if log_counts then found[#found + 1] = table.concat(log_counts) end
    found[#found + 1] = header
    return found
end
