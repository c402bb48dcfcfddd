-- Reads a key's value into the states of the limits, and writes it.
do
    local moved   -- a window may end at another time than before
    local expires -- the key does not expire before

    local function is_number(a, least) return a >= least and a <= MOST and a % 1 == 0 end

    -- Reads the state at an index of a value into limit i, if it has its tag. Returns whether it
    -- has, and whether its numbers are a valid state.
    local function read_state(i, value, count, index)
        local found, c, d = unpack_bytes('<I4dd', value, HEAD + 1 + FIXED * index)
        if found ~= tag[i] then return false end
        local a, b = unpack_bytes('<dd', value, HEAD + 1 + FIXED * count + (STATE - FIXED) * index)
        t[i], debt[i], own_num[i], own_capacity[i] = a + 0, b + 0, c, d + 0 -- avoids storing -0
        return true, is_number(a, 0) and is_number(b, 0) and is_number(c, 1) and is_number(d, 0)
    end

    -- Reads a value by its tags; returns false if it is not a valid state. Of two states with one
    -- tag the first counts.
    local function read_value(value)
        if packed and shards.are_brief and #value == BRIEF then
            value = pack('<d', 0) .. shards.numbers .. value
        end
        local count = (#value - HEAD) / STATE
        if #value > LONGEST or count < 1 or count % 1 ~= 0 then return false end
        expires = unpack_bytes('<d', value)
        local elsewhere, found, is_state = count ~= #stored
        -- Usually each state is at its own index.
        for index, i in ipairs(stored) do
            if elsewhere then break end
            found, is_state = read_state(i, value, count, index - 1)
            if not found then elsewhere = true end
            if found and not is_state then return false end
        end
        if not elsewhere then return true end
        for i = 1, n + 1 do
            for index = 0, count - 1 do
                found, is_state = read_state(i, value, count, index)
                if found then
                    if not is_state then return false end
                    break
                end
            end
        end
        return true
    end

    -- Returns whether the value that was loaded is not one that this policy has written.
    local function is_other_value(value)
        for i = 1, n do
            if own_num[i] == 0 then return true end
        end
        return #value ~= HEAD + STATE * (#stored + (own_num[n + 1] == 0 and 0 or 1))
    end

    -- Returns whether the stored value must be replaced even by a denial.
    function states.advance()
        local moved = false
        for _, i in ipairs(stored) do
            if kind_of[i].advance(i) then moved = true end
        end
        if own_num[n + 1] ~= 0 and kind_of[n + 1].advance(n + 1) then moved = true end
        return moved
    end

    function states.load(value)
        exists, stale, changed, erased, expires = value ~= false, false, false, false, 0
        gives_back = true
        for i = 1, n + 1 do own_num[i] = 0 end
        if exists and not read_value(value) then
            stale = true
            for i = 1, n + 1 do own_num[i] = 0 end
        end
        states.conflicts = has_bare_keys and exists and is_other_value(value)
        debt[n + 1] = own_num[n + 1] == 0 and 0 or debt[n + 1]
        moved = states.advance()
        if moved then stale = true end
    end

    local function value_format(count)
        return '<d' .. string.rep('I4dd', count) .. string.rep('dd', count)
    end

    local function encoded(ends)
        local b = n + 1
        local count = #stored + (debt[b] == 0 and 0 or 1)
        local fields = {ends}
        for index = 1, count do
            local i = stored[index] or b
            fields[3 * index - 1], fields[3 * index], fields[3 * index + 1] =
                tag[i], kind_of[i].stored_num or own_num[i], own_capacity[i]
        end
        for index = 1, count do
            local i = stored[index] or b
            fields[#fields + 1], fields[#fields + 2] = t[i], debt[i]
        end
        return pack(value_format(count), unpack(fields))
    end

    -- Returns how long the state matters and how long it is kept; nil: equivalent to none.
    local function lifetime_of_all()
        if erased then return nil end
        local matters, kept, all_full = debt[n + 1], debt[n + 1], debt[n + 1] == 0
        for _, i in ipairs(stored) do
            if not kind_of[i].is_full(i) then
                all_full = false
                local one, longer = kind_of[i].lifetime(i)
                matters, kept = max(matters, one), max(kept, longer or one)
            end
        end
        if all_full then return nil end
        return matters, kept
    end

    -- Returns whether the key has a value of another type, for which MGET returns nil.
    function states.is_foreign(k)
        return not packed and not values[first + k - 1]
            and guarded('EXISTS', KEYS[base + k]) == 1
    end

    -- Replaces a value on a full server, which accepts that after a new TTL. The value does not
    -- grow, but later writes may, and must be prevented here.
    local function replace(key, kept)
        find_oom()
        accept_growth(key)
        local option, at, ends = lifetime(kept)
        return guarded('SET', key, encoded(ends), option, at)
    end

    -- Writes the state of key k.
    function states.save(k)
        versions.fold()
        local key, value = KEYS[base + k], values[first + k - 1]
        local matters, kept = lifetime_of_all()
        if moved then
            for j, i in ipairs(sketched) do
                if debt[i] > 0 and not sketches.error_in(sketches.key(k, j)) then
                    sketches.keep(k, j)
                end
            end
        end
        if packed then
            if matters then
                shards.written[k], shards.gave_back[k] = encoded(0), gives_back
                shards.lifetimes[k] = min(matters, CENTURY)
            elseif value then
                shards.written[k] = false
            end
            return
        end
        local done
        if not matters then
            if states.is_foreign(k) then return note(first + k - 1, 'c') end
            if value then
                find_oom()
                done = guarded('DEL', key)
            end
        elseif oom then -- it may not refuse what grows any more
            done = {err = oom}
        elseif value and #value == HEAD + STATE * (#stored + (debt[n + 1] == 0 and 0 or 1))
            and not supplied and expires >= now + matters
            and expires < now + 2 * matters + SECOND - 1000 then
            done = guarded('SETRANGE', key, HEAD, string.sub(encoded(0), HEAD + 1))
        else
            local option, at, ends = lifetime(kept)
            if value then
                done = guarded('SET', key, encoded(ends), option, at)
            else -- MGET does not see values of other types; they must not be overwritten
                done = guarded('SET', key, encoded(ends), option, at, 'NX')
                if not done then return note(first + k - 1, 'c') end
            end
        end
        local failed = type(done) == 'table' and done.err
        if failed and states.is_foreign(k) then return note(first + k - 1, 'c') end
        if failed and gives_back and is_oom(failed) then
            -- Of a key without a value nothing needs to be stored: no state is as strict.
            done = value and replace(key, kept)
            failed = type(done) == 'table' and done.err
        end
        if failed then note(first + k - 1, 'e', failed) end
    end
end
