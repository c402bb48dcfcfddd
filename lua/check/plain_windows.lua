-- The same for a fixed window, aligned or from the first charge.
if has_one_slot and (kind[1] == WINDOW or kind[1] == FROM_FIRST) then
    local full1, most1, aligned = full[1], most[1], kind[1] == WINDOW
    local fixed = pack('<I4dd', tag[1], num[1], 1)
    local latest = now + period[1] -- a window that begins now ends then
    if aligned then latest = (floor(now / period[1]) + 1) * period[1] end
    local format, size = whole, value_size
    if packed then format, size = '<dd', BRIEF end
    for k = 1, keys do
        local value, used, ends, promised = values[k], 0, latest, 0
        if value then
            promised = nil
            if #value == size then
                local until_then, found, t, old = unpack_bytes(format, value)
                if packed then until_then, found, t, old = 0, fixed, until_then, found end
                if found == fixed and t >= 0 and t <= latest and old >= 0 and old <= most1
                    and t % 1 + old % 1 == 0 then
                    if t <= now or old == 0 then
                        promised = until_then
                    elseif t == latest or not aligned then
                        promised, used, ends = until_then, old, t
                    end
                end
            end
        end
        if not promised then
            left = left or {}
            left[#left + 1] = k
        elseif used < full1 then
            local times = asked and min(asked[k], full1 - used) or 1
            granted = granted + times
            if promised >= ends and promised < edge + 2 * (ends - now) then
                local bytes = pack('<dd', ends, used + times)
                local done = guarded('SETRANGE', KEYS[k], moving_at, bytes)
                if done ~= value_size then note(k, 'e', done.err) end
            else
                write_whole(k, value, ends - now, fixed, ends, used + times)
            end
        end
    end
    if not left then return reply() end
end
