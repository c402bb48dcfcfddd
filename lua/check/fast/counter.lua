-- One sliding window counter: the windows of all keys end at the same time.

--@block shape
n == 1 and kind1 == COUNTER and not is_shadow1
--@block setup
local length = period1 * unit1
local window_end = (floor(now / length) + 1) * length
local matters = window_end + length - now
-- The part of the limit that each charge of the previous window still takes.
local weight = window_end / unit1 - floor(now / unit1)
--@block state
used, previous = 0, 0
--@block read
local promised, found, found_length, before, t, old = unpack_bytes('<dI4dddd', value)
--@block own
found == tag1 and found_length == length and
--@block regular
t >= 0 and t <= window_end and old >= 0 and old <= debt_max1 and before >= 0 and before <= debt_max1
    and t % 1 + old % 1 + before % 1 == 0
--@block advance
expires = promised
if now < t then
    -- Avoids storing -0.
    used, previous = old, before + 0
elseif now - t < length then
    previous = old + 0
end
--@block available
local room = floor(((debt_limit1 - used) * period1 - previous * weight) / period1)
--@block fits
room > 0
--@block charge
local times = repeats and min(repeats[@key@], room) or 1
--@block lifetime
--@block in_place
'20', pack('<ddd', previous, @moving@)
--@block fixed
pack('<I4dd', tag1, length, previous)
--@block moving
window_end, used + times
