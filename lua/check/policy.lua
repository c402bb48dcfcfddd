-- Many calls on many keys of one policy, at one instant.
--
-- This is the twin of src/core: the same integers, below 2^53, which Lua's doubles hold exactly. It
-- decides and writes; it returns the values that it found, from which the C++ twin computes the
-- decisions (formatting numbers is expensive here, and the values are strings already).
--
-- KEYS      for each policy: the different keys of the batch; if it has a log, their logs; for each
--           `distinct` rule, their sketches; if it has a `concurrent` rule, their
--           holders. If the policy is packed: for each shard that has
--           keys of the batch, its new hash and its old one. If the calls have ids: after all
--           others a record for each call, in their order
-- ARGV[1]   the policy, see src/core/policy_encoding.hpp; for `all or nothing` several
-- ARGV[2]   nonce, returned unchanged, so that no reply is taken for another request's
-- ARGV[3]   the time in microseconds, at most 2^52, or '' for the server's clock
-- ARGV[4]   the shortest TTL of a key, in milliseconds; if the calls have ids (all or none, and
--           never for `all or nothing`), a space and the TTL of their records
-- ARGV[5]   calls, grouped by key: key:u16 verb:u8 times:u16 cost:f64 at_least:f64, and if the
--           policy has a `distinct` or `concurrent` rule the size of the member or of the
--           holder's id, u16, and its bytes; `times` equal calls, at least 1, are one entry. Each
--           key has a call; those of one policy may be in any order. Only a policy without
--           logs and holders has the verb `once`, and only one of buckets those of reservations;
--           `once` and `block` are for at most 36525 days. If all are an
--           allow of cost 1: '' for one per key, or times:u8 for each key, or u16 if one of them
--           needs it. With ids each key has one call, of which `times` is 1,
--           and its digests (16 bytes, for its record) follow; keys may be repeated, and each
--           finds what the calls before it left.
--           At most 65536 calls, each of which counts as 1 and 16 per fact, see the reply; equal
--           allows without facts, of which at_least is the cost and all costs are at most 2^53 - 1,
--           count as 1. The module checks all this, and refuses a command before it does anything
-- ARGV[6]   for `all or nothing`: the number of keys per policy, u16 each; if the policy is packed:
--           the number of keys per shard, followed by the keys' fields, one argument each
-- Reply     for each key the value found (or nil, or the text of an error), if the policy is
--           packed as an array for each shard, of nil and its keys' values; if there are logs,
--           sketches or holders, their facts for each call, four f64 each. A call whose id is
--           known has its record instead of the value found, and no facts. Then
--           'nonce seconds microseconds granted statuses'; statuses is '-' without errors, else
--           one character per key: '.' ok, 'c' the key holds a value of another type, 'e' an
--           error, 'r' the call is known. If `all or nothing` failed, `granted` is 0 unless keys
--           may have been charged
--
-- The record of a call is what was found before it, see src/core/request_record.hpp: it is written
-- with the state, and the same call afterwards changes nothing.
--
-- A value is expires (f64: the key does not expire before), for each stored limit tag:u32, num and
-- capacity (f64), and then for each of them t and debt (f64), see src/core/state.hpp. So the
-- numbers that most calls change are adjacent, and the others are compared as one string. Packed
-- values may be brief: see shards.lua.

local BUCKET, STEPWISE, ALIGNED, WINDOW, FROM_FIRST = 0, 1, 2, 3, 4
local COUNTER, LOG, DISTINCT, LOCKOUT = 6, 7, 8, 9 -- 5 and 10 are where they are used
local MOST = 9007199254740991
local SECOND = 1000000
local STEPS = 4503599627370496 -- `num` of a stepped bucket is this and its period
local HEAD, FIXED, STATE = 8, 20, 36 -- bytes of a value: its head, a state's first part, all of it
local BRIEF = STATE - FIXED
local LONGEST = HEAD + 10 * STATE
local CENTURY = 36525 * 86400 * SECOND
-- A bucket's state is extended by each use, so its key gets almost twice the TTL it needs: most
-- writes then need not set the TTL again.
local SPARE = 1.9

local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min
local text_of = string.format
local pack, unpack_bytes = struct.pack, struct.unpack
local call, guarded = redis.call, redis.pcall
local KEYS, ARGV = KEYS, ARGV

-- The current policy: n limits, of which the first `rules` are rules; a lockout may follow. If it
-- is packed, no state matters any more after `generation`.
local rules, n, is_shadow, packed, generation
local has_bare_keys -- other values of the keys are conflicts
do
    local flags
    rules, n, flags = unpack_bytes('<BBB', ARGV[1])
    is_shadow, packed, has_bare_keys = flags % 2 == 1, flags % 4 >= 2, flags >= 4
end
