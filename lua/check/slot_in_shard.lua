-- The first slot, for the loops over packed states.
local tag1, kind1, is_shadow1, num1, den1 = tag[1], kind[1], shadow[1], num[1], den[1]
local unit1, full1, most1, period1, initial1 = unit[1], full[1], most[1], period[1], initial[1]
local whole = '<dc20dd'
