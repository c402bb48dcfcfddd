-- The kinds of rules: one table per kind, each in a file below kinds/, which is the twin of one in
-- src/core. The functions, all of them about limit i:
--
--   advance(i)            advances the state to `now`; returns whether the stored one must be
--                         replaced even by a denial
--   available(i, amount)  the largest amount up to `amount` that fits, or less if that is not much
--   charge(i, cost)
--   refund(i, cost)
--   reset_after(i)        how long after `now` the state recovers
--   lifetime(i)           for how long a state that is not full matters, and if it must be kept
--                         for longer, for how long
--   is_full(i)            whether the state is equivalent to no state
--   next_boundary(i, at)  of steps and windows: the first boundary after `at`
--
-- and properties of some kinds, which other parts use:
--
--   starts_at_use         boundaries are counted from the first use
--   ends_windows          debt ends with a window; other versions repay it in steps
--   is_bucket             debt above the capacity is repaid, not forgotten
--   has_versions          the state may be what another version of the policy still counts
--   is_lockout            it denies for a time; its limit is its period
--   is_reported           the reply has facts about the stored state for each call
--   is_elsewhere          its state is not in the value
--   takes_one             a call takes one slot, whatever its cost
--   stored_num            the number stored instead of own_num

-- Sets a bucket's first state; returns whether it must be written even by a denial.
function kinds.start(i, at)
    t[i], debt[i], own_num[i], own_capacity[i] = at, max(initial[i], 0), num[i], stored_capacity[i]
    return initial[i] >= 0
end

-- Charges a rule whose token is one tick.
function kinds.add(i, cost)
    if debt[i] < debt_max[i] then debt[i] = min(debt_max[i], debt[i] + cost) end
end

function kinds.aligned_boundary(i, at)
    local p = period[i] * unit[i]
    return (floor(at / p) + 1) * p
end

function kinds.boundary_after_use(i, at) return at + period[i] * unit[i] end

-- Advances a state that counts until the end of the current window.
function kinds.advance_window(i, own)
    local counts = own_num[i] ~= 0 and debt[i] ~= 0 and now < t[i]
    local ends = kind_of[i].next_boundary(i, now)
    if counts and kind_of[i].starts_at_use then ends = min(t[i], ends) end
    local moved = counts and t[i] ~= ends
    t[i], debt[i], own_num[i], own_capacity[i] =
        ends, counts and min(debt[i], debt_max[i]) or 0, own, 1
    return moved
end

function kinds.room(i, amount) return min(amount, debt_limit[i] - debt[i]) end
function kinds.window_left(i) return debt[i] == 0 and 0 or t[i] - now end
function kinds.has_no_debt(i) return debt[i] == 0 end
function kinds.is_unused(i) return debt[i] == 0 and initial[i] < 0 end

-- By number, what creates a kind's functions: most batches need those of one or two kinds.
local create = {}

function kinds.need(number)
    if not kinds[number] then create[number]() end
    return kinds[number]
end
