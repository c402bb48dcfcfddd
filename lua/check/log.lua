-- A sliding log, the twin of src/core/event_log.cpp: a sorted set, by time, of events. A member is
-- the weight of all events up to it and its own, big-endian, so that members never collide, stand
-- in their order where times are equal, and the weight of any stretch is one subtraction.
local logs = {}

do
    local EVENT, EVENT_SIZE = '>I7I4', 11

    local log_key, log_longest, log_most
    local total, newest -- of the current log: the weight of all its events (0: empty), last time
    local gone = {} -- for each rule: the weight of what lies before its window

    function logs.survey()
        log_longest, log_most = 0, 16
        for i = 1, rules do
            if kind[i] == LOG then
                log_longest = max(log_longest, period[i])
                log_most = max(log_most, 2 * capacity[i] + 16)
            end
        end
    end

    -- The weight up to an event, and its own; 0 where it is none of ours.
    local function weights(member)
        if not member or #member ~= EVENT_SIZE then return 0, 0 end
        return unpack_bytes(EVENT, member)
    end

    local function after_edge(us) return '(' .. text_of('%d', now - us) end

    -- The weight of what a window of `us` no longer covers.
    local function weight_before(us)
        local at_first, own = weights(
            redis.call('ZRANGEBYSCORE', log_key, after_edge(us), '+inf', 'LIMIT', '0', '1')[1])
        return at_first == 0 and total or at_first - own
    end

    function logs.empty()
        redis.call('DEL', log_key)
        total, newest = 0, 0
    end

    -- Answers the error where something else than a sorted set is in the way.
    function logs.open(key)
        log_key = key
        local last = guarded('ZRANGE', key, '-1', '-1', 'WITHSCORES')
        if last.err then return last.err end
        total, newest = weights(last[1]), tonumber(last[2] or 0)
    end

    -- Until its newest event has gone.
    local function keep_log()
        local option, at = lifetime(log_longest - (now - newest))
        redis.call(option == 'PX' and 'PEXPIRE' or 'PEXPIREAT', log_key, at)
    end

    -- Events after now count as at now, and whoever may write puts them there.
    function logs.move_to_now()
        if newest <= now then return end
        for _, event in ipairs(redis.call('ZRANGEBYSCORE', log_key, '(' .. now_text, '+inf')) do
            redis.call('ZADD', log_key, now_text, event)
        end
        newest = now
        keep_log()
    end

    -- The first place from `from` to `to` up to which the events weigh at least `sum`.
    local function place_of(sum, from, to)
        while from < to do
            local middle = floor((from + to) / 2)
            if weights(redis.call('ZRANGE', log_key, middle, middle)[1]) >= sum then
                to = middle
            else
                from = middle + 1
            end
        end
        return from
    end

    -- When so much of the oldest has gone from rule i's window that `over` more fits; 0 if it does.
    local function fits_at(i, over)
        if over <= 0 then return 0 end
        if over > debt[i] then return now + period[i] end
        local from = redis.call('ZCOUNT', log_key, '-inf', text_of('%d', now - period[i]))
        -- An event weighs 1 at least.
        local last = min(from + over, redis.call('ZCARD', log_key)) - 1
        local at = place_of(gone[i] + over, from, last)
        local event = redis.call('ZRANGE', log_key, at, at, 'WITHSCORES')
        return min(tonumber(event[2] or now), now) + period[i]
    end

    -- What the log says to each of its rules, in the place of a state.
    function logs.tell(amount, refused)
        local any = false
        for i = 1, rules do any = any or counts_refused[i] end
        for i = 1, rules do
            if kind[i] == LOG then
                gone[i] = total == 0 and 0 or weight_before(period[i])
                debt[i] = total - gone[i]
                t[i] = debt[i] == 0 and 0 or min(newest, now)
                local over = debt[i] + amount - full[i]
                own_capacity[i] = amount > full[i] and 0 or fits_at(i, over)
                own_num[i] = amount > full[i] and 0 or any and fits_at(i, over + refused) or 0
            end
        end
    end

    -- No more than log_most events are kept: older ones cannot change a verdict.
    function logs.record(weight)
        local used = total == 0 and 0 or total - weight_before(log_longest)
        weight = min(weight, 4294967295 - used)
        if weight <= 0 then return end
        if used == 0 then
            logs.empty()
        else
            redis.call('ZREMRANGEBYSCORE', log_key, '-inf', text_of('%d', now - log_longest))
        end
        total, newest = total + weight, now
        redis.call('ZADD', log_key, now_text, pack(EVENT, total, weight))
        if used + weight > log_most then -- an event weighs 1 at least
            local surplus = redis.call('ZCARD', log_key) - log_most
            if surplus > 0 then redis.call('ZREMRANGEBYRANK', log_key, 0, surplus - 1) end
        end
        keep_log()
    end

    -- Takes `weight` from the newest events.
    function logs.refund(weight)
        if weight == 0 or total == 0 then return end
        redis.call('ZREMRANGEBYSCORE', log_key, '-inf', text_of('%d', now - log_longest))
        local target = total - weight
        if target <= weight_before(log_longest) then return logs.empty() end
        local at = place_of(target, 0, redis.call('ZCARD', log_key) - 1)
        local event = redis.call('ZRANGE', log_key, at, at, 'WITHSCORES')
        local sum, own = weights(event[1])
        redis.call('ZREMRANGEBYRANK', log_key, at + 1, -1)
        if sum > target then -- added before it is removed: an empty set would lose its end
            redis.call('ZADD', log_key, event[2], pack(EVENT, target, own - (sum - target)))
            redis.call('ZREM', log_key, event[1])
        end
        total, newest = target, tonumber(event[2])
        keep_log()
    end
end
