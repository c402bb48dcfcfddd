-- One continuous bucket in microseconds.

--@block shape
n == 1 and kind1 == BUCKET and unit1 == 1 and initial1 < 0 and not is_shadow1
--@block setup
--@block state
debt = 0
--@block regular
t >= 0 and t <= now and old >= 0 and old <= debt_max1 and t % 1 + old % 1 == 0
--@block advance
expires = @promised@
debt = old - (now - t) * den1
if debt < 0 then debt = 0 end
--@block available
local after = debt + num1
--@block fits
after <= debt_limit1
--@block charge
local times = 1
if repeats and repeats[@key@] > 1 then
    times = repeats[@key@]
    after = debt + times * num1
    if after > debt_limit1 then
        times = floor((debt_limit1 - debt) / num1)
        after = debt + times * num1
    end
end
--@block lifetime
local matters = den1 == 1 and after or ceil(after / den1)
--@block ttl
SPARE * matters
--@block moving
now, after
