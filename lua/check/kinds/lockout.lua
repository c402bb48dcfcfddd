-- Denies for a time, the twin of src/core/kinds/lockout.hpp: for `debt` microseconds from t on.
create[LOCKOUT] = function()
    local function start(i, length)
        t[i], debt[i], own_num[i], own_capacity[i] = now, length, 1, 1
    end

    local function advance(i)
        if own_num[i] == 0 then
            start(i, 0)
            return false
        end
        if own_capacity[i] < 0 then return false end
        local ahead = t[i] > now
        local passed = ahead and 0 or now - t[i]
        local all = min(debt[i], CENTURY)
        local left, counts = max(0, all - passed), max(0, min(all, period[i]) - passed)
        start(i, counts)
        if left > counts then own_capacity[i] = counts - left end
        return ahead
    end

    -- Called after a grant. The time that another version still counts continues.
    local function restart(i)
        local left = versions.whole(i)
        start(i, period[i])
        if left > period[i] then own_capacity[i] = period[i] - left end
    end

    local function remaining_time(i) return debt[i] end

    kinds[LOCKOUT] = {advance = advance, reset_after = remaining_time, lifetime = remaining_time,
        is_full = kinds.has_no_debt, start = start, restart = restart, is_lockout = true,
        has_versions = true}
end
