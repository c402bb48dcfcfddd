-- Shared by the parts of the general path: the current key, and a table of functions per part.

-- Its state per slot, see src/core/state.hpp; own_num 0 means that there is none.
local t, debt, own_num, own_capacity = {}, {}, {}, {}

local exists, stale -- the key has a value; it must be replaced even by a denial
local changed       -- the state must be written at the end
local erased        -- there is no state, regardless of the slots
local gives_back    -- the write takes nothing from the limit, and no memory
local finds_stale = false -- a call of the batch found a value that a denial must replace

-- For how long logs, sketches and holders are kept after the script, in microseconds by key. It is
-- set at the end: if the server was halted for long after TIME, the TTL has passed by then, which
-- deletes the key at once, and a later call of the script would find nothing.
local ttls = {}
local function keep(key, us) ttls[key] = us end

-- A full server accepts a new TTL, and then also what needs memory.
local function accept_growth(key) return guarded('PEXPIRE', key, text_of('%d', CENTURY / 1000)) end

local kinds, kind_of = {}, {} -- by number; per slot of the current policy
local versions, logs, sketches, slots, states, verbs = {}, {}, {}, {}, {}, {}
