-- States of one rule, each the value of a key with its own TTL.

--@block applies
is_one and not left
--@block each_key
local lived, option, at, new_end -- many keys of a batch expire together
local last, collected, collected_times = 0, collects and {}, 0 -- KEYS, each before its new value
for k = 1, keys do
    local value = values[k]
--@block key
k
--@block size
HEAD + SLOT
--@block read
local promised, found, t, old = unpack_bytes(whole, value)
--@block promised
promised
--@block own
found == fixed and
--@block write
@lifetime@
@write_state@
--@block write_state
local done
if expires >= now + matters and expires < edge + 2 * matters then
    -- The key outlives the state.
    @keep_end@
else
    local lives = @ttl@
    if lives ~= lived then
        lived, option, at, new_end = lives, lifetime(lives)
    end
    local bytes = pack(whole, new_end, @fixed@, @moving@)
    if not value then -- MGET returns nil for values of other types; they must not be overwritten
        done = guarded('SET', KEYS[k], bytes, option, at, 'NX')
        done = done and done.ok
    elseif supplied or collects then
        done = guarded('SET', KEYS[k], bytes, option, at).ok
    elseif guarded('SETRANGE', KEYS[k], '0', bytes) == @size@ then
        -- In place, too: SET would create a string that the next write in place would copy.
        done = guarded('PEXPIREAT', KEYS[k], at) == 1
        -- Of a user who may not set it: an error charges nothing.
        if not done then guarded('SETRANGE', KEYS[k], '0', value) end
    end
end
if not done then
    left = left or {}
    left[#left + 1], granted = k, granted - times
end
--@block keep_end
if collects then
    last, collected_times, done = last + 2, collected_times + times, true
    collected[last - 1], collected[last] = KEYS[k], pack(whole, expires, @fixed@, @moving@)
else
    @change_bytes@
end
--@block change_bytes
done = guarded('SETRANGE', KEYS[k], @in_place@) == @size@
--@block in_place
moving_at, pack('<dd', @moving@)
--@block ttl
matters
--@block fixed
fixed
--@block end_keys
end
@write_collected@
--@block write_collected
if last > 0 then
    collected[last + 1] = 'KEEPTTL'
    if guarded('MSETEX', text_of('%d', last / 2), unpack(collected)) ~= 1 then
        left, granted = left or {}, granted - collected_times
        local place = 1
        for k = 1, keys do
            if KEYS[k] == collected[place] then
                left[#left + 1], place = k, place + 2
            end
        end
    end
end
--@block reply
values[keys + 1] = ARGV[2] .. ' ' .. stamp .. ' ' .. granted .. ' -'
return values
