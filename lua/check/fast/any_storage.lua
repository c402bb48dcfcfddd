-- States of several rules, and those of counters in shards.

--@block applies
not left
--@block each_key
local collects = false
local lived, option, at, new_end -- many keys of a batch expire together
for k = 1, keys do
    local value = values[k]
--@block write
@lifetime@
if packed then
    shards.written[k] = pack(whole, 0, @fixed@, @moving@)
else
    @write_state@
end
--@block keep_end
@change_bytes@
--@block write_collected
--@block reply
return reply()
