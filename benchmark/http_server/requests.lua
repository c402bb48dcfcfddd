-- For wrk: requests of a thousand clients in turn, each with a key of its own. They are written
-- once, so that wrk spends its time on sending.

local requests, count, next_one = {}, 1000, 0

function init()
    for i = 1, count do
        requests[i] = wrk.format("GET", "/api/hello", {["X-Api-Key"] = "client-" .. i})
    end
end

function request()
    next_one = next_one % count + 1
    return requests[next_one]
end
