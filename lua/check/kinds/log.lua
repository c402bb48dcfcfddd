-- A sliding log, in a key of its own: a string of events, the twin of src/server_module/stored_log.
-- An event is its time and the weight of all events up to it: so the weight of any range is one
-- subtraction, and bisection finds the edge of a window. See src/core/log_value.hpp for the bytes.
--
-- Behind the events is room for further ones, all bytes 255, so that times never decrease. A new
-- event is written into that room. Without any, or if the key needs a new TTL, the log is written
-- anew, without the events that have expired. Of a long log only parts are read.
--
-- Errors of commands are raised, and caught where they belong to one key.
--
-- As other batches need none of these functions, which take time to create, they have none.
    local HEAD_FORMAT, HEAD_SIZE, EVENT, EVENT_SIZE, MARK, ROOM, MOST_TOTAL, PART, LOG_SPARE,
        room_for = log_form()
    local MOST_WEIGHT, BLOCK = 4294967295, 64 -- of a window; events that are read later

    local own_longest, log_most -- of the current policy
    local log_key, log_longest -- the current log, and how long its events are kept
    local found_longest, noted_longest -- how long the last change kept them; for the next one
    local promised -- the key does not expire before
    local size, room, ends -- of the value: bytes, events for which it has room, and those in it
    local part, part_at -- some of its bytes, and where they begin
    -- The log consists of the stored events from `from` to `kept`, and of `tails` events in `tail`,
    -- times and sums. Those before `from` weigh `before`.
    local from, kept, before, tail, tails = 0, 0, 0, {}, 0
    local total, newest -- the weight of all events, and the newest time; 0: there is none
    local is_changed, is_cut, is_whole -- to be written: at all, with a new head, as a whole
    local gone, place = {}, {} -- per rule: weight and place of the events before its window

    function logs.survey()
        own_longest, log_most = 0, 16
        for i = 1, rules do
            if kind[i] == LOG then
                own_longest = max(own_longest, period[i])
                log_most = max(log_most, 2 * capacity[i] + 16)
            end
        end
    end

    -- Returns the time of an event, and the weight of all up to it.
    local function event_at(i)
        if i >= kept then return tail[2 * (i - kept) + 1], tail[2 * (i - kept) + 2] end
        local at = HEAD_SIZE + EVENT_SIZE * i - part_at
        if at < 0 or at + EVENT_SIZE > #part then
            at = EVENT_SIZE * (i % BLOCK)
            part_at = HEAD_SIZE + EVENT_SIZE * i - at
            part = call('GETRANGE', log_key, text_of('%d', part_at),
                text_of('%d', part_at + EVENT_SIZE * BLOCK - 1))
        end
        return unpack_bytes(EVENT, part, at + 1)
    end

    -- Returns the first event after a time.
    local function first_after(time, first, last)
        while first < last do
            local middle = floor((first + last) / 2)
            if event_at(middle) <= time then first = middle + 1 else last = middle end
        end
        return first
    end

    -- Returns the first event from `first` to `last` up to which all weigh at least `sum`.
    local function first_with(sum, first, last)
        while first < last do
            local middle = floor((first + last) / 2)
            local _, up_to = event_at(middle)
            if up_to >= sum then last = middle else first = middle + 1 end
        end
        return first
    end

    local function weight_before(i)
        if i == from then return before end
        local _, up_to = event_at(i - 1)
        return up_to
    end

    -- Forgets the events up to a time.
    local function forget(time)
        local first = first_after(time, from, kept + tails)
        from, before = first, weight_before(first)
    end

    local function clear()
        from, kept, before, tails, total, newest = 0, 0, 0, 0, 0, 0
    end

    -- Replaces the events from `i` on by one.
    local function put(i, time, sum)
        kept = min(kept, i)
        tails = i - kept + 1
        tail[2 * tails - 1], tail[2 * tails] = time, sum
        newest, total, is_changed = time, sum, true
    end

    local function read_head(text)
        local events = (size - HEAD_SIZE) / EVENT_SIZE
        if events < 1 or events % 1 ~= 0 then return end
        local expires, form, weight, first = unpack_bytes(HEAD_FORMAT, text)
        local mark, longest = unpack_bytes('<BI7', form)
        if mark ~= MARK or first >= events then return end
        room, kept = events, events
        ends = first_after(now, first, events)
        if ends < room and event_at(ends) <= MOST then ends = first_after(MOST, ends, room) end
        kept = ends
        if ends == first then return clear() end
        promised, found_longest, before, from = expires, min(longest, CENTURY), weight, first
        newest, total = event_at(ends - 1)
        -- What the newest event has made forgotten does not come back if the clock is set back, or
        -- for a version with a longer period.
        if newest > now or found_longest < own_longest then forget(newest - found_longest) end
        log_longest, noted_longest = max(found_longest, own_longest), found_longest
    end

    -- Opens a log of which these are the first bytes, '' or false if there is none. A value that is
    -- not a log is like none, and will be replaced.
    local function open(key, text)
        log_key, part, part_at, promised, found_longest, room, ends = key, text, 0, 0, 0, 0, 0
        log_longest, noted_longest = own_longest, 0
        is_changed, is_cut, is_whole = false, false, false
        clear()
        size = text and #text or 0
        if size == PART then size = call('STRLEN', key) end
        if size > HEAD_SIZE then read_head(text) end
    end

    -- A value other than a string is an error.
    function logs.open(key) open(key, call('GETRANGE', key, '0', text_of('%d', PART - 1))) end

    function logs.is_ahead() return newest > now end

    -- Events after now count as at now, and the first call that may write replaces them by one
    -- event there, as there may be very many.
    function logs.move_to_now()
        if newest <= now then return end
        put(first_after(now, from, kept + tails), now, total)
        is_cut = true
    end

    -- Returns when so many of the oldest events will have left rule i's window that `over` more
    -- fits; 0 if it does now.
    local function fits_at(i, over)
        if over <= 0 then return 0 end
        if over > debt[i] then return now + period[i] end
        -- An event weighs at least 1.
        local last = min(place[i] + over, kept + tails) - 1
        return min(event_at(first_with(gone[i] + over, place[i], last)), now) + period[i]
    end

    -- Reports the log to each of its rules, instead of a state.
    function logs.report(amount, denied)
        local any = false
        for i = 1, rules do any = any or counts_denied[i] end
        for i = 1, rules do
            if kind[i] == LOG then
                place[i] = first_after(now - period[i], from, kept + tails)
                gone[i] = weight_before(place[i])
                debt[i] = max(0, min(total - gone[i], MOST_WEIGHT))
                t[i] = debt[i] == 0 and 0 or min(newest, now)
                local over = debt[i] + amount - debt_limit[i]
                own_capacity[i] = amount > debt_limit[i] and 0 or fits_at(i, over)
                own_num[i] = amount > debt_limit[i] and 0 or any and fits_at(i, over + denied) or 0
            end
        end
    end

    -- Sums begin anew with the weight that counts.
    local function rebase()
        local events = {}
        for i = from, kept + tails - 1 do
            local time, sum = event_at(i)
            events[#events + 1], events[#events + 2] = time, max(0, sum - before)
        end
        local weight = total - before
        clear()
        tail, tails, total, is_whole = events, #events / 2, weight, true
    end

    -- Keeps at most log_most events. Beyond that the oldest are merged into one event with the time
    -- of the last of them: no charge is lost, and the newest events, on which every decision
    -- depends, keep their times. An eighth at a time, so that few calls do this.
    local function merge_oldest()
        local events = kept + tails - from
        if events <= log_most then return end
        from = from + min(events - log_most + floor(log_most / 8), events - 1)
        is_cut = true
    end

    function logs.record(weight)
        forget(now - log_longest)
        local used = max(0, total - before)
        weight = min(weight, MOST_WEIGHT - used)
        if weight <= 0 then return end
        if find_oom() then error({err = oom}) end
        if used == 0 then
            clear()
            log_longest, is_whole = own_longest, true
        elseif total + weight > MOST_TOTAL then
            rebase()
        end
        noted_longest = log_longest
        put(kept + tails, now, total + weight)
        merge_oldest()
    end

    -- Removes `weight` from the newest events.
    function logs.refund(weight)
        if weight == 0 or total == 0 then return end
        forget(now - log_longest)
        if total - weight <= before then return logs.empty() end
        local at = first_with(total - weight, from, kept + tails - 1)
        put(at, min(event_at(at), now), total - weight)
        noted_longest, is_cut = log_longest, true
    end

    function logs.empty()
        clear()
        is_changed = true
    end

    local function head(expires, first)
        return pack(HEAD_FORMAT, expires, pack('<BI7', MARK, noted_longest), before, first)
    end

    -- Returns the bytes of the tail, from its event `first` on.
    local function tail_bytes(first)
        if first == tails then return pack(EVENT, tail[2 * tails - 1], tail[2 * tails]) end
        local bytes = {}
        for i = first, tails do bytes[#bytes + 1] = pack(EVENT, tail[2 * i - 1], tail[2 * i]) end
        return table.concat(bytes)
    end

    -- Writes the events behind the stored ones that are kept, over others. A key with a supplied
    -- clock has no promise, and gets a TTL each time.
    local function write_tail(matters, has_ttl)
        local expires = promised
        if not has_ttl then
            keep(log_key, matters * LOG_SPARE)
            local _, _, promise = lifetime(matters * LOG_SPARE)
            expires = promise
        end
        if is_cut or noted_longest ~= found_longest or expires ~= promised then
            call('SETRANGE', log_key, '0', head(expires, from))
        end
        local done = call('SETRANGE', log_key, text_of('%d', HEAD_SIZE + EVENT_SIZE * kept),
            tail_bytes(1) .. string.rep(ROOM, ends - kept - tails))
        if done ~= size then error({err = 'ERR the log was changed by the same command'}) end
    end

    local function write_all(matters)
        local option, at, expires = lifetime(matters * LOG_SPARE)
        if requests then -- another call of the batch may find it, see `keep`
            keep(log_key, matters * LOG_SPARE)
            option, at = 'PX', text_of('%d', CENTURY / 1000)
        end
        local stored = ''
        if kept > from then
            local first = HEAD_SIZE + EVENT_SIZE * from
            local last = HEAD_SIZE + EVENT_SIZE * kept - 1
            if part_at <= first and part_at + #part > last then
                stored = string.sub(part, first - part_at + 1, last - part_at + 1)
            else
                stored = call('GETRANGE', log_key, text_of('%d', first), text_of('%d', last))
            end
        end
        local spare = oom and 0 or room_for(kept - from + tails)
        if oom then accept_growth(log_key) end
        call('SET', log_key, head(expires, 0) .. stored .. tail_bytes(1 + max(0, from - kept))
            .. string.rep(ROOM, spare), option, at)
    end

    -- Writes the log if it was changed. On a full server only calls that give quota back change it.
    function logs.save()
        if not is_changed then return end
        is_changed = false
        local events = kept + tails
        if events == from then
            if size > 0 then call('DEL', log_key) end
            return
        end
        local matters = log_longest - (now - newest)
        local has_ttl = not supplied and promised >= now + matters
            and promised < now + 2 * matters + SECOND - 1000
        local fits = not is_whole and not oom and not states.cannot_change and events <= room
            and EVENT_SIZE * (max(events, ends) - kept) <= PART
        if size < PART then
            fits = fits and (has_ttl or supplied)
        else
            fits = fits and (has_ttl or events - from > from)
        end
        if fits then write_tail(matters, has_ttl) else write_all(matters) end
    end

kinds[LOG] = {available = kinds.room, charge = kinds.add,
    refund = function() end, reset_after = kinds.window_left, is_reported = true,
        is_elsewhere = true}
