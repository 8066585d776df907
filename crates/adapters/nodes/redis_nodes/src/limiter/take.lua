-- Takes units of a quota by the generic cell rate algorithm. KEYS[1] is the time, in microseconds, at
-- which the whole burst is available again. ARGV: microseconds for one unit, burst, units.
-- Returns 1 or 0, the units that can still be taken, and the microseconds until more can be.

-- Counted from 2023 on: a double has more digits after the point then.
local time = redis.call('TIME')
local now = (time[1] - 1700000000) * 1000000 + time[2]
local interval, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local units = math.min(tonumber(ARGV[3]), burst)

-- At most a burst from now, also after the clock was set back.
local full_at = tonumber(redis.call('GET', KEYS[1]) or now)
full_at = math.max(now, math.min(full_at, now + burst * interval))

local taken = full_at + units * interval
local wait = taken - burst * interval - now
-- Rounding may leave a wait of less than a microsecond.
if wait >= 1 then
    return {0, 0, math.ceil(wait)}
end
redis.call('SET', KEYS[1], string.format('%.17g', taken), 'PX', math.ceil((taken - now) / 1000) + 1)
local remaining = math.max(0, math.floor((now + burst * interval - taken) / interval + 0.001))
local more = (remaining + 1) * interval - (now + burst * interval - taken)
return {1, remaining, math.ceil(math.max(1, math.min(more, interval)))}
