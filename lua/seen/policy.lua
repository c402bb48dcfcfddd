-- Tests whether ids were seen before: many ids of one Bloom filter, at one instant.
--
-- The filter has bitmaps of two generations, an even and an odd one, each for one `age`: ids are
-- looked up in the current and the previous one, and new ones are set in the current one. So an id
-- is recorded for at least `age`, and for at most twice as long. The bits of an id are all in one
-- line of a block, see src/core/bloom.hpp. The C++ twin is src/memory/bloom_filters.cpp.
--
-- KEYS      the blocks of the even generations, then the same blocks of the odd ones
-- ARGV[1]   words of a line:u8 age:f64 (microseconds) bytes of a block:f64
-- ARGV[2]   nonce, returned unchanged, so that no reply is taken for another request's
-- ARGV[3]   the time in microseconds, or '' for the server's clock
-- ARGV[4]   the shortest TTL of a key, in milliseconds
-- ARGV[5]   ids, grouped by block: block:u16, plus ASK if the id is only looked up; the positions
--           of the line's first and last byte as text (size:u8 and as many bytes, each), the bits
--           of the id: words:u32. With COUNT instead of ASK it is not an id: the bits that are set
--           from the first to the last byte are counted
-- Reply     for each block nil, or the text of an error; then, if no block failed for all ids, a
--           character per id: '1' seen, '0' new, or the counts in the current and the previous
--           bitmap: f64; then
--           'nonce seconds microseconds new statuses'; statuses is '-' without errors, else a
--           character per block: '.' ok, 'e' an error
--
-- A block is 1 and the number of its generation (f64), then lines. Missing bytes are 0.

local SECOND = 1000000
local HEAD = 8    -- bytes of a block
local ASK, COUNT = 16384, 32768 -- added to the number of a block

local floor, max = math.floor, math.max
local text_of = string.format
local pack, unpack_bytes = struct.pack, struct.unpack
local guarded = redis.pcall
local band, bor = bit.band, bit.bor
local KEYS = KEYS
