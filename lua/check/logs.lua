-- The fast loop over logs: a batch of one allow of cost 1 for each key under logs alone. It takes
-- the steps of the general path, and leaves to it the batches in which a key has a value, and the
-- keys with long logs.
local is_usual = not (read_repeats or packed or requests or supplied or is_shadow or ARGV[6])
if kind1 == LOG and is_usual then
    local HEAD_FORMAT, HEAD_SIZE, EVENT, EVENT_SIZE, MARK, ROOM, MOST_TOTAL, PART, LOG_SPARE,
        room_for = log_form()
    local AT, TIME = HEAD_SIZE + 1, '<I7' -- of the first event in a log

    -- The limits of the rules; the longest window, and the largest number of events.
    local limits, windows, lasts, events_at_most, is_plain = {0}, {0}, 0, 16, true
    for i = 1, n do
        local _, number, flags, limit, window
        _, number, flags, limit, _, _, _, _, window =
            unpack_bytes('<I4BBdddddd', ARGV[1], LIMITS_AT + LIMIT_BYTES * (i - 1))
        is_plain = is_plain and number == LOG and flags == 0
        limits[i], windows[i] = limit, window
        lasts, events_at_most = max(lasts, window), max(events_at_most, 2 * limit + 16)
    end

    -- Reads short logs with one command; false for others.
    local found
    keys = #KEYS / 2
    if is_plain and guarded('EXISTS', unpack(KEYS, 1, keys)) == 0 then
        values = {}
        for k = 1, keys do values[k] = false end
        found = HEAD_SIZE + 1.25 * EVENT_SIZE * events_at_most < PART
            and call('MGET', unpack(KEYS, keys + 1))
    end

    local soonest, latest = now + lasts, now + 2 * lasts + SECOND - 1000
    local option, at, expires = lifetime(lasts * LOG_SPARE)
    local own_form = pack('<BI7', MARK, lasts)
    local usual_head = pack(HEAD_FORMAT, expires, own_form, 0, 0)
    local first_event = usual_head .. pack(EVENT, now, 1)
    local no_fact = pack('<dddd', 0, 0, 0, 0)
    local no_facts = string.rep(no_fact, n)
    local positions, rooms, part_end = {}, {}, text_of('%d', PART - 1) -- by number of events
    log_counts = values and {}

    for k = 1, values and keys or 0 do
        local key = KEYS[keys + k]
        local text = found and found[k]
        if not found then text = guarded('GETRANGE', key, '0', part_end) end
        -- The facts, or nil if the key needs the general path; what a SET has returned.
        local facts, done
        repeat
            if not text or text == '' then -- or a value of another type, not to be overwritten
                facts, done = no_facts, guarded('SET', key, first_event, option, at, 'NX')
                break
            end
            local count = type(text) == 'string' and (#text - HEAD_SIZE) / EVENT_SIZE or 0
            if count < 1 or count % 1 ~= 0 or #text >= PART then break end
            local promise, form, before, first = unpack_bytes(HEAD_FORMAT, text)
            local events = count > 1 and string.find(text, ROOM, AT, true)
            events = events and ceil((events - AT) / EVENT_SIZE) or count
            if form ~= own_form or first >= events then break end
            local newest, total = unpack_bytes(EVENT, text, AT + EVENT_SIZE * (events - 1))
            if newest > now or total >= MOST_TOTAL then break end
            if newest <= now - lasts then
                facts, done = no_facts, guarded('SET', key, first_event, option, at)
                break
            end
            local all, fits, kept, forgotten = '', true, first, before
            for i = 1, n do
                local edge = now - windows[i]
                -- The first event that counts, and the weight of those before it.
                local counted, gone = first, before
                if newest <= edge then
                    counted, gone = events, total
                elseif first < events - 1
                    and unpack_bytes(TIME, text, AT + EVENT_SIZE * first) <= edge then
                    local last = events - 1
                    counted = first + 1
                    while counted < last do
                        local middle = floor((counted + last) / 2)
                        if unpack_bytes(TIME, text, AT + EVENT_SIZE * middle) <= edge then
                            counted = middle + 1
                        else
                            last = middle
                        end
                    end
                    gone = unpack_bytes('<I5', text, AT + EVENT_SIZE * counted - 5)
                end
                local used, room_at = total - gone, 0
                if used > limits[i] or used < 1 and newest > edge then
                    all = nil
                    break
                end
                if used == limits[i] then
                    fits = false
                    room_at = unpack_bytes(TIME, text, AT + EVENT_SIZE * counted) + windows[i]
                end
                if windows[i] == lasts then kept, forgotten = counted, gone end
                local own = used == 0 and no_fact or pack('<dddd', newest, used, 0, room_at)
                all = n == 1 and own or all .. own
            end
            if not all or not fits then
                facts = all
            elseif events < count and promise >= soonest and promise < latest then
                local position = positions[events]
                if not position then
                    position = text_of('%d', HEAD_SIZE + EVENT_SIZE * events)
                    positions[events] = position
                end
                if guarded('SETRANGE', key, position, pack(EVENT, now, total + 1)) == #text then
                    facts, granted = all, granted + 1
                end
            else
                local size = events - kept + 1
                rooms[size] = rooms[size] or string.rep(ROOM, room_for(size))
                local head = forgotten == 0 and usual_head
                    or pack(HEAD_FORMAT, expires, own_form, forgotten, 0)
                facts, done = all, guarded('SET', key, head
                    .. string.sub(text, AT + EVENT_SIZE * kept, AT + EVENT_SIZE * events - 1)
                    .. pack(EVENT, now, total + 1) .. rooms[size], option, at)
            end
        until true
        if done and done.ok then
            granted = granted + 1
        elseif done ~= nil then -- an error, or the key is another type's
            facts = nil
        end
        log_counts[k] = facts or ''
        if not facts then
            left = left or {}
            left[#left + 1] = k
        end
    end
    if values and not left then
        values[keys + 1] = table.concat(log_counts)
        values[keys + 2] = ARGV[2] .. ' ' .. stamp .. ' ' .. granted .. ' -'
        return values
    end
end
