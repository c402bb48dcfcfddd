-- The next most common batch: as before, but of several continuous buckets. Rule by rule through
-- all keys, so that a rule's numbers are at hand, then key by key: a key's state is written at
-- once, in place while the key outlives all debts.
local function are_plain_buckets()
    if not asked_times and ARGV[5] ~= '' or n < 2 or n ~= rules then return false end
    for i = 1, n do
        if kind[i] ~= BUCKET or unit[i] ~= 1 or initial[i] >= 0 or shadow[i] then return false end
    end
    return true
end

if are_plain_buckets() then
    local fits = {} -- how many of a key's calls; false where the value is no state by these numbers
    for k = 1, keys do
        local value = values[k]
        fits[k] = (not value or #value == value_size) and (asked_times and times_of(k) or 1)
    end

    local owed = {} -- of each rule: by each key, before its calls
    for i = 1, n do
        local tag1, num1, den1, full1, capacity1, most1 =
            tag[i], num[i], den[i], full[i], capacity[i], most[i]
        local debts, at = {}, SLOT * i - 27
        for k = 1, keys do
            local value, times, debt = values[k], fits[k], 0
            if value and times then
                local found, t, old, old_num, old_capacity = unpack_bytes('<I4dddd', value, at)
                if found == tag1 and old_num == num1 and old_capacity == capacity1
                    and t >= 0 and t <= now and old >= 0 and old <= most1
                    and t % 1 + old % 1 == 0 then
                    debt = old - (now - t) * den1
                    if debt < 0 then debt = 0 end
                else
                    times, fits[k] = false, false
                end
            end
            debts[k] = debt
            if times and debt + times * num1 > full1 then
                fits[k] = max(0, floor((full1 - debt) / num1))
            end
        end
        owed[i] = debts
    end

    -- What changes in a value, and what lies between that: t debt (num capacity tag) t debt (...
    local body, last = '<dd' .. string.rep('c20dd', n - 1), pack('<dd', num[n], capacity[n])
    local parts = {}
    for i = 1, n do
        parts[3 * i - 2] = now
        if i < n then parts[3 * i] = pack('<ddI4', num[i], capacity[i], tag[i + 1]) end
    end
    for k = 1, keys do
        local value, times = values[k], fits[k]
        if not times then
            left = left or {}
            left[#left + 1] = k
        elseif times > 0 then
            granted = granted + times
            local recovers = 0
            for i = 1, n do
                local debt, one = owed[i][k] + times * num[i], den[i]
                parts[3 * i - 1] = debt
                if one ~= 1 then debt = ceil(debt / one) end
                if debt > recovers then recovers = debt end
            end
            local bytes = pack(body, unpack(parts))
            local ends = value and unpack_bytes('<d', value) or 0
            local done
            if packed then
                written[k], done = pack('<dI4', 0, tag[1]) .. bytes .. last, value_size
            elseif ends >= now + recovers and ends < edge + 2 * recovers then
                done = guarded('SETRANGE', KEYS[k], '12', bytes)
            else
                local option, at, new_end = lifetime(SPARE * recovers)
                bytes = pack('<dI4', new_end, tag[1]) .. bytes .. last
                if value then
                    done = guarded('SET', KEYS[k], bytes, option, at)
                else -- as in the plain way
                    done = guarded('SET', KEYS[k], bytes, option, at, 'NX')
                end
            end
            if done ~= value_size then
                if not done then
                    note(k, 'c')
                elseif type(done) == 'table' and done.err then
                    note(k, 'e', done.err)
                end
            end
        end
    end
    if not left then return reply() end
end
