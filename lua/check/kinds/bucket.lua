-- A continuous bucket, the twin of src/core/kinds/bucket.hpp.
create[BUCKET] = function()
    local WIDEST = 67108864

    -- Returns part * to / from, rounded up; no product is above 2^53.
    local function ceil_share(part, from, to)
        if from > WIDEST then
            local divisor = ceil(from / WIDEST)
            from = floor(from / divisor)
            part = min(ceil(part / divisor), from)
        end
        local times = floor(to / from)
        return part * times + ceil(part * (to - times * from) / from)
    end

    -- Returns the debt in the ticks of the rule; the fraction of a token is rounded up.
    local function in_ticks(i)
        local from, to, largest = versions.ticks_per_token(own_num[i]), num[i], versions.debt_max(i)
        if from == to then return min(debt[i], largest) end
        local tokens = floor(debt[i] / from)
        if tokens > floor(largest / to) then return largest end
        return min(largest, tokens * to + ceil_share(debt[i] - tokens * from, from, to))
    end

    -- Advances a state that was stored with other numbers.
    local function advance_other(i, now_units, u)
        if own_capacity[i] < 0 then return false end -- it is at now
        local ahead = t[i] > now
        local elapsed = ahead and 0 or max(0, now_units - (u == 1 and t[i] or ceil(t[i] / u)))
        local owed = in_ticks(i)
        if initial[i] >= 0 and elapsed - ceil(owed / den[i]) >= ceil(debt_limit[i] / den[i]) then
            return kinds.start(i, now_units * u)
        end
        t[i] = now_units * u
        versions.repay(i, owed, elapsed, den[i])
        return ahead
    end

    local function advance(i)
        local u = unit[i]
        local now_units = u == 1 and now or floor(now / u)
        if own_num[i] == 0 then return kinds.start(i, now_units * u) end
        if own_num[i] ~= num[i] or own_capacity[i] ~= stored_capacity[i] then
            return advance_other(i, now_units, u)
        end
        local ahead = t[i] > now
        -- If no unit boundary is between, nothing has been repaid.
        local elapsed = ahead and 0 or max(0, now_units - (u == 1 and t[i] or ceil(t[i] / u)))
        local owed = min(debt[i], debt_max[i])
        local recovers = ceil(owed / den[i])
        if initial[i] >= 0 and elapsed - recovers >= ceil(debt_limit[i] / den[i]) then
            return kinds.start(i, now_units * u)
        end
        debt[i] = elapsed >= recovers and 0 or owed - elapsed * den[i]
        t[i] = now_units * u
        return ahead
    end

    local function available(i, amount)
        local room = debt_limit[i] - debt[i]
        if amount <= capacity[i] and amount * num[i] <= room then return amount end
        return floor(room / num[i])
    end

    local function charge(i, cost)
        if own_capacity[i] <= 0 then return versions.charge(i, cost * num[i]) end
        kinds.add(i, cost * num[i])
    end

    local function refund(i, cost)
        if own_capacity[i] <= 0 then return versions.refund(i, cost * num[i]) end
        debt[i] = max(0, debt[i] - cost * num[i])
    end

    local function reset_after(i)
        local units, u = ceil(debt[i] / den[i]), unit[i]
        if u == 1 or units == 0 then return units end
        return u * (floor(now / u) + units) - now
    end

    local function lifetime(i)
        local recovers = ceil(debt[i] / den[i]) * unit[i]
        if initial[i] < 0 then return recovers, SPARE * recovers end
        return recovers + ceil(debt_limit[i] / den[i]) * unit[i]
    end

    kinds[BUCKET] = {advance = advance, available = available, charge = charge, refund = refund,
        reset_after = reset_after, lifetime = lifetime, is_full = kinds.is_unused, is_bucket = true,
        has_versions = true}
end
