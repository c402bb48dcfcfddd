-- The kinds of rules: a table for each, in a file of its own below kinds/, which is the twin of one
-- in src/core. The functions, all of them about slot i:
--
--   advance(i)            brings the state to `now`; returns whether what is stored must be
--                         replaced even by a denial
--   available(i, amount)  the largest amount up to `amount` that fits, or less if that is not much
--   charge(i, cost)
--   refund(i, cost)
--   reset_after(i)        how long after `now` the state recovers
--   lifetime(i)           for how long a state that is not full matters, and if it is to be kept
--                         for longer, for how long
--   is_full(i)            whether the state is equivalent to no state
--   next_boundary(i, at)  of steps and windows: the first boundary after `at`
--
-- and what is true of some kinds only, which other parts ask for:
--
--   starts_at_use         boundaries are counted from the first use
--   ends_windows          what is owed ends with a window; other versions give it back in steps
--   is_bucket             debt above the capacity is repaid, not forgotten
--   has_versions          the state may be what another version of the policy still counts
--   is_lockout            it denies for a time; its limit is its period
--   is_reported           the reply says to each call what the store has found
--   is_elsewhere          nothing of it is in the value
--   stored_num            what is stored instead of own_num

-- A bucket's first state; returns whether it is to be written even by a denial.
function kinds.start(i, at)
    t[i], debt[i], own_num[i], own_capacity[i] = at, max(initial[i], 0), num[i], marked[i]
    return initial[i] >= 0
end

-- Where a token is one tick.
function kinds.add(i, cost)
    if debt[i] < most[i] then debt[i] = min(most[i], debt[i] + cost) end
end

function kinds.aligned_boundary(i, at)
    local p = period[i] * unit[i]
    return (floor(at / p) + 1) * p
end

function kinds.boundary_after_use(i, at) return at + period[i] * unit[i] end
