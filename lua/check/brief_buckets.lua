-- What most batches are: one slot, allows of cost 1 for each key, and regular values. The steps are
-- those of the general way, which follows, without its functions and tables; keys with irregular
-- values are left to it. Here a continuous bucket in microseconds that is packed, row by row, as
-- that is where the brief values are most; in the next parts what is not packed, and other kinds.
local has_one_slot = (asked or ARGV[5] == '') and n == 1 and not shadow[1]
local is_plain_bucket = has_one_slot and kind[1] == BUCKET and unit[1] == 1 and initial[1] < 0

if packed and is_plain_bucket then
    local num1, den1, full1, most1 = num[1], den[1], full[1], most[1]
    left = {}
    for r = 1, #rows do
        local row, found, last = rows[r], rows[r].found, 2
        local before, fields, size = row.first - 2, FIELDS + row.first - 2, #found
        if row.numbers ~= numbers then -- nor are its values brief
            for i = 2, size do left[#left + 1] = before + i end
            size = 0
        end
        for i = 2, size do
            local value, debt = found[i], 0
            if value then
                debt = nil
                if #value == BRIEF then
                    local t, old = unpack_bytes('<dd', value)
                    if t >= 0 and t <= now and old >= 0 and old <= most1
                        and t % 1 + old % 1 == 0 then
                        debt = old - (now - t) * den1
                        if debt < 0 then debt = 0 end
                    end
                end
            end
            if not debt then
                left[#left + 1] = before + i
            elseif debt + num1 <= full1 then
                local times = 1
                if asked then times = min(asked[before + i], floor((full1 - debt) / num1)) end
                granted = granted + times
                bytes[last + 1], bytes[last + 2] =
                    ARGV[fields + i], pack('<dd', now, debt + times * num1)
                last = last + 2
            end
        end
        if last > 2 then write_states(row, last) end
    end
    if #left == 0 then return reply() end
end
if packed then unroll_rows() end
