-- The form of a log, see kinds/log.lua. Returns the formats of the head and of an event, and their
-- sizes; the mark, which is in the head with the longest window; an unused event; the largest sum;
-- how many bytes of a log are read first; for how many times its longest window a log is kept; and
-- a function: for how many more events a log has room, a quarter of its own, or as many up to four.
local function log_form()
    return '<dc8I5I3', 24, '<I7I5', 12, 108, string.rep('\255', 12), 1099511627775, 4096, 1.125,
        function(events)
            return events > 1 and max(floor(events / 4), min(events, 4)) or 0
        end
end
