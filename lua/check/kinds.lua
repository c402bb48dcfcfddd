-- The kinds of rules, each as its file in src/core. The state of the key at hand, for each slot;
-- own_num 0 means that there is none.
local t, debt, own_num, own_capacity = {}, {}, {}, {}

-- bring: to `now`; answers whether what is stored must be replaced even by a refusal.
-- fitting: the largest amount up to `amount` that there is room for, or less if that is not much.
local bring, fitting, add, take = {}, {}, {}, {}

-- What is stored with other numbers, as in src/core/versions.hpp.
local versions = {}

local function start_bucket(i, at)
    t[i], debt[i], own_num[i], own_capacity[i] = at, max(initial[i], 0), num[i], marked[i]
    return initial[i] >= 0
end

bring[BUCKET] = function(i)
    local u = unit[i]
    local now_units = u == 1 and now or floor(now / u)
    if own_num[i] == 0 then return start_bucket(i, now_units * u) end
    if own_num[i] ~= num[i] or own_capacity[i] ~= marked[i] then
        return versions.bring_bucket(i, now_units, u)
    end
    local ahead = t[i] > now
    -- Without a unit boundary between, nothing has been repaid.
    local elapsed = ahead and 0 or max(0, now_units - (u == 1 and t[i] or ceil(t[i] / u)))
    local owed = min(debt[i], most[i])
    local recovers = ceil(owed / den[i])
    if initial[i] >= 0 and elapsed - recovers >= ceil(full[i] / den[i]) then
        return start_bucket(i, now_units * u)
    end
    debt[i] = elapsed >= recovers and 0 or owed - elapsed * den[i]
    t[i] = now_units * u
    return ahead
end

fitting[BUCKET] = function(i, amount)
    local room = full[i] - debt[i]
    if amount <= capacity[i] and amount * num[i] <= room then return amount end
    return floor(room / num[i])
end

add[BUCKET] = function(i, cost)
    if own_capacity[i] <= 0 then return versions.charge(i, cost * num[i]) end
    if debt[i] < most[i] then debt[i] = min(most[i], debt[i] + cost * num[i]) end
end

take[BUCKET] = function(i, cost)
    if own_capacity[i] <= 0 then return versions.refund(i, cost * num[i]) end
    debt[i] = max(0, debt[i] - cost * num[i])
end

local DAY = 86400 * SECOND
local calendar_end
do
    -- Days since 1970 of the first of a month (1 to 13), and the month of a day: Howard Hinnant,
    -- "chrono-Compatible Low-Level Date Algorithms"; years begin in March.
    local function days_before(year, month)
        if month > 12 then year, month = year + 1, month - 12 end
        if month <= 2 then year = year - 1 end
        local era = floor(year / 400)
        local year_of_era = year - era * 400
        local day = floor((153 * (month > 2 and month - 3 or month + 9) + 2) / 5)
        return era * 146097 + year_of_era * 365 + floor(year_of_era / 4) - floor(year_of_era / 100)
            + day - 719468
    end

    local function month_of(days)
        local z = days + 719468
        local era = floor(z / 146097)
        local day = z - era * 146097
        local year =
            floor((day - floor(day / 1460) + floor(day / 36524) - floor(day / 146096)) / 365)
        local day_of_year = day - (365 * year + floor(year / 4) - floor(year / 100))
        local month = floor((5 * day_of_year + 2) / 153)
        month = month < 10 and month + 3 or month - 9
        return year + era * 400 + (month <= 2 and 1 or 0), month
    end

    calendar_end = {
        [0] = function(days) return days + 1 end,
        function(days) return days + 7 - (days + 3) % 7 end, -- 1970-01-01 was a Thursday
        function(days)
            local year, month = month_of(days)
            return days_before(year, month + 1)
        end,
        function(days) return days_before(month_of(days) + 1, 1) end,
    }
end

-- After `at`; a period after it where windows and steps begin with the first use.
local function next_boundary(i, at)
    local k, p = kind[i], period[i] * unit[i]
    if k == CALENDAR then
        local days = floor((at + offset[i]) / DAY)
        return calendar_end[calendar[i]](days) * DAY - offset[i]
    end
    return (k == STEPWISE or k == FROM_FIRST) and at + p or (floor(at / p) + 1) * p
end

local function start_steps(i)
    return start_bucket(i, next_boundary(i, now))
end

-- t is the next boundary.
bring[STEPWISE] = function(i)
    if own_num[i] == 0 then return start_steps(i) end
    if own_num[i] ~= num[i] or own_capacity[i] ~= marked[i] then
        return versions.bring_steps(i)
    end
    local owed = min(debt[i], most[i])
    local found, ahead = t[i], now < t[i]
    local steps, p = 0, period[i]
    if kind[i] == ALIGNED then
        steps = ahead and 0 or floor(now / p) - ceil(t[i] / p) + 1
        t[i] = next_boundary(i, now)
    elseif ahead then
        t[i] = min(t[i], next_boundary(i, now))
    else
        steps = floor((now - t[i]) / p) + 1
        t[i] = t[i] + steps * p
    end
    local moved = ahead and t[i] ~= found
    local owed_steps = ceil(owed / step[i])
    if initial[i] >= 0 and steps - owed_steps >= ceil(full[i] / step[i]) then
        return start_steps(i)
    end
    debt[i] = steps >= owed_steps and 0 or owed - steps * step[i]
    if debt[i] == 0 and initial[i] < 0 then start_steps(i) end
    return moved
end

-- Where a token is one tick.
fitting[STEPWISE] = function(i, amount)
    return min(amount, full[i] - debt[i])
end

add[LOG] = function(i, cost)
    if debt[i] < most[i] then debt[i] = min(most[i], debt[i] + cost) end
end

take[LOG] = function() end

add[STEPWISE] = function(i, cost)
    if own_capacity[i] <= 0 or own_num[i] ~= num[i] then return versions.charge(i, cost) end
    add[LOG](i, cost)
end

local function take_plain(i, cost) debt[i] = max(0, debt[i] - cost) end

take[STEPWISE] = function(i, cost)
    if own_capacity[i] <= 0 then return versions.refund(i, cost) end
    take_plain(i, cost)
end

-- What counts goes on to the end of the current window.
local function bring_window(i, own)
    local counts = own_num[i] ~= 0 and debt[i] ~= 0 and now < t[i]
    local ends = next_boundary(i, now)
    if counts and kind[i] == FROM_FIRST then ends = min(t[i], ends) end
    local moved = counts and t[i] ~= ends
    t[i], debt[i], own_num[i], own_capacity[i] = ends, counts and min(debt[i], most[i]) or 0, own, 1
    return moved
end

bring[WINDOW] = function(i)
    if own_num[i] ~= 0 and (own_num[i] ~= num[i] or own_capacity[i] ~= 1) then
        return versions.bring_steps(i)
    end
    return bring_window(i, num[i])
end

bring[DISTINCT] = function(i) return bring_window(i, 1) end

bring[ALIGNED], bring[FROM_FIRST], bring[CALENDAR] = bring[STEPWISE], bring[WINDOW], bring[WINDOW]
for _, one in ipairs({ALIGNED, WINDOW, FROM_FIRST, CALENDAR}) do
    fitting[one], add[one], take[one] = fitting[STEPWISE], add[STEPWISE], take[STEPWISE]
end
fitting[LOG] = fitting[STEPWISE]

-- What a counter of another period has left, as a stepped bucket has it.
local function is_others_count(i) return own_num[i] > STEPS end

local function bring_others_count(i)
    if not is_others_count(i) then
        local current, length, largest = now < t[i], own_num[i], versions.most(i)
        local previous = current and min(own_capacity[i], largest) or 0
        local used = (current or now - t[i] < length) and min(debt[i], largest) or 0
        if not current then t[i] = t[i] + length end
        debt[i] = used + min(previous, largest - used)
        own_num[i], own_capacity[i] = STEPS + length, 1
    end
    local moved = versions.bring_steps(i)
    if debt[i] == 0 and own_capacity[i] >= 0 then
        t[i], own_num[i], own_capacity[i] = next_boundary(i, now), period[i] * unit[i], 0
    end
    return moved
end

bring[COUNTER] = function(i)
    local p = period[i] * unit[i]
    if own_num[i] ~= 0 and own_num[i] ~= p then return bring_others_count(i) end
    local ends = (floor(now / p) + 1) * p
    local used, previous = 0, 0
    if own_num[i] ~= 0 and now < t[i] then
        used, previous = min(debt[i], most[i]), min(own_capacity[i], most[i])
    elseif own_num[i] ~= 0 and now - t[i] < p then
        previous = min(debt[i], most[i])
    end
    local moved = (used ~= 0 or previous ~= 0) and t[i] > ends
    t[i], debt[i], own_num[i], own_capacity[i] = ends, used, p, previous
    return moved
end

fitting[COUNTER] = function(i, amount)
    if is_others_count(i) then return fitting[STEPWISE](i, amount) end
    local window_left = t[i] / unit[i] - floor(now / unit[i])
    local space = (full[i] - debt[i]) * period[i] - own_capacity[i] * window_left
    return min(amount, floor(space / period[i]))
end

add[COUNTER] = function(i, cost)
    if is_others_count(i) then return versions.charge(i, cost) end
    add[LOG](i, cost)
end

take[COUNTER] = function(i, cost)
    if is_others_count(i) then return take[STEPWISE](i, cost) end
    take_plain(i, cost)
end

-- own_num: the members if the call's were counted.
fitting[DISTINCT] = function(i, amount)
    if amount > 0 and own_num[i] <= full[i] then return amount end
    return debt[i] <= full[i] and min(amount, 0) or -1
end

add[DISTINCT] = function(i) debt[i] = own_num[i] end
take[DISTINCT] = function() end

local function start_hold(i, length)
    t[i], debt[i], own_num[i], own_capacity[i] = now, length, 1, 1
end

bring[HOLD] = function(i)
    if own_num[i] == 0 then
        start_hold(i, 0)
        return false
    end
    if own_capacity[i] < 0 then return false end
    local ahead = t[i] > now
    local passed = ahead and 0 or now - t[i]
    local all = min(debt[i], CENTURY)
    local left, counts = max(0, all - passed), max(0, min(all, period[i]) - passed)
    start_hold(i, counts)
    if left > counts then own_capacity[i] = counts - left end
    return ahead
end

-- After a grant. What another version still counts goes on.
versions.restart_hold = function(i)
    local left = versions.whole(i)
    start_hold(i, period[i])
    if left > period[i] then own_capacity[i] = period[i] - left end
end

-- How long after now the slot's state recovers, and for how long it matters.
local function reset_after(i)
    local k = kind[i]
    if k == BUCKET then
        local units, u = ceil(debt[i] / den[i]), unit[i]
        if u == 1 or units == 0 then return units end
        return u * (floor(now / u) + units) - now
    elseif k == STEPWISE or k == ALIGNED then
        return debt[i] == 0 and 0 or t[i] + (ceil(debt[i] / step[i]) - 1) * period[i] - now
    elseif k == COUNTER and not is_others_count(i) then
        if debt[i] ~= 0 then return t[i] + period[i] * unit[i] - now end
        return own_capacity[i] ~= 0 and t[i] - now or 0
    elseif k == HOLD then
        return debt[i]
    end
    return debt[i] == 0 and 0 or t[i] - now
end

local function matters_for(i)
    local k = kind[i]
    if (k >= WINDOW and k <= CALENDAR and own_capacity[i] ~= 1)
        or (k == COUNTER and is_others_count(i)) then
        return t[i] + (ceil(debt[i] / step[i]) - 1) * period[i] * unit[i] - now
    elseif initial[i] < 0 or (kind[i] ~= BUCKET and kind[i] ~= STEPWISE and kind[i] ~= ALIGNED) then
        if kind[i] == BUCKET then return ceil(debt[i] / den[i]) * unit[i] end
        return reset_after(i)
    elseif kind[i] == BUCKET then
        return (ceil(debt[i] / den[i]) + ceil(full[i] / den[i])) * unit[i]
    end
    return t[i] + (ceil(debt[i] / step[i]) + ceil(full[i] / step[i]) - 1) * period[i] - now
end

-- The same as no state.
local function is_blank(i)
    return debt[i] == 0 and initial[i] < 0
        and (kind[i] ~= COUNTER or own_capacity[i] == 0 or is_others_count(i))
end
