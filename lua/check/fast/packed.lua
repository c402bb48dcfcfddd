-- Packed states, shard by shard, with brief values. A shard with other numbers than the policy's is
-- left to the general path.

--@block applies
packed
--@block each_key
local all, bytes, numbers, write_states =
    shards.all, shards.bytes, shards.numbers, shards.write_states
for r = 1, #all do
    local shard, found, last = all[r], all[r].found, 2
    local before, fields, size = shard.first - 2, FIELDS + shard.first - 2, #found
    if shard.numbers ~= numbers then
        left = left or {}
        for i = 2, size do left[#left + 1] = before + i end
        size = 0
    end
    for i = 2, size do
        local value = found[i]
--@block key
before + i
--@block size
BRIEF
--@block read
local t, old = unpack_bytes('<dd', value)
--@block promised
0
--@block own
--@block write
bytes[last + 1], bytes[last + 2] = ARGV[fields + i], pack('<dd', @moving@)
last = last + 2
--@block end_keys
    end
    if last > 2 then write_states(shard, last) end
end
--@block reply
return reply()
