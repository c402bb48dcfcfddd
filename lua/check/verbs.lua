-- The verbs, each as in src/core/evaluate.cpp.
do
    local ALLOW, PEEK = 0, 1
    local CHARGE, REFUND, RESET, BLOCK, RESERVE, UNRESERVE, ONCE = 2, 3, 4, 5, 6, 7, 8
    local ACQUIRE, RENEW, RELEASE = 9, 10, 11

    local function is_locked_out()
        return not is_shadow and (debt[n + 1] > 0 or (n > rules and debt[n] > 0))
    end

    -- Returns the largest amount up to `cost` that fits all rules (-1: not even 0), and whether
    -- `at_least` exceeds a limit.
    local function evaluate_rules(cost, at_least)
        local fits, never = cost, false
        for i = 1, rules do
            if not shadow[i] then
                fits = max(-1, kind_of[i].available(i, fits))
                never = never or (at_least > capacity[i] and not kind_of[i].takes_one)
            end
        end
        if is_locked_out() then fits = -1 end
        return fits, never and fits < at_least
    end

    -- `counted` is the number of members before a charge, from which the C++ twin determines
    -- whether it changed.
    local function report_counts(counted)
        if per_key == 1 then return end
        log_counts = log_counts or {}
        for i = 1, rules do
            if kind_of[i].is_reported then
                local used = counted and counted[i] or debt[i]
                log_counts[#log_counts + 1] =
                    pack('<dddd', t[i], used, own_num[i], own_capacity[i])
            end
        end
    end

    -- Notes whether a call must write: only if it changed the state or found one to be replaced.
    local function note_change(wants_write, gives)
        if wants_write or stale then
            changed, stale, erased = true, false, false
            gives_back = gives_back and gives
            versions.show_as_stored()
        end
    end

    -- Starts the period of prevent_duplicate.
    local function start_cooldown()
        if n > rules then kind_of[n].restart(n) end
        return n > rules
    end

    -- Raises the error that the state could not be written with, before anything else is charged.
    local function require_state()
        local err = per_key > 1 and #stored > 0 and states.cannot_change
        if err then error({err = err}) end
    end

    local function count_denied(cost)
        for i = 1, rules do
            if counts_denied[i] then return logs.record(cost) end
        end
    end

    -- Makes `allow`, `acquire` and `peek`. Returns an error.
    local function allow(k, verb, cost, at_least, member)
        if has_log then logs.report(at_least, cost) end
        if slots.exist then slots.report(member, verb == ACQUIRE) end
        for _, i in ipairs(sketched) do own_num[i] = debt[i] end
        if #sketched > 0 and cost > 0 then
            local failed = sketches.try(k, member)
            if failed then
                sketches.forget_trial()
                return failed
            end
        end
        report_counts()
        if verb == ACQUIRE and not slots.has_token() then return end
        local fits, never = evaluate_rules(cost, at_least)
        local allowed = fits >= at_least
        if allowed then granted = granted + 1 end
        if #sketched > 0 and (not allowed or verb == PEEK or fits == 0) then
            sketches.forget_trial()
        end
        if verb == PEEK or never then return end
        if has_log then logs.move_to_now() end
        if slots.exist then slots.shorten() end
        if not allowed then
            if has_log then count_denied(cost) end
            return note_change(false, verb == ACQUIRE) -- or renewals beside it could fail
        end
        if slots.exist or fits > 0 then require_state() end
        if slots.exist then slots.add(member) end
        if fits > 0 then
            if #sketched > 0 then sketches.keep_trial(k, member) end
            for i = 1, rules do kind_of[i].charge(i, fits) end
            if has_log then logs.record(fits) end
        end
        note_change(start_cooldown() or fits > 0)
    end

    -- Makes several identical allows without partial grants, for states that are numbers: calls are
    -- granted in order, and once one does not fit, the next does not either.
    function verbs.allow_times(cost, times)
        local most = cost * times
        local fits, never = evaluate_rules(most, cost)
        if never then return end
        local served = fits == most and times or max(0, floor(fits / cost))
        if n > rules and not is_shadow then served = min(served, 1) end
        if served == 0 then return note_change(false) end
        granted = granted + served
        for i = 1, rules do kind_of[i].charge(i, served * cost) end
        start_cooldown()
        note_change(true)
    end

    local function reserve(cost, max_wait)
        local surplus = versions.owe_whole()
        local fits, never = evaluate_rules(cost, cost)
        local wait = 0
        for i = 1, rules do
            -- In this order, so that no sum is above 2^53.
            local over = cost * num[i] - (debt_limit[i] - debt[i])
            if over > 0 and not shadow[i] then
                local units, u = ceil(over / den[i]), unit[i]
                wait = max(wait, u == 1 and units or u * (floor(now / u) + units) - now)
            end
        end
        if never or is_locked_out() or wait > max_wait then
            for i = 1, rules do versions.show(i, debt[i] - surplus[i], debt[i]) end
            return not never and note_change(false)
        end
        granted = granted + 1
        for i = 1, rules do
            local u = unit[i]
            local units = floor((now + wait) / u) - floor(now / u)
            local saturates = units > floor(debt_max[i] / den[i])
            debt[i] = max(debt[i], saturates and debt_max[i] or units * den[i])
            kind_of[i].charge(i, cost)
            if debt[i] > debt_limit[i] then own_capacity[i] = 0 end
        end
        start_cooldown()
        note_change(true)
    end

    local function recovery_end()
        local longest = 0
        for i = 1, rules do longest = max(longest, kind_of[i].reset_after(i)) end
        return now + longest
    end

    -- Makes `charge`, `refund` and `unreserve`.
    local function adjust(k, change, cost, member)
        local any = false
        if cost > 0 then require_state() end
        for _, i in ipairs(sketched) do own_num[i] = debt[i] end
        if change == 'charge' and #sketched > 0 and cost > 0 then
            local failed = sketches.try(k, member)
            if failed then
                sketches.forget_trial()
                return failed
            end
            sketches.keep_trial(k, member)
        end
        for i = 1, rules do
            if not kind_of[i].is_elsewhere then
                local before, capacity_before = debt[i], own_capacity[i]
                kind_of[i][change](i, cost)
                any = any or debt[i] ~= before or own_capacity[i] ~= capacity_before
            end
        end
        -- If there is no debt any more, the next use is a first one.
        if change == 'refund' then states.advance() end
        if has_log then
            logs.move_to_now()
            if change == 'charge' then
                logs.record(cost)
            else
                logs.refund(cost)
            end
        end
        note_change(any, change == 'refund')
    end

    -- Returns an error.
    local function reset(k)
        for j = 1, #sketched do
            local failed = sketches.error_in(sketches.key(k, j))
            if failed then return failed end
        end
        for i = 1, n + 1 do own_num[i] = 0 end
        debt[n + 1] = 0
        stale = states.advance()
        for j = 1, #sketched do call('DEL', sketches.key(k, j)) end
        if has_log then logs.empty() end
        if slots.exist then slots.empty() end
        changed, erased = true, true
    end

    -- Returns an error.
    function verbs.apply(k, verb, cost, at_least, member)
        local failed, counted
        if slots.exist and verb ~= PEEK and verb ~= ACQUIRE then slots.shorten() end
        if verb == ALLOW or verb == PEEK or verb == ACQUIRE then
            return allow(k, verb, cost, at_least, member)
        elseif verb == RESERVE then
            return reserve(cost, at_least)
        elseif verb == CHARGE then
            counted = {}
            for _, i in ipairs(sketched) do counted[i] = debt[i] end
            failed = adjust(k, 'charge', cost, member)
        elseif verb == REFUND or (verb == UNRESERVE and recovery_end() == at_least) then
            failed = adjust(k, 'refund', cost)
        elseif verb == RESET then
            failed = reset(k)
        elseif verb == BLOCK then
            if has_log then logs.move_to_now() end
            local longer = cost > debt[n + 1]
            if longer then kind_of[n + 1].start(n + 1, cost) end
            note_change(longer)
        elseif verb == ONCE then -- of a policy without rules
            local first_one = evaluate_rules(0, 0) >= 0
            if first_one then granted = granted + 1 end
            if first_one and cost > 0 then kind_of[n + 1].start(n + 1, cost) end
            note_change(first_one and cost > 0)
        else
            if has_log then logs.move_to_now() end
            if verb == RENEW then slots.renew(member) end
            if verb == RELEASE then slots.release(member) end
            note_change(false, verb <= RELEASE) -- not a move
        end
        if failed then return failed end
        if has_log then logs.report(0, 0) end
        if slots.exist and slots.report(member, false, verb == RENEW) then granted = granted + 1 end
        for _, i in ipairs(sketched) do own_num[i] = debt[i] end
        report_counts(counted)
    end
end
