-- Different members in a window: a HyperLogLog of Redis for each `distinct` rule. PFADD cannot be
-- undone and PFCOUNT writes, so a trial restores the bytes that it found. Errors of its commands
-- are raised, like those of logs. Other batches have none of these functions, as of logs.
    local undo = {}  -- alternately key and old bytes (or false)
    local grown = {} -- per sketch, whether the trial changed it

    function sketches.key(k, j)
        return KEYS[base + keys * ((has_log and 1 or 0) + j) + k]
    end

    -- Returns the error if the key holds a value other than a sketch.
    function sketches.error_in(key)
        local head = guarded('GETRANGE', key, '0', '3')
        if type(head) == 'table' then return head.err end
        if head ~= '' and head ~= 'HYLL' then return 'WRONGTYPE this is no HyperLogLog' end
    end

    -- Adds the member to a sketch and returns the number of members. A damaged sketch may accept it
    -- and raise an error only when it is counted.
    local function try_sketch(j, key, member)
        if find_oom() then error({err = oom}) end
        local old = call('GET', key)
        -- It was evicted. A user who may not delete it leaves it.
        if not old then keep(key, t[sketched[j]] - now) end
        grown[j] = call('PFADD', key, member) == 1
        undo[#undo + 1], undo[#undo + 2] = key, old
        return call('PFCOUNT', key)
    end

    -- Counts the call's member in each sketch: own_num becomes the count with it. Returns an error.
    function sketches.try(k, member)
        for j, i in ipairs(sketched) do
            local key = sketches.key(k, j)
            grown[j] = true
            if debt[i] == 0 then -- in a window without members the sketch is an old one
                own_num[i] = 1
                local failed = sketches.error_in(key)
                if failed then return failed end
            else
                own_num[i] = try_sketch(j, key, member)
            end
        end
    end

    function sketches.forget_trial()
        local before = undo
        undo = {}
        for i = #before - 1, 1, -2 do -- as rules may share a sketch
            if before[i + 1] then
                call('SET', before[i], before[i + 1], 'KEEPTTL')
            else
                call('DEL', before[i])
            end
        end
    end

    -- Keeps the sketch until its window ends.
    function sketches.keep(k, j)
        keep(sketches.key(k, j), t[sketched[j]] - now)
    end

    -- Keeps the changes of the trial: the member counts. On a full server nothing changes, not even
    -- the TTL of an old sketch.
    function sketches.keep_trial(k, member)
        if find_oom() then error({err = oom}) end
        for j = 1, #sketched do
            if grown[j] then sketches.keep(k, j) end
        end
        undo = {}
        for j, i in ipairs(sketched) do
            local key = sketches.key(k, j)
            if debt[i] == 0 then
                call('DEL', key)
                call('PFADD', key, member)
            end
        end
    end

    local function advance(i) return kinds.advance_window(i, 1) end

    -- own_num is the number of members if the call's is counted.
    local function available(i, amount)
        if amount > 0 and own_num[i] <= debt_limit[i] then return amount end
        return debt[i] <= debt_limit[i] and min(amount, 0) or -1
    end

    local function charge(i) debt[i] = own_num[i] end

    kinds[DISTINCT] = {advance = advance, available = available, charge = charge,
    refund = function() end, reset_after = kinds.window_left, lifetime = kinds.window_left,
    is_full = kinds.has_no_debt, next_boundary = kinds.aligned_boundary, stored_num = 1,
        is_reported = true}
