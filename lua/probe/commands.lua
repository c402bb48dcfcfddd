-- Whether the user may run the commands that the scripts use. Writes nothing: each command is only
-- asked about (Redis 7.0 and later), or is tried on a key that does not exist where it changes
-- nothing.
--
--   KEYS[1]  a key under the prefix that no policy has
--   Returns  {needed, others, written}, three strings: the commands without which no check can be
--            made and the others, as far as the user may not run them with this key, separated by
--            spaces; and the error of a command that writes nothing, or ''.
local key = KEYS[1]

-- A command, and words with which it is complete.
local NEEDED = {{'TIME'}, {'MGET', key}}
local OTHERS = {
    {'SET', key, ''}, {'SETRANGE', key, '0', ''}, {'GET', key}, {'GETRANGE', key, '0', '0'},
    {'DEL', key}, {'EXISTS', key}, {'PEXPIREAT', key, '1'}, {'PEXPIRE', key, '1'},
    {'HMGET', key, 'f'}, {'HSET', key, 'f', 'v'}, {'HDEL', key, 'f'}, {'HLEN', key},
    {'UNLINK', key}, {'RENAME', key, key}, {'ZADD', key, '1', 'm'}, {'ZCARD', key},
    {'ZCOUNT', key, '0', '1'}, {'ZRANGE', key, '0', '0'}, {'ZRANGEBYSCORE', key, '0', '1'},
    {'ZREM', key, 'm'}, {'ZREMRANGEBYRANK', key, '0', '0'}, {'ZREMRANGEBYSCORE', key, '0', '1'},
    {'PFADD', key, 'm'}, {'PFCOUNT', key},
}

-- Asks the server if it can be asked. What it does not know is not denied.
local function is_allowed(command)
    local known, allowed = pcall(redis.acl_check_cmd, unpack(command))
    return not known or allowed
end

-- Tries the command. Only a denial counts, in the words of Redis 6 and 7 or by its code.
local function can_run(command)
    local done = redis.pcall(unpack(command))
    if type(done) ~= 'table' or not done.err then return true end
    return not (string.find(done.err, 'NOPERM', 1, true)
        or string.find(done.err, 'user executing the script', 1, true))
end

local function denied(commands, allows)
    local names = {}
    for _, command in ipairs(commands) do
        if not allows(command) then names[#names + 1] = command[1] end
    end
    return table.concat(names, ' ')
end

local asks = redis.acl_check_cmd ~= nil
local needed = denied(NEEDED, asks and is_allowed or can_run)
local others = asks and denied(OTHERS, is_allowed) or ''
local written = redis.pcall('SETRANGE', key, '0', '')
return {needed, others, type(written) == 'table' and written.err or ''}
