-- The first limit, for the loops over packed states.
local tag1, kind1, is_shadow1, num1, den1 = tag[1], kind[1], shadow[1], num[1], den[1]
local unit1, debt_limit1, debt_max1 = unit[1], debt_limit[1], debt_max[1]
local period1, initial1 = period[1], initial[1]
local whole = '<dc20dd'
