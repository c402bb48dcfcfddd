-- Packed states: a shard is two hashes, with a field for each of its keys. The first write after a
-- generation begins a new hash, and the previous one becomes the old one: states in neither of them
-- have recovered. So no key needs its own TTL, nor a promise in its value. Versions of a policy may
-- have different generations: a hash records the longest that wrote to it, and is kept for as long,
-- and so is the old one.
--
-- The head of a hash is its field with an empty name: the time since when it is the new one, the
-- time before which it does not expire (f64 each), the numbers (tag:u32, num and capacity, f64) of
-- the brief values in it, which are t and debt alone, and the longest generation of its states and
-- of those in the old hash when it began (f64 each). Values of other numbers, of several rules or
-- of counters are whole. A head is long on purpose: the server stores a hash of up to 512 short
-- fields as a list, which it searches linearly.
if packed then
    local function make_shards()
        local HEAD_FORMAT, HEAD_SIZE, FILLER = '<ddc' .. FIXED .. 'dd', 80, string.rep('\0', 28)

        -- For each shard its first and last key, the two hashes, the values found and the numbers
        -- of the head.
        local all = {}

        -- Per key: the state to be written, or false if there is none any more; whether it returns
        -- quota; for how long it matters.
        local written, gave_back, lifetimes = {}, {}, {}

        -- The policy's own numbers; zeros if values are never brief.
        local numbers, are_brief = string.rep('\0', FIXED), n == 1 and kind[1] ~= COUNTER
        if are_brief then numbers = pack('<I4dd', tag[1], num[1], stored_capacity[1]) end

        local function fail_shard(shard, done)
            for k = shard.first, shard.last do note(k, 'e', done.err) end
        end

        local function span_of(us) return us >= 0 and us <= CENTURY and us % 1 == 0 and us or 0 end

        -- A hash without a head gets the policy's numbers, and begins a new generation.
        local function read_head(head)
            if not head or #head ~= HEAD_SIZE then return -1, 0, numbers, 0, 0 end
            local since, ends, others, longest, before = unpack_bytes(HEAD_FORMAT, head)
            return since, ends, others, span_of(longest), span_of(before)
        end

        -- Makes brief values of other numbers whole.
        local function make_whole(found, others)
            for i = 2, #found do
                local value = found[i]
                if value and #value == BRIEF then found[i] = pack('<d', 0) .. others .. value end
            end
        end

        -- Returns the values found, where places[1] is for the head: most keys are in the new hash.
        local function read_shard(shard)
            local from = FIELDS + shard.first
            local found = guarded('HMGET', shard.new, '', unpack(ARGV, from, FIELDS + shard.last))
            if found.err then return found end
            local since, ends, others, longest, before = read_head(found[1])
            shard.numbers, shard.since, shard.longest, shard.before = others, since, longest, before
            local lasts = max(generation, longest, before)
            shard.is_open = since >= 0 and since <= now and now - since < lasts
                and longest >= generation and ends >= now + lasts
            if others ~= numbers then make_whole(found, others) end
            found[1] = false
            local fields, places
            for i = 2, shard.last - shard.first + 2 do
                if not found[i] then
                    if not places then fields, places = {''}, {1} end
                    fields[#fields + 1], places[#places + 1] = ARGV[from + i - 2], i
                end
            end
            if not places then return found end
            local older = guarded('HMGET', shard.old, unpack(fields))
            if older.err then return older end
            since, ends, others = read_head(older[1])
            if others ~= numbers then make_whole(older, others) end
            for i = 2, #places do found[places[i]] = older[i] end
            return found
        end

        local function read_shards()
            local from = 1
            for place = 1, #ARGV[6], 2 do
                local size = unpack_bytes('<I2', ARGV[6], place)
                -- Created with all its fields, as a table that grows costs more.
                local shard = {first = from, last = from + size - 1, new = KEYS[place],
                    old = KEYS[place + 1], found = false, numbers = false, since = -1,
                    longest = 0, before = 0, is_open = false}
                shard.found = read_shard(shard)
                if shard.found.err then
                    fail_shard(shard, shard.found)
                    shard.found, shard.numbers = {false}, false
                    for i = 1, size do shard.found[i + 1] = false end
                end
                all[#all + 1], from = shard, from + size
            end
        end

        -- Copies the values into one array, for the general path.
        local function unroll()
            for _, shard in ipairs(all) do
                for k = shard.first, shard.last do
                    if not (statuses and statuses[k] == 'e') then
                        values[k] = shard.found[k - shard.first + 2]
                    end
                end
            end
        end

        -- Fields and values of one shard after another, from bytes[3] on: a new table for each
        -- would cost more.
        local bytes = {}

        -- Deletes the old hash and makes the new one old. Returns an error, or the generation of
        -- the old hash if it must still be kept.
        local function turn_shard(shard)
            if find_oom() then return {err = oom} end
            local done = guarded('HMGET', shard.old, '') -- another type must not be deleted
            if done.err then return done end
            local _, _, _, longest = read_head(done[1])
            if now - shard.since < longest then return nil, longest end
            done = guarded('UNLINK', shard.old)
            if type(done) == 'number' then done = guarded('RENAME', shard.new, shard.old) end
            if done.err then return done end
            shard.since, shard.numbers, shard.before, shard.longest = now, numbers, shard.longest, 0
        end

        -- Ensures that there is a new hash of this generation, with a sufficient TTL: fields to be
        -- written for that go to `bytes`. Returns an error, or how to set its TTL.
        local function open_shard(shard, matters)
            local since = shard.since
            if not (since >= 0 and since <= now) then -- there is none, or the clock was set back
                shard.since = now
            elseif now - since >= max(generation, shard.longest, shard.before) then
                local done, stays = turn_shard(shard)
                if done then return done end
                shard.before = stays or shard.before
            end
            shard.longest = max(shard.longest, matters)
            local option, at, ends = lifetime(2 * max(shard.longest, shard.before))
            bytes[1], bytes[2] = '', pack(HEAD_FORMAT, shard.since, ends, shard.numbers,
                shard.longest, shard.before) .. FILLER
            shard.is_open = true
            return nil, option == 'PX' and 'PEXPIRE' or 'PEXPIREAT', at
        end

        -- Writes a state that returns quota on a full server, which accepts an HSET after an HDEL.
        local function rewrite_state(shard, k, value)
            find_oom()
            local done = guarded('HDEL', shard.new, ARGV[FIELDS + k])
            if type(done) ~= 'table' then
                done = guarded('HSET', shard.new, ARGV[FIELDS + k], value)
            end
            return type(done) == 'table' and done.err
        end

        local function write_states(shard, last, matters)
            local first, done, option, at = 3
            matters = max(generation, matters or 0)
            if not shard.is_open or matters > shard.longest then
                first, done, option, at = 1, open_shard(shard, matters)
            end
            -- Tried before the write, even if there is no hash yet: a user who may not set it
            -- charges nothing.
            if option and not find_oom() then
                done = guarded(option, shard.new, at)
                done = type(done) == 'table' and done
            end
            if not done then
                done = oom and {err = oom} or guarded('HSET', shard.new, unpack(bytes, first, last))
                if type(done) ~= 'table' then
                    if option then done = guarded(option, shard.new, at) end
                    if type(done) ~= 'table' then return end
                end
            end
            local values_of = {}
            for i = 3, last, 2 do values_of[bytes[i]] = bytes[i + 1] end
            for k = shard.first, shard.last do
                local value, failed = values_of[ARGV[FIELDS + k]], done.err
                if value and first == 3 and gave_back[k] and is_oom(failed) then
                    failed = rewrite_state(shard, k, value)
                end
                if value and failed then note(k, 'e', failed) end
            end
        end

        -- Calls with ids have the field of their key again and again.
        local function fail_field(shard, k, done)
            for other = shard.first, shard.last do
                if ARGV[FIELDS + other] == ARGV[FIELDS + k] then note(other, 'e', done.err) end
            end
        end

        local function erase_state(shard, k)
            find_oom()
            for _, hash in ipairs({shard.old, shard.new}) do
                local done = guarded('HDEL', hash, ARGV[FIELDS + k])
                if type(done) == 'table' then return fail_field(shard, k, done) end
            end
        end

        -- Writes states, brief if they have the numbers of their shard.
        local function write_shard(shard)
            local last, matters, is_ours = 2, 0, are_brief and shard.numbers == numbers
            for k = shard.first, shard.last do
                local value = written[k]
                if value == false then
                    erase_state(shard, k)
                elseif value then
                    if is_ours and #value == HEAD + STATE
                        and string.sub(value, HEAD + 1, HEAD + FIXED) == numbers then
                        value = string.sub(value, HEAD + FIXED + 1)
                    end
                    bytes[last + 1], bytes[last + 2] = ARGV[FIELDS + k], value
                    last, matters = last + 2, max(matters, lifetimes[k] or 0)
                end
            end
            if last > 2 then write_states(shard, last, matters) end
        end

        local function write()
            local found, any = {}, next(written)
            for r, shard in ipairs(all) do
                if any then write_shard(shard) end
                for k = shard.first, (statuses or requests) and shard.last or 0 do
                    if requests or statuses[k] == 'e' then
                        shard.found[k - shard.first + 2] = values[k]
                    end
                end
                found[r] = shard.found
            end
            return found
        end

        read_shards()
        return {all = all, written = written, gave_back = gave_back, lifetimes = lifetimes,
            numbers = numbers, are_brief = are_brief, bytes = bytes, unroll = unroll,
            write_states = write_states, write = write}
    end
    shards = make_shards()
end
