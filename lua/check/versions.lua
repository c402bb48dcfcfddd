-- What another version of the policy has stored, as in src/core/versions.hpp: while calls work on a
-- state, its debt is what counts for this version, and a negative own_capacity is the surplus that
-- only the whole has. The bucket kinds have the other functions of their files here.
do
    local WIDEST, YEAR = 67108864, 366 * 86400 * SECOND

    local function counts_steps(i) return num[i] > STEPS end

    local function ticks_per_token(a_num) return a_num > STEPS and 1 or a_num end

    -- Where debt that was stored with other numbers saturates.
    local function most_of_other(i)
        local each = counts_steps(i) and step[i] or den[i]
        local longest = floor(YEAR / (counts_steps(i) and period[i] * unit[i] or unit[i]))
        if longest > 0 and each > floor(STEPS / longest) then return max(full[i], STEPS) end
        return max(full[i], longest * each)
    end

    -- part * to / from, rounded up; no product is above 2^53.
    local function ceil_share(part, from, to)
        if from > WIDEST then
            local divisor = ceil(from / WIDEST)
            from = floor(from / divisor)
            part = min(ceil(part / divisor), from)
        end
        local times = floor(to / from)
        return part * times + ceil(part * (to - times * from) / from)
    end

    -- The debt in the ticks of the rule; the fraction of a token is rounded up.
    local function in_ticks(i)
        local from, to, largest = ticks_per_token(own_num[i]), num[i], most_of_other(i)
        if from == to then return min(debt[i], largest) end
        local tokens = floor(debt[i] / from)
        if tokens > floor(largest / to) then return largest end
        return min(largest, tokens * to + ceil_share(debt[i] - tokens * from, from, to))
    end

    local function repaid(owed, steps, each)
        return steps >= ceil(owed / each) and 0 or owed - steps * each
    end

    local function counted(i, whole)
        return own_capacity[i] == 0 and whole or min(whole, full[i])
    end

    local function show(i, view, whole)
        local is_reserved = own_capacity[i] == 0 and view > full[i]
        debt[i], own_num[i] = view, num[i]
        own_capacity[i] = whole > view and view - whole or is_reserved and 0 or marked[i]
    end

    local function whole_of(i)
        return own_capacity[i] < 0 and debt[i] - own_capacity[i] or debt[i]
    end

    local function owe(i, view, whole)
        local found = own_num[i] -- tells whose boundary an aligned bucket waits for
        local all = view > full[i] and found == num[i] and kind[i] <= ALIGNED
        show(i, all and whole or counted(i, whole), whole)
        own_num[i] = found
    end

    local function sum(owed, ticks, largest)
        return owed >= largest and owed or min(largest, owed + ticks)
    end

    versions.show, versions.whole, versions.most = show, whole_of, most_of_other

    versions.charge = function(i, ticks)
        owe(i, sum(debt[i], ticks, most[i]), sum(whole_of(i), ticks, most_of_other(i)))
    end

    versions.refund = function(i, ticks) owe(i, 0, max(0, whole_of(i) - ticks)) end

    versions.bring_bucket = function(i, now_units, u)
        if own_capacity[i] < 0 then return false end -- it is at now
        local ahead = t[i] > now
        local elapsed = ahead and 0 or max(0, now_units - (u == 1 and t[i] or ceil(t[i] / u)))
        local owed = in_ticks(i)
        if initial[i] >= 0 and elapsed - ceil(owed / den[i]) >= ceil(full[i] / den[i]) then
            return start_bucket(i, now_units * u)
        end
        t[i] = now_units * u
        show(i, repaid(counted(i, owed), elapsed, den[i]), repaid(owed, elapsed, den[i]))
        return ahead
    end

    local function ends_windows(i)
        local k = kind[i]
        return k == WINDOW or k == CALENDAR or k == COUNTER
    end

    -- The first boundary that may repay the state.
    local function first_boundary(i)
        local old, p, k = own_num[i] - STEPS, period[i] * unit[i], kind[i]
        local first = t[i]
        if old <= 0 then
            first = min(first, now) + p
        elseif old < p and not ends_windows(i) then
            first = first + (p - old)
        end
        if k == STEPWISE or k == FROM_FIRST then return first end
        return next_boundary(i, max(first, 1) - 1)
    end

    versions.bring_steps = function(i)
        if own_capacity[i] < 0 then return false end -- it is at now
        local p, each, k = period[i] * unit[i], step[i], kind[i]
        local owed = min(ceil(debt[i] / ticks_per_token(own_num[i])), most_of_other(i))
        local first, following = first_boundary(i), next_boundary(i, now)
        local furthest = k == ALIGNED and following + p or following
        local moved = first > furthest
        local steps = now < first and 0 or floor((now - first) / p) + 1
        local owed_steps = ceil(owed / each)
        if initial[i] >= 0 and steps - owed_steps >= ceil(full[i] / each) then
            return start_steps(i)
        elseif steps >= owed_steps and initial[i] < 0 then
            start_steps(i)
            return moved
        end
        t[i] = ends_windows(i) and following or min(first + steps * p, furthest)
        show(i, repaid(counted(i, owed), steps, each), repaid(owed, steps, each))
        if t[i] > following then own_num[i] = min(num[i] + p, MOST) end
        return moved
    end

    -- A place is for after all that other numbers have left, too. Returns what that is.
    versions.owe_whole = function()
        local surplus = {}
        for i = 1, rules do
            surplus[i] = whole_of(i) - debt[i]
            debt[i] = debt[i] + surplus[i]
            if own_capacity[i] < 0 then own_capacity[i] = marked[i] end
        end
        return surplus
    end

    -- Whether a grant may leave less room than it takes.
    versions.has_surplus = function()
        for i = 1, rules do
            if kind[i] <= COUNTER and own_capacity[i] < 0 then return true end
        end
        return false
    end

    local function each_surplus(change)
        for i = 1, n + 1 do
            local k = i > n and HOLD or kind[i]
            if (k <= COUNTER or k == HOLD) and own_num[i] ~= 0 and own_capacity[i] < 0 then
                change(i, k == HOLD, whole_of(i))
            end
        end
    end

    -- The states as this version will read them.
    versions.show_as_stored = function()
        each_surplus(function(i, is_hold, whole)
            debt[i] = min(whole, is_hold and period[i] or full[i])
            own_capacity[i] = whole > debt[i] and debt[i] - whole or is_hold and 1 or marked[i]
        end)
    end

    -- The states as they are stored.
    versions.fold = function()
        each_surplus(function(i, is_hold, whole)
            debt[i] = whole
            own_capacity[i] = is_hold and 1 or whole <= full[i] and marked[i]
                or ceil(whole / ticks_per_token(own_num[i]))
        end)
    end
end
