-- The verbs, each as in src/core/evaluate.cpp, and the way through the calls.
local ALLOW, PEEK, MOVE = 0, 1, 9 -- to move is to be refused, and to say nothing
local allow_times, apply
local finds_stale = false -- a call of the batch found something that a refusal must replace

do
    local CHARGE, REFUND, RESET, BLOCK, RESERVE, UNRESERVE, ONCE = 2, 3, 4, 5, 6, 7, 8

    local function held_up()
        return not refuses_nobody and (debt[n + 1] > 0 or (n > rules and debt[n] > 0))
    end

    -- The largest amount up to `cost` that everybody has room for (-1: not even 0), and whether
    -- `at_least` is more than a limit.
    local function judge(cost, at_least)
        local fits, never = cost, false
        for i = 1, rules do
            if not shadow[i] then
                fits = max(-1, fitting[kind[i]](i, fits))
                never = never or at_least > capacity[i]
            end
        end
        if held_up() then fits = -1 end
        return fits, never and fits < at_least
    end

    -- `counted`: the members before a charge, from which its twin sees whether it changed anything.
    local function note_facts(counted)
        if not has_log and #sketches == 0 then return end
        facts = facts or {}
        for i = 1, rules do
            if kind[i] == LOG or kind[i] == DISTINCT then
                local used = counted and counted[i] or debt[i]
                facts[#facts + 1] = pack('<dddd', t[i], used, own_num[i], own_capacity[i])
            end
        end
    end

    -- What is to be written after a call: nothing, unless it changed the state or found one to be
    -- replaced.
    local function note_change(wants_write, gives)
        if wants_write or stale then
            changed, stale, erased = true, false, false
            gives_back = gives_back and gives
            versions.show_as_stored()
        end
    end

    -- What prevent_duplicate counts from.
    local function start_duplicate_hold()
        if n > rules then versions.restart_hold(n) end
        return n > rules
    end

    local function count_refused(cost)
        for i = 1, rules do
            if counts_refused[i] then return logs.record(cost) end
        end
    end

    -- `allow` and `peek`. Answers an error.
    local function ask(k, verb, cost, at_least, member)
        if has_log then logs.tell(at_least, cost) end
        for _, i in ipairs(sketches) do own_num[i] = debt[i] end
        if member and cost > 0 then
            local failed = members.try(k, member)
            if failed then
                members.forget_trial()
                return failed
            end
        end
        note_facts()
        local fits, never = judge(cost, at_least)
        local allowed = fits >= at_least
        if allowed then granted = granted + 1 end
        if not allowed or verb == PEEK or fits == 0 then members.forget_trial() end
        if verb == PEEK or never then return end
        if has_log then logs.move_to_now() end
        if not allowed then
            if has_log then count_refused(cost) end
            return note_change(false)
        end
        if fits > 0 then
            if member and cost > 0 then members.keep_trial(k, member) end
            for i = 1, rules do add[kind[i]](i, fits) end
            if has_log then logs.record(fits) end
        end
        note_change(start_duplicate_hold() or fits > 0)
    end

    -- An allow, all or nothing, several times over, where states are numbers: calls are granted in
    -- their order, and once there is no room for one, there is none for the next.
    allow_times = function(cost, times)
        local most = cost * times
        local fits, never = judge(most, cost)
        if never then return end
        local served = fits == most and times or max(0, floor(fits / cost))
        if n > rules and not refuses_nobody then served = min(served, 1) end
        if served == 0 then return note_change(false) end
        granted = granted + served
        for i = 1, rules do add[kind[i]](i, served * cost) end
        start_duplicate_hold()
        note_change(true)
    end

    local function reserve(cost, max_wait)
        local surplus = versions.owe_whole()
        local fits, never = judge(cost, cost)
        local wait = 0
        for i = 1, rules do
            local over = cost * num[i] - (full[i] - debt[i]) -- in this order: no sum is above 2^53
            if over > 0 and not shadow[i] then
                local units, u = ceil(over / den[i]), unit[i]
                wait = max(wait, u == 1 and units or u * (floor(now / u) + units) - now)
            end
        end
        if never or held_up() or wait > max_wait then
            for i = 1, rules do versions.show(i, debt[i] - surplus[i], debt[i]) end
            return not never and note_change(false)
        end
        granted = granted + 1
        for i = 1, rules do
            local u = unit[i]
            local units = floor((now + wait) / u) - floor(now / u)
            debt[i] = max(debt[i], units > floor(most[i] / den[i]) and most[i] or units * den[i])
            add[BUCKET](i, cost)
            if debt[i] > full[i] then own_capacity[i] = 0 end
        end
        start_duplicate_hold()
        note_change(true)
    end

    local function recovery_end()
        local longest = 0
        for i = 1, rules do longest = max(longest, reset_after(i)) end
        return now + longest
    end

    -- `charge`, `refund` and `unreserve`.
    local function settle(k, change, cost, member)
        local any = false
        for _, i in ipairs(sketches) do own_num[i] = debt[i] end
        if change == add and member and cost > 0 then
            local failed = members.try(k, member)
            if failed then
                members.forget_trial()
                return failed
            end
            members.keep_trial(k, member)
        end
        for i = 1, rules do
            if kind[i] ~= LOG then
                local before, capacity_before = debt[i], own_capacity[i]
                change[kind[i]](i, cost)
                any = any or debt[i] ~= before or own_capacity[i] ~= capacity_before
            end
        end
        -- Where nothing is owed any more, the next use is a first one.
        if change == take then bring_all() end
        if has_log then
            logs.move_to_now()
            if change == add then
                logs.record(cost)
            else
                logs.refund(cost)
            end
        end
        note_change(any, change == take)
    end

    -- Answers an error.
    local function reset(k)
        for j = 1, #sketches do
            local failed = members.error_in(members.key(k, j))
            if failed then return failed end
        end
        for i = 1, n + 1 do own_num[i] = 0 end
        debt[n + 1] = 0
        stale = bring_all()
        for j = 1, #sketches do call('DEL', members.key(k, j)) end
        if has_log then logs.empty() end
        changed, erased = true, true
    end

    -- Answers an error.
    apply = function(k, verb, cost, at_least, member)
        local failed, counted
        if verb == ALLOW or verb == PEEK then
            return ask(k, verb, cost, at_least, member)
        elseif verb == RESERVE then
            return reserve(cost, at_least)
        elseif verb == CHARGE then
            counted = {}
            for _, i in ipairs(sketches) do counted[i] = debt[i] end
            failed = settle(k, add, cost, member)
        elseif verb == REFUND or (verb == UNRESERVE and recovery_end() == at_least) then
            failed = settle(k, take, cost)
        elseif verb == RESET then
            failed = reset(k)
        elseif verb == BLOCK then
            if has_log then logs.move_to_now() end
            local longer = cost > debt[n + 1]
            if longer then start_hold(n + 1, cost) end
            note_change(longer)
        elseif verb == ONCE then -- of a policy without rules
            local first_one = judge(0, 0) >= 0
            if first_one then granted = granted + 1 end
            if first_one and cost > 0 then start_hold(n + 1, cost) end
            note_change(first_one and cost > 0)
        else
            if has_log then logs.move_to_now() end
            note_change(false)
        end
        if has_log then logs.tell(0, 0) end
        for _, i in ipairs(sketches) do own_num[i] = debt[i] end
        note_facts(counted)
        return failed
    end
end

-- A key from its first call to its last.
local key_at, begin_key, call_key, end_key
local is_large -- the current plan has a log or sketches

do
    local facts_before

    -- Runs a function in which commands on logs and sketches may fail. Returns the error: it is one
    -- of the current key; raised, it would be one of the whole batch, half of it done.
    local function catch(run, ...)
        local done, failed = pcall(run, ...)
        if done then return failed end
        pcall(members.forget_trial)
        return type(failed) == 'table' and failed.err or failed
    end

    -- The reply has a bound: what is longer than a value becomes one that is none, too.
    local function shorten(k)
        values[first + k - 1] = ''
        for _, row in ipairs(rows) do
            if k >= row.first and k <= row.last then row.found[k - row.first + 2] = '' end
        end
    end

    begin_key = function(k)
        key_at, facts_before = k, facts and #facts or 0
        load(values[first + k - 1])
        finds_stale = finds_stale or stale
        if stale and exists and #values[first + k - 1] > LONGEST then shorten(k) end
        if not exists and is_large and is_foreign(k) then
            return note(first + k - 1, 'c')
        end
        if has_log then
            local failed = logs.open(KEYS[base + keys + k])
            if failed then return note(first + k - 1, 'e', failed) end
            finds_stale = finds_stale or logs.is_ahead()
        end
    end

    local function is_well(k) return not statuses or statuses[first + k - 1] == '.' end

    call_key = function(k, times, verb, cost, at_least, member)
        if times > 1 and verb == ALLOW and at_least == cost and cost > 0 and not is_large
            and is_well(k) and not versions.has_surplus() then
            return allow_times(cost, times)
        end
        for _ = 1, times do
            if not is_well(k) then return end
            local failed
            if is_large then
                failed = catch(apply, k, verb, cost, at_least, member)
            else
                failed = apply(k, verb, cost, at_least, member)
            end
            if failed then note(first + k - 1, 'e', failed) end
        end
    end

    end_key = function()
        local k = key_at
        if not k then return end
        key_at = nil
        if is_well(k) then
            if changed then
                if is_large then
                    local failed = catch(save, k)
                    if failed then note(first + k - 1, 'e', failed) end
                else
                    save(k)
                end
            elseif not exists and is_foreign(k) then
                note(first + k - 1, 'c')
            end
            end
        -- What a failed key's logs and sketches said is of no use to anybody.
        if facts and not is_well(k) then
            for i = #facts, facts_before + 1, -1 do facts[i] = nil end
        end
    end
end

-- `all or nothing` has several plans, each with keys of its own.
local groups = {}

local function begin_plan()
    logs.survey()
    is_large = has_log or #sketches > 0
    if is_large then find_oom() end
end

local function use(group)
    read_plan(group.plan)
    base, first, keys = group.base, group.first, group.keys
    begin_plan()
end

local function find_groups()
    local names, at, from = {}, 1, 0
    for place = 1, #ARGV[6], 2 do
        local group = {plan = at, base = from, first = #names + 1}
        at = read_plan(at)
        group.keys = unpack_bytes('<I2', ARGV[6], place)
        for k = 1, group.keys do names[#names + 1] = KEYS[from + k] end
        from = from + group.keys * (1 + (has_log and 1 or 0) + #sketches)
        groups[#groups + 1] = group
    end
    all_keys = #names
    values = redis.call('MGET', unpack(names))
end

-- Makes the calls of ARGV[5], or what else is to be done with them; returns how many there are.
local function make_calls(instead)
    local calls, at, made, group = ARGV[5], 1, 0, 1
    if all_or_nothing then use(groups[1]) end
    while at <= #calls do
        local place, verb, times, cost, at_least, member
        place, verb, times, cost, at_least, at = unpack_bytes('<I2BI2dd', calls, at)
        while all_or_nothing and place + 1 >= first + keys do
            end_key()
            group = group + 1
            use(groups[group])
        end
        if #sketches > 0 then member, at = unpack_bytes('<I2c0', calls, at) end
        local k = place + 2 - first
        if k ~= key_at then
            end_key()
            begin_key(k)
        end
        call_key(k, times, instead or verb, cost, at_least, member)
        made = made + 1
    end
    end_key()
    return made
end

local function allow_ones(k)
    begin_key(k)
    call_key(k, asked and asked[k] or 1, ALLOW, 1, 1)
    end_key()
end

begin_plan()
if all_or_nothing then
    find_groups()
    if make_calls(PEEK) == granted and not statuses then
        granted, facts = 0, nil
        make_calls()
    else
        granted = 0
        if finds_stale and not statuses then
            local told = facts
            facts = nil
            make_calls(MOVE)
            facts = told
        end
    end
elseif left then
    for _, k in ipairs(left) do allow_ones(k) end
elseif asked or ARGV[5] == '' then
    for k = 1, keys do allow_ones(k) end
else
    make_calls()
end
return reply()
