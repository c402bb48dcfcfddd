-- States that another version of the policy has stored, as in src/core/versions.hpp: while calls
-- use a state, its debt is the part that counts for this version, and a negative own_capacity is
-- the surplus of the whole debt.
do
    local YEAR = 366 * 86400 * SECOND

    local function counts_steps(i) return num[i] > STEPS end

    local function ticks_per_token(a_num) return a_num > STEPS and 1 or a_num end

    -- Returns where debt that was stored with other numbers saturates.
    local function debt_max_of_other(i)
        local each = counts_steps(i) and step[i] or den[i]
        local longest = floor(YEAR / (counts_steps(i) and period[i] * unit[i] or unit[i]))
        if longest > 0 and each > floor(STEPS / longest) then return max(debt_limit[i], STEPS) end
        return max(debt_limit[i], longest * each)
    end

    local function repaid(owed, steps, each)
        return steps >= ceil(owed / each) and 0 or owed - steps * each
    end

    local function counted(i, whole)
        return own_capacity[i] == 0 and whole or min(whole, debt_limit[i])
    end

    local function show(i, view, whole)
        local is_reserved = own_capacity[i] == 0 and view > debt_limit[i]
        debt[i], own_num[i] = view, num[i]
        own_capacity[i] = whole > view and view - whole or is_reserved and 0 or stored_capacity[i]
    end

    local function whole_of(i)
        return own_capacity[i] < 0 and debt[i] - own_capacity[i] or debt[i]
    end

    local function owe(i, view, whole)
        local found = own_num[i] -- determines whose boundary an aligned bucket waits for
        local all = view > debt_limit[i] and found == num[i] and kind_of[i].is_bucket
        show(i, all and whole or counted(i, whole), whole)
        own_num[i] = found
    end

    local function sum(owed, ticks, largest)
        return owed >= largest and owed or min(largest, owed + ticks)
    end

    versions.show, versions.whole, versions.debt_max = show, whole_of, debt_max_of_other
    versions.ticks_per_token = ticks_per_token

    function versions.charge(i, ticks)
        owe(i, sum(debt[i], ticks, debt_max[i]), sum(whole_of(i), ticks, debt_max_of_other(i)))
    end

    function versions.refund(i, ticks) owe(i, 0, max(0, whole_of(i) - ticks)) end

    -- Sets the whole debt, after so many steps that repay `each`.
    function versions.repay(i, owed, steps, each)
        show(i, repaid(counted(i, owed), steps, each), repaid(owed, steps, each))
    end

    -- A reservation also waits for the debt of other numbers, which this returns.
    function versions.owe_whole()
        local surplus = {}
        for i = 1, rules do
            surplus[i] = whole_of(i) - debt[i]
            debt[i] = debt[i] + surplus[i]
            if own_capacity[i] < 0 then own_capacity[i] = stored_capacity[i] end
        end
        return surplus
    end

    -- Returns whether a grant may leave less room than it takes.
    function versions.has_surplus()
        for i = 1, rules do
            if kind_of[i].has_versions and own_capacity[i] < 0 then return true end
        end
        return false
    end

    local function each_surplus(change)
        for i = 1, n + 1 do
            local own = kind_of[i]
            if own.has_versions and own_num[i] ~= 0 and own_capacity[i] < 0 then
                change(i, own.is_lockout, whole_of(i))
            end
        end
    end

    -- Changes the states to the form in which this version will read them.
    function versions.show_as_stored()
        each_surplus(function(i, is_lockout, whole)
            debt[i] = min(whole, is_lockout and period[i] or debt_limit[i])
            own_capacity[i] = whole > debt[i] and debt[i] - whole or stored_capacity[i]
        end)
    end

    -- Changes the states to the form in which they are stored.
    function versions.fold()
        each_surplus(function(i, is_lockout, whole)
            debt[i] = whole
            own_capacity[i] = (is_lockout or whole <= debt_limit[i]) and stored_capacity[i]
                or ceil(whole / ticks_per_token(own_num[i]))
        end)
    end
end
