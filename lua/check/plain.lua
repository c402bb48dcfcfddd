-- What most batches are: one continuous bucket in microseconds, allows of cost 1 for each key, and
-- regular values. The steps are those of the general way, which follows, without its functions
-- and tables; keys with irregular values are left to it.
local left
if (asked_times or ARGV[5] == '') and n == 1 and kind[1] == BUCKET and unit[1] == 1
    and initial[1] < 0 and not shadow[1] then
    local tag1, num1, den1, full1, capacity1, most1 =
        tag[1], num[1], den[1], full[1], capacity[1], most[1]
    local option, at, new_end
    local same -- many keys recover at the same time, and so end together
    for k = 1, keys do
        local value = values[k]
        local regular, debt, ends = not value, 0, 0
        if value and #value == 44 then
            local found, t, old, old_num, old_capacity
            ends, found, t, old, old_num, old_capacity = unpack_bytes('<dI4dddd', value)
            if found == tag1 and old_num == num1 and old_capacity == capacity1
                and t >= 0 and t <= now and t % 1 == 0
                and old >= 0 and old <= most1 and old % 1 == 0 then
                regular = true
                debt = old - (now - t) * den1
                if debt < 0 then debt = 0 end
            end
        end
        if not regular then
            left = left or {}
            left[#left + 1] = k
        elseif debt + num1 <= full1 then
            local times = asked_times and min(times_of(k), floor((full1 - debt) / num1)) or 1
            granted = granted + times
            debt = debt + times * num1
            local recovers = den1 == 1 and debt or ceil(debt / den1)
            if value and ends >= now + recovers and ends < now + 2 * recovers + SECOND - 1000 then
                -- The key surely outlives the debt: t and debt change in their place.
                local done = guarded('SETRANGE', KEYS[k], '12', pack('<dd', now, debt))
                if done ~= 44 then note(k, 'e', done.err) end
            else
                if recovers ~= same then
                    option, at, new_end = lifetime(SPARE * recovers)
                    same = recovers
                end
                local done
                if value and not supplied then
                    -- In place, too: SET would make the whole value, and the next write split it.
                    done = guarded('SETRANGE', KEYS[k], '0',
                        pack('<dI4dd', new_end, tag1, now, debt))
                    if done == 44 then done = guarded('PEXPIREAT', KEYS[k], at) end
                    if done == 1 then done = {} end
                else
                    local bytes = pack('<dI4dddd', new_end, tag1, now, debt, num1, capacity1)
                    if value then
                        done = guarded('SET', KEYS[k], bytes, option, at)
                    else -- MGET does not see values of other types; they must not be overwritten
                        done = guarded('SET', KEYS[k], bytes, option, at, 'NX')
                    end
                end
                if not done then
                    note(k, 'c')
                elseif done.err then
                    note(k, 'e', done.err)
                end
            end
        end
    end
    if not left then return reply() end
end
