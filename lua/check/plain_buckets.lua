-- The next most common batch: as before, but of several continuous buckets. Each rule is read and
-- decided on its own; a key's state is written at once, in place while the key outlives all debts.
local function are_plain_buckets()
    if not asked_times and ARGV[5] ~= '' or n < 2 or n ~= rules then return false end
    for i = 1, n do
        if kind[i] ~= BUCKET or unit[i] ~= 1 or initial[i] >= 0 or shadow[i] then return false end
    end
    return true
end

if are_plain_buckets() then
    local slots_format = '<' .. string.rep('I4dddd', n)
    local slots, debts = {}, {} -- of the key at hand: what is stored, and what is owed of it now
    for i = 1, n do
        slots[5 * i - 4], slots[5 * i - 1], slots[5 * i] = tag[i], num[i], capacity[i]
    end

    -- Answers whether the value is a state by these numbers, and how many of so many calls fit.
    local function read(value, times)
        for i = 1, n do
            local owed = 0
            if value then
                local found, t, old, old_num, old_capacity =
                    unpack_bytes('<I4dddd', value, SLOT * i - 27)
                if found ~= tag[i] or old_num ~= num[i] or old_capacity ~= capacity[i]
                    or t < 0 or t > now or t % 1 ~= 0
                    or old < 0 or old > most[i] or old % 1 ~= 0 then
                    return false
                end
                owed = old - (now - t) * den[i]
                if owed < 0 then owed = 0 end
            end
            debts[i] = owed
            if owed + times * num[i] > full[i] then
                times = max(0, floor((full[i] - owed) / num[i]))
            end
        end
        return true, times
    end

    local function write(key, value, times)
        local recovers = 0
        for i = 1, n do
            debts[i] = debts[i] + times * num[i]
            recovers = max(recovers, ceil(debts[i] / den[i]))
            slots[5 * i - 3], slots[5 * i - 2] = now, debts[i]
        end
        local bytes = pack(slots_format, unpack(slots, 1, 5 * n))
        local ends = value and unpack_bytes('<d', value) or 0
        if value and ends >= now + recovers and ends < now + 2 * recovers + SECOND - 1000 then
            return guarded('SETRANGE', key, HEAD, bytes)
        end
        local option, at, new_end = lifetime(SPARE * recovers)
        bytes = pack('<d', new_end) .. bytes
        if value then return guarded('SET', key, bytes, option, at) end
        return guarded('SET', key, bytes, option, at, 'NX') -- as in the plain way
    end

    for k = 1, keys do
        local value = values[k]
        local regular, fits = not value or #value == value_size, 0
        if regular then regular, fits = read(value, times_of(k)) end
        if not regular then
            left = left or {}
            left[#left + 1] = k
        elseif fits > 0 then
            granted = granted + fits
            local done = write(KEYS[k], value, fits)
            if not done then
                note(k, 'c')
            elseif type(done) == 'table' and done.err then
                note(k, 'e', done.err)
            end
        end
    end
    if not left then return reply() end
end
