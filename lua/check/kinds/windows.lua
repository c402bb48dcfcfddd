-- Fixed windows, the twin of src/core/kinds/windows.hpp, and the calendar's. The C++ twin has its
-- dates from <chrono>.
create[WINDOW] = function()
    local CALENDAR, DAY = 5, 86400 * SECOND
    local steps = kinds.need(STEPWISE)

    -- Return the days from 1970 to the first of a month (1 to 13), and the month of a day: Howard
    -- Hinnant, "chrono-Compatible Low-Level Date Algorithms"; years begin in March.
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

    local calendar_end = {
        [0] = function(days) return days + 1 end,
        function(days) return days + 7 - (days + 3) % 7 end, -- 1970-01-01 was a Thursday
        function(days)
            local year, month = month_of(days)
            return days_before(year, month + 1)
        end,
        function(days) return days_before(month_of(days) + 1, 1) end,
    }

    local function calendar_boundary(i, at)
        local days = floor((at + offset[i]) / DAY)
        return calendar_end[calendar[i]](days) * DAY - offset[i]
    end

    local function advance(i)
        if own_num[i] ~= 0 and (own_num[i] ~= num[i] or own_capacity[i] ~= 1) then
            return steps.advance_other(i)
        end
        return kinds.advance_window(i, num[i])
    end

    -- Debt of other numbers is repaid in steps.
    local function lifetime(i)
        if own_capacity[i] ~= 1 then return steps.lifetime(i) end
        return kinds.window_left(i)
    end

    local function window(next_boundary, starts_at_use)
        return {advance = advance, available = steps.available, charge = steps.charge,
            refund = steps.refund, reset_after = kinds.window_left, lifetime = lifetime,
            is_full = kinds.has_no_debt, next_boundary = next_boundary,
            starts_at_use = starts_at_use, ends_windows = not starts_at_use, has_versions = true}
    end
    kinds[WINDOW] = window(kinds.aligned_boundary, false)
    kinds[FROM_FIRST] = window(kinds.boundary_after_use, true)
    kinds[CALENDAR] = window(calendar_boundary, false)
end
create[FROM_FIRST], create[5] = create[WINDOW], create[WINDOW]
