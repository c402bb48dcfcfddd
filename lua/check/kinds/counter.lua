-- A sliding window counter, the twin of src/core/kinds/counter.hpp: own_num is the length of its
-- windows, and own_capacity the count of the previous one.
create[COUNTER] = function()
    local steps = kinds.need(STEPWISE)

    -- Returns whether the state is the rest of a counter of another period, as a stepped bucket.
    local function is_other(i) return own_num[i] > STEPS end

    local function advance_other(i)
        if not is_other(i) then
            local current, length, largest = now < t[i], own_num[i], versions.debt_max(i)
            local previous = current and min(own_capacity[i], largest) or 0
            local used = (current or now - t[i] < length) and min(debt[i], largest) or 0
            if not current then t[i] = t[i] + length end
            debt[i] = used + min(previous, largest - used)
            own_num[i], own_capacity[i] = STEPS + length, 1
        end
        local moved = steps.advance_other(i)
        if debt[i] == 0 and own_capacity[i] >= 0 then
            t[i], own_num[i], own_capacity[i] =
                kinds.aligned_boundary(i, now), period[i] * unit[i], 0
        end
        return moved
    end

    local function advance(i)
        local p = period[i] * unit[i]
        if own_num[i] ~= 0 and own_num[i] ~= p then return advance_other(i) end
        local ends = (floor(now / p) + 1) * p
        local used, previous = 0, 0
        if own_num[i] ~= 0 and now < t[i] then
            used, previous = min(debt[i], debt_max[i]), min(own_capacity[i], debt_max[i])
        elseif own_num[i] ~= 0 and now - t[i] < p then
            previous = min(debt[i], debt_max[i])
        end
        local moved = (used ~= 0 or previous ~= 0) and t[i] > ends
        t[i], debt[i], own_num[i], own_capacity[i] = ends, used, p, previous
        return moved
    end

    local function available(i, amount)
        if is_other(i) then return steps.available(i, amount) end
        local window_left = t[i] / unit[i] - floor(now / unit[i])
        local space = (debt_limit[i] - debt[i]) * period[i] - own_capacity[i] * window_left
        return min(amount, floor(space / period[i]))
    end

    local function charge(i, cost)
        if is_other(i) then return versions.charge(i, cost) end
        kinds.add(i, cost)
    end

    local function refund(i, cost)
        if is_other(i) then return steps.refund(i, cost) end
        debt[i] = max(0, debt[i] - cost)
    end

    local function reset_after(i)
        if is_other(i) then return debt[i] == 0 and 0 or t[i] - now end
        if debt[i] ~= 0 then return t[i] + period[i] * unit[i] - now end
        return own_capacity[i] ~= 0 and t[i] - now or 0
    end

    local function lifetime(i)
        if is_other(i) then return steps.lifetime(i) end
        return reset_after(i)
    end

    local function is_full(i) return debt[i] == 0 and (own_capacity[i] == 0 or is_other(i)) end

    kinds[COUNTER] = {advance = advance, available = available, charge = charge, refund = refund,
        reset_after = reset_after, lifetime = lifetime, is_full = is_full,
        next_boundary = kinds.aligned_boundary, ends_windows = true, has_versions = true}
end
