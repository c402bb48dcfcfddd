-- What the loops over states that are stored one per key share: how such values are written.
if packed then shards.unroll() end

-- Where a promise is below this and twice what the state matters for, the end need not be set
-- anew. By a supplied clock nothing is promised.
local edge = supplied and -MOST or now + SECOND - 1000

-- The first parts of the slots: what buckets and windows never change. A value as it is read and
-- written with them; where the rest of it begins.
local fixed, whole = '', '<dc' .. FIXED * n .. string.rep('dd', n)
for i = 1, n do fixed = fixed .. pack('<I4dd', tag[i], num[i], marked[i]) end
local moving_at = text_of('%d', HEAD + FIXED * n)

-- A value with a new end; its slots' t and debt follow.
local write_whole
do
    local lived, option, at, new_end -- many keys of a batch end together
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
        if value and not supplied then
            -- In place, too: SET would make the whole value, and the next write split it.
            done = guarded('SETRANGE', KEYS[k], '0', bytes)
            if done == value_size then done = guarded('PEXPIREAT', KEYS[k], at) end
            if done == 1 then done = {} end
        elseif value then
            done = guarded('SET', KEYS[k], bytes, option, at)
        else -- MGET does not see values of other types; they must not be overwritten
            done = guarded('SET', KEYS[k], bytes, option, at, 'NX')
        end
        if not done then
            note(k, 'c')
        elseif done.err then
            note(k, 'e', done.err)
        end
    end
end
