-- Different members in a window: a HyperLogLog of Redis for each `distinct` rule. PFADD cannot be
-- undone and PFCOUNT writes, so a trial puts back the bytes that it found.
local members = {}

do
    local undo = {}  -- key and old bytes (or false), in turn
    local grown = {} -- for each sketch, whether the trial changed it

    function members.key(k, j)
        return KEYS[base + keys * ((has_log and 1 or 0) + j) + k]
    end

    -- The error where something else than a sketch is in the way.
    function members.error_in(key)
        local head = guarded('GETRANGE', key, '0', '3')
        if type(head) == 'table' then return head.err end
        if head ~= '' and head ~= 'HYLL' then return 'WRONGTYPE this is no HyperLogLog' end
    end

    -- Counts the member in a sketch: returns how many there are then, and an error. A damaged
    -- sketch may take it and be no sketch to PFCOUNT.
    local function try_sketch(j, key, member)
        if find_oom() then return 0, oom end
        local old = guarded('GET', key)
        if type(old) == 'table' then return 0, old.err end
        local changed = guarded('PFADD', key, member)
        if type(changed) == 'table' then return 0, changed.err end
        undo[#undo + 1], undo[#undo + 2] = key, old
        grown[j] = changed == 1
        local count = guarded('PFCOUNT', key)
        if type(count) == 'table' then return 0, count.err end
        return count
    end

    -- Counts the call's member in each sketch: own_num becomes the count with it. Returns an error.
    function members.try(k, member)
        for j, i in ipairs(sketches) do
            local key, failed = members.key(k, j)
            grown[j] = true
            if debt[i] == 0 then -- in a window without members the sketch is one of before
                own_num[i], failed = 1, members.error_in(key)
            else
                own_num[i], failed = try_sketch(j, key, member)
            end
            if failed then return failed end
        end
    end

    function members.forget_trial()
        for i = 1, #undo, 2 do
            if undo[i + 1] then
                attempt('SET', undo[i], undo[i + 1], 'KEEPTTL')
            else
                attempt('DEL', undo[i])
            end
        end
        undo = {}
    end

    -- Until its window ends.
    function members.keep(k, j)
        local option, at = lifetime(t[sketches[j]] - now)
        attempt(option == 'PX' and 'PEXPIRE' or 'PEXPIREAT', members.key(k, j), at)
    end

    -- The member counts.
    function members.keep_trial(k, member)
        undo = {}
        if find_oom() then
            failure = failure or oom
            return
        end
        for j, i in ipairs(sketches) do
            local key = members.key(k, j)
            if debt[i] == 0 then
                attempt('DEL', key)
                attempt('PFADD', key, member)
            end
            if grown[j] then members.keep(k, j) end
        end
    end
end
