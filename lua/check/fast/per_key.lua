-- States of one rule, each the value of a key with its own TTL.

--@block applies
is_one and not left
--@block each_key
local lived, option, at, new_end -- many keys of a batch expire together
local last, collected = 0, collects and {} -- KEYS, each before its new value
for k = 1, keys do
    local value = values[k]
--@block key
k
--@block size
HEAD + STATE
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
local failed -- an error, or something else if the general path finds out what it is
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
        local done = guarded('SET', KEYS[k], bytes, option, at, 'NX')
        failed = not done or done.err
    elseif supplied or collects then
        local done = guarded('SET', KEYS[k], bytes, option, at)
        failed = done.err and done
    else
        -- In place, too: SET would create a string that the next write in place would copy.
        local done = guarded('SETRANGE', KEYS[k], '0', bytes)
        if done == @size@ then
            done = guarded('PEXPIREAT', KEYS[k], at)
            -- Of a user who may not set it: an error charges nothing.
            if done ~= 1 then guarded('SETRANGE', KEYS[k], '0', value) end
        end
        failed = done ~= 1 and done
    end
end
if failed then
    left = left or {}
    if type(failed) == 'table' then
        left.errors = left.errors or {}
        left.errors[k] = failed.err
    else
        left[#left + 1], granted = k, granted - times
    end
end
--@block keep_end
if collects then
    last = last + 2
    collected[last - 1], collected[last] = KEYS[k], pack(whole, expires, @fixed@, @moving@)
else
    @change_bytes@
end
--@block change_bytes
local done = guarded('SETRANGE', KEYS[k], @in_place@)
failed = done ~= @size@ and done
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
    local done = guarded('MSETEX', text_of('%d', last / 2), unpack(collected))
    if done ~= 1 then
        left = left or {}
        left.errors = left.errors or {}
        local place = 1
        for k = 1, keys do
            if KEYS[k] == collected[place] then
                left.errors[k], place = done.err, place + 2
            end
        end
    end
end
--@block reply
values[keys + 1] = ARGV[2] .. ' ' .. stamp .. ' ' .. granted .. ' -'
return values
