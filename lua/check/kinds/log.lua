-- A sliding log, the twin of src/core/event_log.cpp, in a key of its own: a sorted set, by time, of
-- events. A member is the weight of all events up to it and its own, big-endian, so that members
-- never collide, keep their order if times are equal, and the weight of any range is one
-- subtraction. After these is the time for which the log is kept: the longest period of the
-- policy's versions. More than 12 bytes would cost 16 in a large set. Errors of its commands are
-- raised, and caught where they belong to one key.
do
    local EVENT, EVENT_SIZE = '>I6I4I2', 12
    local MOST_TOTAL, MOST_WEIGHT = 281474976710655, 4294967295

    local own_longest, own_span, log_most -- of the current policy
    local log_key, log_longest, log_span -- how long the current log is kept
    local found_span -- the former time for which it was kept
    local total, newest -- of the current log: the weight of all events (0: empty), newest time
    local gone = {} -- per rule: the weight of the events before its window

    -- Returns a time in two bytes, rounded up by at most 1/512: ten bits, and their shift.
    local function span_of(us)
        local _, width = math.frexp(us)
        local shift = max(0, width - 10)
        local bits = ceil(us / 2 ^ shift)
        if bits == 1024 then shift, bits = shift + 1, 512 end
        return shift * 1024 + bits
    end

    local function keep_for(span)
        log_span, log_longest = span, own_longest
        if span > own_span then
            log_longest = min(span % 1024 * 2 ^ floor(span / 1024), CENTURY)
        end
    end

    function logs.survey()
        own_longest, log_most = 0, 16
        for i = 1, rules do
            if kind[i] == LOG then
                own_longest = max(own_longest, period[i])
                log_most = max(log_most, 2 * capacity[i] + 16)
            end
        end
        own_span = span_of(own_longest)
    end

    -- Returns the weight up to the first of some events, its own, and the time for which it is
    -- kept; 0 if it is not an event.
    local function weights(events)
        local member = events[1]
        if not member or #member ~= EVENT_SIZE then return 0, 0, 0 end
        return unpack_bytes(EVENT, member)
    end

    -- Limits a number of the reply: a sorted set that is not a log may have any scores and members.
    local function whole(number, most)
        if number >= 0 and number <= most then return floor(number) end
        return number > 0 and most or 0
    end

    local function event_at(place)
        return call('ZRANGE', log_key, place, place, 'WITHSCORES')
    end

    local function count_events() return call('ZCARD', log_key) end

    local function after_edge(us) return '(' .. text_of('%d', now - us) end

    -- Returns the weight of the events that a window of `us` no longer covers.
    local function weight_before(us)
        local at_first, own = weights(call('ZRANGEBYSCORE', log_key, after_edge(us), '+inf',
            'LIMIT', '0', '1'))
        return at_first == 0 and total or at_first - own
    end

    function logs.empty()
        call('DEL', log_key)
        total, newest = 0, 0
    end

    -- Returns the error if the key holds a value other than a sorted set.
    function logs.open(key)
        log_key = key
        local last = guarded('ZRANGE', key, '-1', '-1', 'WITHSCORES')
        if last.err then return last.err end
        local all, _, span = weights(last)
        total, newest = all, whole(tonumber(last[2] or 0), MOST)
        found_span = span
        keep_for(max(span, own_span))
    end

    -- Keeps the log until its newest event expires.
    local function keep_log() keep(log_key, log_longest - (now - newest)) end

    function logs.is_ahead() return newest > now end

    -- Events after now count as at now, and the first call that may write replaces them by one
    -- event there, as there may be very many.
    function logs.move_to_now()
        if newest <= now then return end
        local from = '(' .. now_text
        local up_to_first, own =
            weights(call('ZRANGEBYSCORE', log_key, from, '+inf', 'LIMIT', '0', '1'))
        newest = now
        keep_log()
        accept_growth(log_key)
        if total > 0 then
            local weight = whole(total - (up_to_first - own), MOST_WEIGHT)
            call('ZADD', log_key, now_text, pack(EVENT, total, weight, found_span))
        end
        call('ZREMRANGEBYSCORE', log_key, from, '+inf')
    end

    -- Returns the first rank from `from` to `to` up to which the events weigh at least `sum`.
    local function place_of(sum, from, to)
        while from < to do
            local middle = floor((from + to) / 2)
            if weights(call('ZRANGE', log_key, middle, middle)) >= sum then
                to = middle
            else
                from = middle + 1
            end
        end
        return from
    end

    -- Returns when so many of the oldest events will have left rule i's window that `over` more
    -- fits; 0 if it does now.
    local function fits_at(i, over)
        if over <= 0 then return 0 end
        if over > debt[i] then return now + period[i] end
        local edge = text_of('%d', now - period[i])
        local from = call('ZCOUNT', log_key, '-inf', edge)
        -- An event weighs at least 1.
        local at = place_of(gone[i] + over, from, min(from + over, count_events()) - 1)
        local event = event_at(at)
        return whole(tonumber(event[2] or now), now) + period[i]
    end

    -- Reports the log to each of its rules, instead of a state.
    function logs.report(amount, denied)
        local any = false
        for i = 1, rules do any = any or counts_denied[i] end
        for i = 1, rules do
            if kind[i] == LOG then
                gone[i] = total == 0 and 0 or weight_before(period[i])
                debt[i] = total - gone[i]
                if debt[i] < 0 or debt[i] > MOST_WEIGHT then
                    debt[i] = whole(debt[i], MOST_WEIGHT)
                end
                t[i] = debt[i] == 0 and 0 or min(newest, now)
                local over = debt[i] + amount - full[i]
                own_capacity[i] = amount > full[i] and 0 or fits_at(i, over)
                own_num[i] = amount > full[i] and 0 or any and fits_at(i, over + denied) or 0
            end
        end
    end

    -- Keeps at most log_most events. Beyond that the oldest are merged into one event with the time
    -- of the last of them: no charge is lost, and the newest events, on which every decision
    -- depends, keep their times. An eighth at a time, so that few calls do this.
    local function merge_oldest()
        local surplus = count_events() - log_most
        if surplus <= 0 then return end
        local place = surplus + floor(log_most / 8)
        local up_to_first, first_own = weights(event_at(0))
        local event = event_at(place)
        local sum, own, span = weights(event)
        local weight = sum - (up_to_first - first_own)
        call('ZREMRANGEBYRANK', log_key, 0, place - 1)
        if weight > own and weight <= MOST_WEIGHT then
            call('ZADD', log_key, event[2], pack(EVENT, sum, weight, span))
            call('ZREM', log_key, event[1])
        end
    end

    function logs.record(weight)
        local used = total == 0 and 0 or total - weight_before(log_longest)
        weight = min(weight, MOST_WEIGHT - used)
        if weight <= 0 then return end
        if find_oom() then error({err = oom}) end
        if total + weight > MOST_TOTAL then -- everything that counts is merged into this event
            logs.empty()
            weight = used + weight
        elseif used == 0 then
            logs.empty()
            keep_for(own_span)
        else
            call('ZREMRANGEBYSCORE', log_key, '-inf', text_of('%d', now - log_longest))
        end
        total, newest = total + weight, now
        call('ZADD', log_key, now_text, pack(EVENT, total, weight, log_span))
        if used + weight > log_most then merge_oldest() end -- an event weighs at least 1
        keep_log()
    end

    -- Removes `weight` from the newest events. It begins with a removal, which a full server
    -- accepts, and then also the rest.
    function logs.refund(weight)
        if weight == 0 or total == 0 then return end
        call('ZREMRANGEBYSCORE', log_key, '-inf', text_of('%d', now - log_longest))
        local target = total - weight
        if target <= weight_before(log_longest) then return logs.empty() end
        local at = place_of(target, 0, count_events() - 1)
        local event = event_at(at)
        if not event[2] then return end
        local sum, own, span = weights(event)
        call('ZREMRANGEBYRANK', log_key, at + 1, -1)
        -- Added before the removal: an empty set would lose its TTL.
        if sum > target or span ~= log_span then
            call('ZADD', log_key, event[2], pack(EVENT, target, own - (sum - target), log_span))
            call('ZREM', log_key, event[1])
        end
        total, newest = target, tonumber(event[2])
        keep_log()
    end

    kinds[LOG] = {available = kinds[STEPWISE].available, charge = kinds.add,
        refund = function() end, reset_after = kinds[WINDOW].reset_after, is_reported = true,
        is_elsewhere = true}
end
