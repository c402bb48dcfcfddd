-- The holders of slots, the twin of src/core/slot_set.cpp, in a key of its own: a sorted set of
-- their ids by the end of their leases, and of '' by minus the last fencing token. Errors of its
-- commands are raised, like those of logs.
do
    local CONCURRENT = 10
    local rule, lease -- of the policy, of which a batch has one only
    for i = 1, rules do
        if kind[i] == CONCURRENT then rule, lease = i, period[i] end
    end
    slots.exist = rule ~= nil

    -- Other batches need none of these functions, which take time to create.
    if slots.exist then
        local TOKEN, now_text = '', text_of('%d', now)
        local slot_key -- of the current key
        -- Whether acquires need memory beyond the limit, too: they are granted, or a log counts
        -- them.
        local always_grows = shadow[rule]
        for i = 1, rules do always_grows = always_grows or counts_denied[i] end

        function slots.turn_to(key) slot_key = key end

        -- Limits a number: a sorted set of another program may have any scores.
        local function whole(number, most)
            if number >= 0 and number <= most then return floor(number) end
            return number > 0 and most or 0
        end

        local function score_of(member) return tonumber(call('ZSCORE', slot_key, member) or 0) end

        local function holds(id) return score_of(id) > now end

        local function last_token() return whole(-score_of(TOKEN), MOST) end
        function slots.last_token() return last_token() end

        -- Returns the end of the lease with so many leases from it to the last one.
        local function end_of(from_last)
            local found = call('ZRANGE', slot_key, -from_last, -from_last, 'WITHSCORES')
            return whole(min(tonumber(found[2]), now + lease), MOST)
        end

        -- Reports the holders to the rule, instead of a state. Returns whether it is a renewal that
        -- is granted. An acquire for which the server has no memory has no token.
        function slots.report(id, acquires, renews)
            local held = id ~= TOKEN and holds(id)
            local holders = call('ZCOUNT', slot_key, '(' .. now_text, '+inf')
            local others = holders - (acquires and held and 1 or 0)
            t[rule] = holders == 0 and 0 or end_of(1)
            debt[rule] = others
            local grows = acquires and (others < debt_limit[rule] or always_grows)
            local lacks_memory = grows and find_oom()
            own_num[rule] = acquires and not lacks_memory and min(MOST, max(last_token() + 1, now))
                or renews and held and max(1, last_token()) or 0
            own_capacity[rule] = others < debt_limit[rule] and 0 or end_of(debt_limit[rule])
            return renews and held
        end

        -- Returns whether an acquire can be decided. If not, only this call fails: others for the
        -- key may be releases.
        function slots.has_token() return own_num[rule] > 0 end

        -- Keeps the set until one lease after now: no lease ends later then.
        local function keep_set() keep(slot_key, lease) end

        local function end_at(...) call('ZADD', slot_key, ...) end

        -- Makes leases end at most one lease after now.
        function slots.shorten()
            local latest = text_of('%d', now + lease)
            local longer = call('ZRANGEBYSCORE', slot_key, '(' .. latest, '+inf')
            if #longer == 0 then return end
            keep_set()
            accept_growth(slot_key)
            for first = 1, #longer, 1000 do
                local changes = {}
                for k = first, min(first + 999, #longer) do
                    changes[#changes + 1], changes[#changes + 2] = latest, longer[k]
                end
                end_at(unpack(changes))
            end
        end

        -- Gives a holder a lease, and stores its token.
        function slots.add(id)
            keep_set()
            call('ZREMRANGEBYSCORE', slot_key, '0', now_text)
            end_at(text_of('%d', -own_num[rule]), TOKEN, text_of('%d', now + lease), id)
        end

        function slots.renew(id)
            if not holds(id) then return end
            keep_set()
            accept_growth(slot_key)
            end_at(text_of('%d', now + lease), id)
        end

        function slots.release(id) call('ZREM', slot_key, id) end

        function slots.empty() call('DEL', slot_key) end

        -- An acquire takes one slot, whatever its cost.
        local function available(i, amount) return own_capacity[i] == 0 and amount or -1 end

        -- Grants change the set only.
        local function keep_state() end
        kinds[CONCURRENT] = {available = available, charge = keep_state, refund = keep_state,
            reset_after = kinds.window_left, is_reported = true, is_elsewhere = true,
            takes_one = true}
    end
end
