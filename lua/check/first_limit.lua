-- The first limit, which is the only one of most policies: in variables, as each table costs a
-- tenth of a check. `once` has none.
local LIMITS_AT, LIMIT_BYTES = 4, 86 -- of the limits in ARGV[1]
local tag1, kind1, is_shadow1, capacity1, num1, den1, unit1, debt_max1, period1, initial1, _
if n > 0 then
    tag1, kind1, is_shadow1, capacity1, num1, den1, unit1, debt_max1, period1, _, _, initial1 =
        unpack_bytes('<I4BBddddddddd', ARGV[1], LIMITS_AT)
    is_shadow1 = is_shadow1 % 2 == 1
end

-- Whether the policy is one rule whose state is the value of a key.
local is_one = n == 1 and kind1 <= COUNTER and not (packed or requests or ARGV[6])

local debt_limit1, fixed, whole, moving_at, collects
if is_one then
    keys = #KEYS
    values = call('MGET', unpack(KEYS))
    repeats = read_repeats and read_repeats()
    allows_one = repeats or not read_repeats

    debt_limit1 = num1 > STEPS and capacity1 or capacity1 * num1
    -- The first part of its state, which buckets and windows never change; the format of a value
    -- with it; the position of the rest.
    fixed = pack('<I4dd', tag1, num1, kind1 <= ALIGNED and capacity1 or 1)
    whole, moving_at = '<dc20dd', '28'

    -- Valkey 9.1 can replace several values and keep their TTLs in one command, which is faster
    -- than to change a few bytes of each, unless values are long. A user may lack permission for
    -- it.
    if allows_one and keys > 1 and (redis.VALKEY_VERSION_NUM or 0) >= 0x090100 then
        local known, allowed = pcall(redis.acl_check_cmd, 'MSETEX', '1', KEYS[1], '')
        collects = known and allowed
    end
end
