-- Tests whether the user may run the commands that the scripts use. Writes nothing: each command's
-- permission is only queried (Redis 7.0 and later), or it is tried on a key that does not exist,
-- where it changes nothing.
--
--   ARGV[1]  a key with the prefix that no policy has. It is not in KEYS, as a user who may access
--            the keys of some policies only could not run this script then.
--   Returns  {needed, others, error}, three strings: the commands that the checks of policies need
--            and the others, as far as the user may not run them or the server does not know them,
--            separated by spaces; and the error of a command that may not access the key, else that
--            of one that writes nothing, or ''. If the key may not be accessed, `others` is empty.
local key = ARGV[1]

-- Commands with valid arguments.
local NEEDED = {{'TIME'}, {'MGET', key}, {'SET', key, '', 'XX'}}
local OTHERS = {
    {'SETRANGE', key, '0', ''}, {'GET', key}, {'GETRANGE', key, '0', '0'}, {'BITCOUNT', key},
    {'DEL', key}, {'EXISTS', key}, {'PEXPIREAT', key, '1'}, {'PEXPIRE', key, '1'},
    {'HMGET', key, 'f'}, {'HSET', key, 'f', 'v'}, {'HDEL', key, 'f'},
    {'UNLINK', key}, {'RENAME', key, key}, {'STRLEN', key}, {'ZADD', key, '1', 'm'},
    {'ZCARD', key}, {'ZCOUNT', key, '0', '1'}, {'ZRANGE', key, '0', '0'},
    {'ZRANGEBYSCORE', key, '0', '1'}, {'ZSCORE', key, 'm'}, {'ZREM', key, 'm'},
    {'ZREMRANGEBYSCORE', key, '0', '1'}, {'PFADD', key, 'm'}, {'PFCOUNT', key},
}

-- Queries whether the server knows the command and whether the user may run it.
local asks = redis.acl_check_cmd ~= nil
local function ask(command) return pcall(redis.acl_check_cmd, unpack(command)) end

local key_error -- the error of a command that may be run, but not with this key
local function error_of(command)
    local done = redis.pcall(unpack(command))
    local err = type(done) == 'table' and done.err or ''
    local is_about_key = err:find('access at least one of the keys', 1, true)
        or err:find('permissions to access a key', 1, true)
    if is_about_key then key_error = err end
    return err
end

-- Tries the command; the error distinguishes a denied command (with the messages before and since
-- Redis 7.2), and one that was renamed (with those of Redis and Valkey), from a denied key.
local function can_run(command)
    local err = error_of(command)
    return not (err:find("can't run this command", 1, true)
        or err:find('has no permissions to run', 1, true)
        or err:find('Unknown Redis command', 1, true)
        or err:find('Unknown command called', 1, true))
end

local function denied(commands, is_denied)
    local names = {}
    for _, command in ipairs(commands) do
        if is_denied(command) then names[#names + 1] = command[1] end
    end
    return table.concat(names, ' ')
end

local needed = denied(NEEDED, function(command)
    if asks then
        local known, allowed = ask(command)
        if known and allowed then return false end
    end
    return not can_run(command)
end)
local write_error = error_of({'SETRANGE', key, '0', ''})
local others = asks and not key_error and denied(OTHERS, function(command)
    local known, allowed = ask(command)
    return not (known and allowed)
end) or ''
return {needed, others, key_error or write_error}
