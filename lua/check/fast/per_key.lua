-- States that are stored one per key, each with its TTL; those of several rules and of counters
-- also if they are packed.

--@block applies
not left
--@block each_key
local last = 0
for k = 1, keys do
    local value = values[k]
--@block key
k
--@block size
value_size
--@block read
local promised, found, t, old = unpack_bytes(whole, value)
--@block promised
promised
--@block own
found == fixed and
--@block write
@lifetime@
if expires >= now + matters and expires < edge + 2 * matters then
    -- The key outlives the state.
    @keep_end@
else
    write_whole(k, value, @ttl@, @fixed@, @moving@)
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
if done ~= value_size then note(k, 'e', done.err) end
--@block in_place
moving_at, pack('<dd', @moving@)
--@block ttl
matters
--@block fixed
fixed
--@block end_keys
end
if last > 0 then write_collected(last) end
