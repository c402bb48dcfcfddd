-- One fixed window, aligned or from the first charge.

--@block shape
n == 1 and (kind1 == WINDOW or kind1 == FROM_FIRST) and not is_shadow1
--@block setup
-- A window that begins now ends then.
local latest, aligned = now + period1, kind1 == WINDOW
if aligned then latest = (floor(now / period1) + 1) * period1 end
--@block state
used, window_end = 0, latest
--@block regular
t >= 0 and t <= latest and old >= 0 and old <= debt_max1 and t % 1 + old % 1 == 0
--@block advance
if t <= now or old == 0 then
    expires = @promised@
elseif t == latest or not aligned then
    expires, used, window_end = @promised@, old, t
end
--@block available
--@block fits
used < debt_limit1
--@block charge
local times = repeats and min(repeats[@key@], debt_limit1 - used) or 1
--@block lifetime
local matters = window_end - now
--@block moving
window_end, used + times
