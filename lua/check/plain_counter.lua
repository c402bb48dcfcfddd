-- The same for a sliding window counter: of all keys the window ends at the same time.
if has_one_slot and kind[1] == COUNTER then
    local tag1, full1, most1, period1 = tag[1], full[1], most[1], period[1]
    local length = period1 * unit[1]
    local ends = (floor(now / length) + 1) * length
    local matters = ends + length - now
    -- What the window before still takes of the limit for each of its charges.
    local weight = ends / unit[1] - floor(now / unit[1])
    for k = 1, keys do
        local value, used, previous, promised = values[k], 0, 0, 0
        if value then
            promised = nil
            if #value == value_size then
                local until_then, found, old_num, before, t, old =
                    unpack_bytes('<dI4dddd', value)
                if found == tag1 and old_num == length and t >= 0 and t <= ends
                    and old >= 0 and old <= most1 and before >= 0 and before <= most1
                    and t % 1 + old % 1 + before % 1 == 0 then
                    promised = until_then
                    if now < t then
                        used, previous = old, before + 0 -- no -0 is kept
                    elseif now - t < length then
                        previous = old + 0
                    end
                end
            end
        end
        if not promised then
            left = left or {}
            left[#left + 1] = k
        else
            local fits = floor(((full1 - used) * period1 - previous * weight) / period1)
            if fits > 0 then
                local times = asked and min(asked[k], fits) or 1
                granted = granted + times
                if promised >= now + matters and promised < edge + 2 * matters then
                    local done = guarded('SETRANGE', KEYS[k], '20',
                        pack('<ddd', previous, ends, used + times))
                    if done ~= value_size then note(k, 'e', done.err) end
                else
                    write_whole(k, value, matters, pack('<I4dd', tag1, length, previous), ends,
                        used + times)
                end
            end
        end
    end
    if not left then return reply() end
end
