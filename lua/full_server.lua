-- Only in the library of functions: a substitute for `redis` on a server over its `maxmemory`. Such
-- a server calls only functions that may write there whatever they want. So this refuses what the
-- server refuses a script: the commands that need memory, until the script has written something.
local GROW = {SET = true, SETRANGE = true, HSET = true, ZADD = true, PFADD = true}
local WRITE = {DEL = true, UNLINK = true, RENAME = true, PEXPIRE = true, PEXPIREAT = true,
    HDEL = true, ZREM = true, ZREMRANGEBYSCORE = true}

local function on_full_server()
    local has_written = false
    local function is_refused(command)
        has_written = has_written or WRITE[command]
        return GROW[command] and not has_written
    end
    local function refusal()
        return {err = "OOM command not allowed when used memory > 'maxmemory'."}
    end
    return {
        call = function(command, ...)
            if is_refused(command) then error(refusal()) end
            return redis.call(command, ...)
        end,
        pcall = function(command, ...)
            if is_refused(command) then return refusal() end
            return redis.pcall(command, ...)
        end,
        acl_check_cmd = redis.acl_check_cmd,
    }
end
