-- What the parts of the general way share: the current key, and a table of functions for each part.

-- Its state, for each slot, which src/core/state.hpp explains; own_num 0 means that there is none.
local t, debt, own_num, own_capacity = {}, {}, {}, {}

local exists, stale -- there is something; it must be replaced even by a denial
local changed       -- something is to be written at the end
local erased        -- there is no state, whatever the slots say
local gives_back    -- what is to be written takes nothing from the limit, and no memory
local finds_stale = false -- a call of the batch found something that a denial must replace

local kinds, kind_of = {}, {} -- by number; for each slot of the current plan
local versions, logs, sketches, states, verbs = {}, {}, {}, {}, {}
