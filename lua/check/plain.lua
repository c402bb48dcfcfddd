-- The same for a continuous bucket in microseconds that is not packed.

-- Where a promise is below this and twice what the state matters for, the end need not be set
-- anew. By a supplied clock nothing is promised.
local edge = supplied and -MOST or now + SECOND - 1000

-- The first parts of the slots: what buckets and windows never change. A value as it is read and
-- written with them; where the rest of it begins.
local fixed, whole = '', '<dc' .. FIXED * n .. string.rep('dd', n)
for i = 1, n do fixed = fixed .. pack('<I4dd', tag[i], num[i], capacity[i]) end
local moving_at = text_of('%d', HEAD + FIXED * n)

-- A value with a new end; its slots' t and debt follow.
local write_whole
do
    local lived, option, at, new_end -- many keys of a batch end together
    write_whole = function(k, value, lives, fixed, ...)
        if packed then
            written[k] = may_be_brief and pack('<dd', ...) or pack(whole, 0, fixed, ...)
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

if is_plain_bucket and not packed then
    local num1, den1, full1, most1 = num[1], den[1], full[1], most[1]
    for k = 1, keys do
        local value, debt, ends = values[k], 0, 0
        if value then
            ends = nil
            if #value == value_size then
                local until_then, found, t, old = unpack_bytes(whole, value)
                if found == fixed and t >= 0 and t <= now and old >= 0 and old <= most1
                    and t % 1 + old % 1 == 0 then
                    ends, debt = until_then, old - (now - t) * den1
                    if debt < 0 then debt = 0 end
                end
            end
        end
        local after = debt + num1
        if not ends then
            left = left or {}
            left[#left + 1] = k
        elseif after <= full1 then
            local times = 1
            if asked and asked[k] > 1 then
                times = asked[k]
                after = debt + times * num1
                if after > full1 then
                    times = floor((full1 - debt) / num1)
                    after = debt + times * num1
                end
            end
            granted = granted + times
            local recovers = den1 == 1 and after or ceil(after / den1)
            if ends >= now + recovers and ends < edge + 2 * recovers then
                -- The key surely outlives the debt: t and debt change in their place.
                local done = guarded('SETRANGE', KEYS[k], moving_at, pack('<dd', now, after))
                if done ~= value_size then note(k, 'e', done.err) end
            else
                write_whole(k, value, SPARE * recovers, fixed, now, after)
            end
        end
    end
    if not left then return reply() end
end
