-- Buckets whose whole count returns at once, the twin of src/core/kinds/steps.hpp: t is the next
-- boundary. Windows and counters read states of other numbers as such a bucket.
create[STEPWISE] = function()
    local function start(i) return kinds.start(i, kind_of[i].next_boundary(i, now)) end

    -- Returns the first boundary that may repay a state that was stored with other numbers.
    local function first_boundary(i, own)
        local old, p = own_num[i] - STEPS, period[i] * unit[i]
        local first = t[i]
        if old <= 0 then
            first = min(first, now) + p
        elseif old < p and not own.ends_windows then
            first = first + (p - old)
        end
        if own.starts_at_use then return first end
        return own.next_boundary(i, max(first, 1) - 1)
    end

    local function advance_other(i)
        if own_capacity[i] < 0 then return false end -- it is at now
        local p, each, own = period[i] * unit[i], step[i], kind_of[i]
        local owed = min(ceil(debt[i] / versions.ticks_per_token(own_num[i])), versions.debt_max(i))
        local first, following = first_boundary(i, own), own.next_boundary(i, now)
        local is_aligned_bucket = own.is_bucket and not own.starts_at_use
        local moved = first > (is_aligned_bucket and following + p or following)
        local steps = now < first and 0 or floor((now - first) / p) + 1
        local owed_steps = ceil(owed / each)
        if initial[i] >= 0 and steps - owed_steps >= ceil(debt_limit[i] / each) then
            return start(i)
        elseif steps >= owed_steps and initial[i] < 0 then
            start(i)
            return moved
        end
        local repaid_at = t[i] - (own_num[i] - STEPS)
        t[i] = (moved or own.ends_windows) and following or first + steps * p
        -- A moved boundary is a whole period after the last one that repaid the state.
        if moved and is_aligned_bucket and own_num[i] > STEPS and repaid_at <= now
            and repaid_at + p > following then
            t[i] = following + p
        end
        versions.repay(i, owed, steps, each)
        if t[i] > following then own_num[i] = min(num[i] + p, MOST) end
        return moved
    end

    local function advance(i)
        if own_num[i] == 0 then return start(i) end
        if own_num[i] ~= num[i] or own_capacity[i] ~= stored_capacity[i] then
            return advance_other(i)
        end
        local own, owed = kind_of[i], min(debt[i], debt_max[i])
        local found, ahead = t[i], now < t[i]
        local steps, p = 0, period[i]
        if not own.starts_at_use then
            steps = ahead and 0 or floor(now / p) - ceil(t[i] / p) + 1
            t[i] = own.next_boundary(i, now)
        elseif ahead then
            t[i] = min(t[i], own.next_boundary(i, now))
        else
            steps = floor((now - t[i]) / p) + 1
            t[i] = t[i] + steps * p
        end
        local moved = ahead and t[i] ~= found
        local owed_steps = ceil(owed / step[i])
        if initial[i] >= 0 and steps - owed_steps >= ceil(debt_limit[i] / step[i]) then
            return start(i)
        end
        debt[i] = steps >= owed_steps and 0 or owed - steps * step[i]
        if debt[i] == 0 and initial[i] < 0 then start(i) end
        return moved
    end

    local function charge(i, cost)
        if own_capacity[i] <= 0 or own_num[i] ~= num[i] then return versions.charge(i, cost) end
        kinds.add(i, cost)
    end

    local function refund(i, cost)
        if own_capacity[i] <= 0 then return versions.refund(i, cost) end
        debt[i] = max(0, debt[i] - cost)
    end

    local function reset_after(i)
        return debt[i] == 0 and 0 or t[i] + (ceil(debt[i] / step[i]) - 1) * period[i] - now
    end

    local function lifetime(i)
        local fill = initial[i] < 0 and 0 or ceil(debt_limit[i] / step[i])
        return t[i] + (ceil(debt[i] / step[i]) + fill - 1) * period[i] * unit[i] - now
    end

    local function steps(next_boundary, starts_at_use)
        return {advance = advance, available = kinds.room, charge = charge, refund = refund,
            reset_after = reset_after, lifetime = lifetime, is_full = kinds.is_unused,
            next_boundary = next_boundary, starts_at_use = starts_at_use, is_bucket = true,
            has_versions = true, advance_other = advance_other}
    end
    kinds[STEPWISE] = steps(kinds.boundary_after_use, true)
    kinds[ALIGNED] = steps(kinds.aligned_boundary, false)
end
create[ALIGNED] = create[STEPWISE]
