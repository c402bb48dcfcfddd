-- The loop over the calls: from the first on a key to its last, and from key to key.
local calls = {make = 0, finish = 0, turn_to = 0, allow_ones = 0}
local PEEK, MOVE = 1, 12 -- a move is denied, and returns nothing

do
    local ALLOW = 0
    local current, counts_before

    -- Runs a function in which commands on logs, sketches and holders may fail. Returns the error,
    -- which belongs to the current key; raised, it would end the whole batch half-way.
    local function catch(run, ...)
        local done, failed = pcall(run, ...)
        if done then return failed end
        if #sketched > 0 then pcall(sketches.forget_trial) end
        return type(failed) == 'table' and failed.err or failed
    end

    -- The size of the reply is bounded: a string that is longer than any value is replaced by an
    -- empty one, which is not a value either.
    local function shorten(k)
        values[first + k - 1] = ''
        for _, shard in ipairs(packed and shards.all or {}) do
            if k >= shard.first and k <= shard.last then shard.found[k - shard.first + 2] = '' end
        end
    end

    local function is_well(k) return not statuses or statuses[first + k - 1] == '.' end

    local function begin(k)
        current, counts_before = k, log_counts and #log_counts or 0
        if requests then
            if is_well(k) then requests.read(k) end
            if not is_well(k) then return end
        end
        states.load(values[first + k - 1])
        finds_stale = finds_stale or stale
        if stale and exists and #values[first + k - 1] > LONGEST then shorten(k) end
        if states.conflicts or (not exists and per_key > 1 and states.is_foreign(k)) then
            return note(first + k - 1, 'c')
        end
        if has_log then
            local failed = catch(logs.open, KEYS[base + keys + k])
            if failed then return note(first + k - 1, 'e', failed) end
            finds_stale = finds_stale or logs.is_ahead()
        end
        if slots.exist then slots.turn_to(KEYS[base + keys * (per_key - 1) + k]) end
    end

    function calls.make(k, times, verb, cost, at_least, member, digests)
        if requests and is_well(k) then requests.write(k, verb, cost, at_least, digests) end
        if times > 1 and verb == ALLOW and at_least == cost and cost > 0 and per_key == 1
            and is_well(k) and not versions.has_surplus() then
            return verbs.allow_times(cost, times)
        end
        for _ = 1, times do
            if not is_well(k) then return end
            local failed
            if per_key > 1 then
                failed = catch(verbs.apply, k, verb, cost, at_least, member)
            else
                failed = verbs.apply(k, verb, cost, at_least, member)
            end
            if failed then note(first + k - 1, 'e', failed) end
        end
    end

    function calls.finish()
        local k = current
        if not k then return end
        current = nil
        if has_log and is_well(k) then
            local failed = catch(logs.save)
            if failed then note(first + k - 1, 'e', failed) end
        end
        if is_well(k) then
            if changed then
                if per_key > 1 then
                    local failed = catch(states.save, k)
                    if failed then note(first + k - 1, 'e', failed) end
                else
                    states.save(k)
                end
            elseif not exists and states.is_foreign(k) then
                note(first + k - 1, 'c')
            end
        end
        if requests then
            if is_well(k) and log_counts then
                requests.add_facts(k, table.concat(log_counts, '', counts_before + 1))
            end
            requests.finish(k, is_well(k))
        end
        -- The facts of a failed key's logs and sketches are not used.
        if log_counts and not is_well(k) then
            for i = #log_counts, counts_before + 1, -1 do log_counts[i] = nil end
        end
    end

    -- Ends the previous key, if it is another one.
    function calls.turn_to(k)
        if k == current then return end
        calls.finish()
        begin(k)
    end

    function calls.allow_ones(k)
        calls.turn_to(k)
        calls.make(k, repeats and repeats[k] or 1, ALLOW, 1, 1)
    end
end

-- `all or nothing` has several policies, each with its own keys.
local groups = {}

local function begin_plan()
    if has_log then logs.survey() end
    for i = 1, n do kind_of[i] = kinds.need(kind[i]) end
    kind_of[n + 1] = kinds.need(LOCKOUT)
    if per_key == 1 then return end
    local is_full, err = find_oom()
    -- Of a user who may not change a value in place.
    if err and not is_full and err:sub(1, 9) ~= 'WRONGTYPE' then states.cannot_change = err end
end

local function use(group)
    read_policy(group.policy)
    base, first, keys = group.base, group.first, group.keys
    begin_plan()
end

-- Makes the calls of ARGV[5], or calls `instead` for each; returns their number. If one of `all or
-- nothing` fails, those after it are not made.
local function make_calls(instead)
    local entries, at, made, group = ARGV[5], 1, 0, 1
    if all_or_nothing then use(groups[1]) end
    while at <= #entries do
        local place, verb, times, cost, at_least, member, digests
        place, verb, times, cost, at_least, at = unpack_bytes('<I2BI2dd', entries, at)
        while all_or_nothing and place + 1 >= first + keys do
            calls.finish()
            group = group + 1
            use(groups[group])
        end
        if #sketched > 0 or slots.exist then member, at = unpack_bytes('<I2c0', entries, at) end
        if requests then digests, at = unpack_bytes('c16', entries, at) end
        local k = place + 2 - first
        calls.turn_to(k)
        if instead or not all_or_nothing or not statuses then
            calls.make(k, times, instead or verb, cost, at_least, member, digests)
        end
        made = made + 1
    end
    calls.finish()
    return made
end

begin_plan()
if all_or_nothing then
    local names, at, from = {}, 1, 0
    for place = 1, #ARGV[6], 2 do
        local group = {policy = at, base = from, first = #names + 1}
        at = read_policy(at)
        group.keys = unpack_bytes('<I2', ARGV[6], place)
        for k = 1, group.keys do names[#names + 1] = KEYS[from + k] end
        from = from + group.keys * per_key
        groups[#groups + 1] = group
    end
    all_keys = #names
    values = redis.call('MGET', unpack(names))
    if make_calls(PEEK) == granted and not statuses then
        granted, log_counts = 0, nil
        make_calls()
        -- If the first call failed, no other was made.
        if statuses and statuses[unpack_bytes('<I2', ARGV[5]) + 1] ~= '.' then granted = 0 end
    else
        granted = 0
        if finds_stale and not statuses then
            local told = log_counts
            log_counts = nil
            make_calls(MOVE)
            log_counts = told
        end
    end
elseif left then
    for k, text in pairs(left.errors or {}) do note(k, 'e', text) end
    local facts, has_facts = log_counts, #left < keys -- of the other keys
    for _, k in ipairs(left) do
        log_counts = nil
        calls.allow_ones(k)
        calls.finish()
        if facts and log_counts then facts[k], has_facts = table.concat(log_counts), true end
    end
    log_counts = has_facts and facts or nil
elseif allows_one then
    for k = 1, keys do calls.allow_ones(k) end
    calls.finish()
else
    local function make(k, ...)
        calls.turn_to(k)
        calls.make(k, ...)
    end
    if not (slots.exist and slots.make_calls(make, calls.finish)) then make_calls() end
end
return set_ttls() or reply()
