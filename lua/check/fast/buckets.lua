-- Two to eight continuous buckets in microseconds, all in one pass. The first three have local
-- variables, as tables would cost more than everything else here. If there are two, the third is
-- one that never denies and has no lifetime.

--@block shape
n > 1 and has_plain_buckets
--@block setup
local fixed, whole = '', '<dc' .. FIXED * n .. string.rep('dd', n)
for i = 1, n do fixed = fixed .. pack('<I4dd', tag[i], num[i], stored_capacity[i]) end
local value_size, moving_at = HEAD + STATE * n, text_of('%d', HEAD + FIXED * n)
local num1, den1, debt_limit1, debt_max1 = num[1], den[1], debt_limit[1], debt_max[1]
local num2, den2, debt_limit2, debt_max2 = num[2], den[2], debt_limit[2], debt_max[2]
local num3, den3, debt_limit3, debt_max3 = 1, MOST, MOST, MOST
if n > 2 then num3, den3, debt_limit3, debt_max3 = num[3], den[3], debt_limit[3], debt_max[3] end
-- For the fourth and further buckets: the debt before the calls, and the numbers to be written.
local debts, others = {}, {}
local moving, fourth = '<' .. string.rep('dd', n), HEAD + 1 + FIXED * n + 3 * BRIEF
--@block size
value_size
--@block state
debt1, debt2, debt3 = 0, 0, 0
for i = 4, n do debts[i] = 0 end
--@block read
local promised, found, t, old1, t2, old2, t3, old3 = unpack_bytes(whole, value)
if n == 2 then t3, old3 = t, 0 end
--@block regular
t2 == t and t3 == t and t >= 0 and t <= now
    and old1 >= 0 and old1 <= debt_max1 and old2 >= 0 and old2 <= debt_max2
    and old3 >= 0 and old3 <= debt_max3 and t % 1 + old1 % 1 + old2 % 1 + old3 % 1 == 0
--@block advance
-- All were advanced to the same time when they were charged.
local passed = now - t
expires, debt1, debt2, debt3 = promised, old1 - passed * den1, old2 - passed * den2,
    old3 - passed * den3
if debt1 < 0 then debt1 = 0 end
if debt2 < 0 then debt2 = 0 end
if debt3 < 0 then debt3 = 0 end
for i = 4, n do
    local at, old = unpack_bytes('<dd', value, fourth + BRIEF * (i - 4))
    local is_state = at == t and old >= 0 and old <= debt_max[i] and old % 1 == 0
    if not is_state then expires = nil end
    debts[i] = max(0, old - passed * den[i])
end
--@block available
local after1, after2, after3 = debt1 + num1, debt2 + num2, debt3 + num3
local fits = after1 <= debt_limit1 and after2 <= debt_limit2 and after3 <= debt_limit3
for i = 4, n do fits = fits and debts[i] + num[i] <= debt_limit[i] end
--@block fits
fits
--@block charge
local times = 1
if repeats then
    times = min(repeats[@key@], floor((debt_limit1 - debt1) / num1),
        floor((debt_limit2 - debt2) / num2), floor((debt_limit3 - debt3) / num3))
    for i = 4, n do times = min(times, floor((debt_limit[i] - debts[i]) / num[i])) end
    after1, after2, after3 = debt1 + times * num1, debt2 + times * num2, debt3 + times * num3
end
--@block lifetime
local matters, longer2, longer3 = after1 / den1, after2 / den2, after3 / den3
if longer2 > matters then matters = longer2 end
if longer3 > matters then matters = longer3 end
for i = 4, n do
    local after = debts[i] + times * num[i]
    others[2 * i - 7], others[2 * i - 6] = now, after
    matters = max(matters, after / den[i])
end
matters = ceil(matters)
--@block ttl
SPARE * matters
--@block in_place
moving_at, pack(moving, @moving@)
--@block moving
now, after1, now, after2, now, after3, unpack(others)
