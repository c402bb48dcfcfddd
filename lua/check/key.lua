-- Shared by the parts of the general path: the current key, and a table of functions per part.

-- Its state per limit, see src/core/state.hpp; own_num 0 means that there is none.
local t, debt, own_num, own_capacity = {0, 0}, {0, 0}, {0, 0}, {0, 0}

local exists, stale -- the key has a value; it must be replaced even by a denial
local changed       -- the state must be written at the end
local erased        -- there is no state, regardless of the rules' fields
local gives_back    -- the write takes nothing from the limit, and no memory
local finds_stale = false -- a call of the batch found a value that a denial must replace

-- For how long logs, sketches and holders are kept after the script, in microseconds by key. It is
-- set at the end: if the server was halted for long after TIME, the TTL has passed by then, which
-- deletes the key at once, and a later call of the script would find nothing. Call `keep` before
-- the key is written: the first call tries the command, with a long TTL, and raises its error, so
-- that a user who may not run it writes nothing.
local keep, set_ttls
do
    local ttls = {}
    local lived, option, at -- many keys of a batch expire together

    -- Returns an error.
    local function set(key, us)
        if us ~= lived then option, at = lifetime(us) end
        lived = us
        local done = guarded(option == 'PX' and 'PEXPIRE' or 'PEXPIREAT', key, at)
        -- A key that a later call has erased, while its hash slot is being moved, needs none.
        return type(done) == 'table' and not done.err:find('non local key', 1, true) and done
    end

    function keep(key, us)
        local failed = next(ttls) == nil and set(key, CENTURY)
        if failed then error(failed) end
        ttls[key] = us
    end

    -- Returns an error.
    function set_ttls()
        for key, us in pairs(ttls) do
            local failed = set(key, us)
            if failed then return failed end
        end
    end
end

-- A full server accepts a new TTL, and then also what needs memory.
local function accept_growth(key) return guarded('PEXPIRE', key, text_of('%d', CENTURY / 1000)) end

-- Those that every batch fills are created with their fields, as a table that grows costs more.
local kind_of = {0, 0} -- per limit of the current policy
local kinds = {start = 0, add = 0, aligned_boundary = 0, boundary_after_use = 0, room = 0,
    advance_window = 0, window_left = 0, has_no_debt = 0, is_unused = 0, need = 0} -- and by number
local versions = {show = 0, whole = 0, debt_max = 0, ticks_per_token = 0, charge = 0, refund = 0,
    repay = 0, owe_whole = 0, has_surplus = 0, show_as_stored = 0, fold = 0}
local states = {advance = 0, load = 0, conflicts = false, is_foreign = 0, save = 0}
local verbs, logs, sketches, slots = {allow_times = 0, apply = 0}, {}, {}, {exist = false}
