-- Shared by the loops over states that are stored one per key: how such values are written.
if packed then shards.unroll() end

-- If a promise is below this plus twice the state's lifetime, the TTL need not be set again. With a
-- supplied clock nothing is promised.
local edge = supplied and -MOST or now + SECOND - 1000

-- The first parts of the slots, which buckets and windows never change; the format of a value with
-- them; the position of the rest.
local fixed, whole = '', '<dc' .. FIXED * n .. string.rep('dd', n)
for i = 1, n do fixed = fixed .. pack('<I4dd', tag[i], num[i], marked[i]) end
local moving_at = text_of('%d', HEAD + FIXED * n)

-- Valkey 9.1 can replace several values and keep their TTLs in one command, which is faster than to
-- change a few bytes of each, unless values are long. A user may lack permission for it.
local collects = false
if allows_one and n == 1 and keys > 1 and not packed
    and (redis.VALKEY_VERSION_NUM or 0) >= 0x090100 then
    local known, allowed = pcall(redis.acl_check_cmd, 'MSETEX', '1', KEYS[1], '')
    collects = known and allowed
end

-- Writes a value with a new TTL; its slots' t and debt follow.
local write_whole
do
    local lived, option, at, new_end -- many keys of a batch expire together
    write_whole = function(k, value, lives, fixed, ...)
        if packed then
            shards.written[k] = pack(whole, 0, fixed, ...)
            return
        end
        if lives ~= lived then
            option, at, new_end = lifetime(lives)
            lived = lives
        end
        local bytes, done = pack(whole, new_end, fixed, ...)
        if value and not supplied and not collects then
            -- In place, too: SET would create a string that the next write in place would copy.
            done = guarded('SETRANGE', KEYS[k], '0', bytes)
            if done == value_size then
                done = guarded('PEXPIREAT', KEYS[k], at)
                -- Of a user who may not set it: an error charges nothing.
                if done ~= 1 then guarded('SETRANGE', KEYS[k], '0', value) end
            end
            if done == 1 then done = {} end
        elseif value then
            done = guarded('SET', KEYS[k], bytes, option, at)
        else -- MGET returns nil for values of other types; they must not be overwritten
            done = guarded('SET', KEYS[k], bytes, option, at, 'NX')
        end
        if not done or done.err and not value and guarded('EXISTS', KEYS[k]) == 1 then
            note(k, 'c')
        elseif done.err then
            note(k, 'e', done.err)
        end
    end
end

local collected = {} -- keys, in the order of KEYS, each followed by its new value

-- An error concerns all of them: their types are known, and the server has little memory.
local function write_collected(last)
    collected[last + 1] = 'KEEPTTL'
    local done = guarded('MSETEX', text_of('%d', last / 2), unpack(collected, 1, last + 1))
    if done == 1 then return end
    local place = 1
    for k = 1, keys do
        if KEYS[k] == collected[place] then
            note(k, 'e', done.err)
            place = place + 2
        end
    end
end
