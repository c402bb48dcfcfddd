-- The fast loop over logs: a batch of one allow of cost 1 for each key under logs alone, with the
-- steps of the general path, but without its functions, which take longer than the commands.
do
    local HEAD_FORMAT, HEAD_SIZE, MARK, EVENT, EVENT_SIZE, ROOM, MOST_TOTAL, PART, LOG_SPARE,
        room_for = unpack(logs.form)

    -- A hostile command may name a key twice. A value may be written only if one of them exists.
    local function are_different(has_values)
        local known = {}
        for i = has_values and 1 or keys + 1, #KEYS do
            if known[KEYS[i]] then return false end
            known[KEYS[i]] = true
        end
        return true
    end

    -- Returns whether the keys can be processed one after the other: none of those without a value
    -- has one of another type.
    local function are_usual()
        local missing = {}
        for k = 1, keys do
            if not values[k] then missing[#missing + 1] = KEYS[k] end
        end
        return are_different(#missing < keys)
            and (#missing == 0 or call('EXISTS', unpack(missing)) == 0)
    end

    -- Returns whether it is such a batch, and its logs unless one of them may be a long one.
    local function read_logs()
        local most = 16
        for i = 1, n do
            if kind[i] ~= LOG or shadow[i] or counts_denied[i] then return false end
            most = max(most, 2 * capacity[i] + 16)
        end
        if is_shadow or repeats or requests or supplied or states.cannot_change or find_oom()
            or not are_usual() then
            return false
        end
        if HEAD_SIZE + 1.25 * EVENT_SIZE * most >= PART then return true end
        return true, call('MGET', unpack(KEYS, keys + 1))
    end

    -- Returns a log, nil if there is none, '' if it is a long one or another type's value.
    local function read_log(key)
        local text = guarded('GETRANGE', key, '0', text_of('%d', PART - 1))
        if text == '' then return nil end
        return type(text) == 'string' and #text < PART and text or ''
    end

    local AT, TIME = HEAD_SIZE + 1, '<I7' -- of the first event in a value
    local unused = pack('<dddd', 0, 0, 0, 0)

    -- Returns the first event after a time, which the last one is.
    local function first_in(text, time, first, last)
        if unpack_bytes(TIME, text, AT + EVENT_SIZE * first) > time then return first end
        while first < last do
            local middle = (first + last - (first + last) % 2) / 2
            if unpack_bytes(TIME, text, AT + EVENT_SIZE * middle) <= time then
                first = middle + 1
            else
                last = middle
            end
        end
        return first
    end

    -- Makes the calls of such a batch; returns false if it is another one. `allow` makes the call
    -- of a key that needs the general path.
    function logs.allow_ones(allow)
        local is_one, found = read_logs()
        if not is_one then return false end
        log_counts = {}
        local lasts = max(unpack(period, 1, n))
        local soonest, latest = now + lasts, now + 2 * lasts + SECOND - 1000
        local option, at, expires = lifetime(lasts * LOG_SPARE)
        local first_event = pack(HEAD_FORMAT, expires, MARK, lasts, 0, 0) .. pack(EVENT, now, 1)
        local no_facts = string.rep(unused, n)
        local places = {} -- of events, as text

        local function write(key, text, first, before, events, slots, promise, event)
            if events < slots and promise >= soonest and promise < latest then
                places[events] = places[events] or text_of('%d', HEAD_SIZE + EVENT_SIZE * events)
                local done = guarded('SETRANGE', key, places[events], event)
                return done == #text and {} or done
            end
            return guarded('SET', key, pack(HEAD_FORMAT, expires, MARK, lasts, before, 0)
                .. string.sub(text, AT + EVENT_SIZE * first, AT + EVENT_SIZE * events - 1) .. event
                .. string.rep(ROOM, room_for(events - first + 1)), option, at)
        end

        -- Returns the facts, or nil if the key needs the general path; what a write has returned.
        local function allow_by(key, text, slots)
            local promise, mark, longest, before, first = unpack_bytes(HEAD_FORMAT, text)
            local events = string.find(text, ROOM, AT, true)
            events = events and ceil((events - AT) / EVENT_SIZE) or slots
            if mark ~= MARK or longest ~= lasts or first >= events then return end
            local newest, total = unpack_bytes(EVENT, text, AT + EVENT_SIZE * (events - 1))
            if newest > now or total >= MOST_TOTAL then return end
            if newest <= now - lasts then
                return no_facts, guarded('SET', key, first_event, option, at)
            end
            local facts, fits, kept, forgotten = '', true, first, before
            for i = 1, n do
                local edge, counted, gone = now - period[i], events, total
                if newest > edge then
                    counted = first_in(text, edge, first, events - 1)
                    gone = before
                    if counted > first then
                        gone = unpack_bytes('<I5', text, AT + EVENT_SIZE * counted - 5)
                    end
                end
                local used, room_at = total - gone, 0
                if used > full[i] or used < 1 and newest > edge then return end
                if used == full[i] then
                    fits = false
                    room_at = unpack_bytes(TIME, text, AT + EVENT_SIZE * counted) + period[i]
                end
                if period[i] == lasts then kept, forgotten = counted, gone end
                local own = used == 0 and unused or pack('<dddd', newest, used, 0, room_at)
                facts = n == 1 and own or facts .. own
            end
            if not fits then return facts end
            return facts, write(key, text, kept, forgotten, events, slots, promise,
                pack(EVENT, now, total + 1))
        end

        for k = 1, keys do
            local key = KEYS[keys + k]
            local text = not found and read_log(key) or found and found[k]
            local slots, facts, done = text and (#text - HEAD_SIZE) / EVENT_SIZE or 0
            if not values[k] and not text then
                done = guarded('SET', key, first_event, option, at, 'NX')
                facts = done and no_facts -- else there is a value of another type
            elseif not values[k] and slots >= 1 and slots % 1 == 0 and #text < PART then
                facts, done = allow_by(key, text, slots)
            end
            if not facts then
                allow(k)
            elseif done and done.err then
                note(k, 'e', done.err)
            else
                if done then granted = granted + 1 end
                log_counts[#log_counts + 1] = facts
            end
        end
        return true
    end
end
